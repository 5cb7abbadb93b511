/* Which words may stand where the cursor is, from the rows of commands. See completion.h. */
#include "base/completion.h"
#include "base/status.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Made from completion/; NULL-terminated, by their names: bash, fish, zsh. */
extern const char *const rt_completion_scripts[];

int rt_completion_script(const char *shell, FILE *file)
{
    static const char *const shells[] = {"bash", "fish", "zsh"};
    int chosen = 0;
    int status = rt_argument_choice("completion", shell, shells, RT_COUNT(shells), &chosen);
    if (status == RT_OK)
        fputs(rt_completion_scripts[chosen], file);
    return status;
}

/* ---- where the cursor is ---- */

/* After the words before the cursor. */
struct place {
    const struct rt_command *command; /* NULL: they name none */
    const struct rt_option *waits;    /* for its value; NULL: none does */
    bool operands;                    /* after "--" */
    bool given[RT_MOST_OPTIONS];      /* by row of the command */
    FILE *file;
};

/* The row of "--name" or "--name=..."; NULL: none is. */
static const struct rt_option *long_option(const struct rt_command *command, const char *word)
{
    size_t length = strcspn(word, "=");
    for (size_t i = 0; i < command->option_count; i++) {
        const char *name = command->options[i].name;
        if (name != NULL && strlen(name) + 2 == length && strncmp(word + 2, name, length - 2) == 0)
            return &command->options[i];
    }
    return NULL;
}

/* The row of the last letter of "-qo" where all before take no value; NULL: none is. */
static const struct rt_option *letter_option(const struct rt_command *command, const char *word)
{
    const struct rt_option *found = NULL;
    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        if (found != NULL && found->argument != NULL)
            return NULL; /* the rest of the word is its value */
        found = NULL;
        for (size_t i = 0; i < command->option_count && found == NULL; i++)
            if (command->options[i].letter == *letter)
                found = &command->options[i];
    }
    return found;
}

static bool takes_next_word(const struct rt_option *option, const char *word)
{
    return option != NULL && option->argument != NULL && option->argument[0] != '[' &&
           strchr(word, '=') == NULL;
}

static void pass_option(struct place *place, const char *word)
{
    const struct rt_option *option =
        word[1] == '-' ? long_option(place->command, word) : letter_option(place->command, word);
    if (option != NULL)
        place->given[option - place->command->options] = true;
    if (takes_next_word(option, word))
        place->waits = option;
}

static void pass_word(struct place *place, const char *word)
{
    if (place->command == NULL)
        return;
    if (place->command->command_count > 0)
        place->command = rt_command_named(place->command, word);
    else if (place->waits != NULL)
        place->waits = NULL;
    else if (strcmp(word, "--") == 0)
        place->operands = true;
    else if (!place->operands && word[0] == '-' && word[1] != '\0')
        pass_option(place, word);
}

/* ---- what may stand there ---- */

/* "word<TAB>the beginning of the help", up to its first stop. */
static void print_word(FILE *file, const char *before, const char *word, const char *help)
{
    static const char *const stops[] = {";", ":", " (", ". ", "\n"};
    size_t length = strlen(help);
    for (size_t i = 0; i < RT_COUNT(stops); i++) {
        const char *stop = strstr(help, stops[i]);
        if (stop != NULL && (size_t)(stop - help) < length)
            length = (size_t)(stop - help);
    }
    fprintf(file, "%s%s%s%.*s\n", before, word, length > 0 ? "\t" : "", (int)length, help);
}

/* What kind of file an argument names: every ending in "DATA.h5" or "x.csv|x.json"; else whether it is a FILE
 * or a FOLDER. Nothing where it names none. */
static void suggest_files(const char *argument, struct rt_text *list)
{
    struct rt_text endings = {0};
    for (const char *dot = strchr(argument, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
        size_t length = 0;
        while (isalnum((unsigned char)dot[1 + length]))
            length++;
        if (length > 0)
            rt_text_add(&endings, " %.*s", (int)length, dot + 1);
    }
    if (endings.length > 0 || strstr(argument, "FILE") != NULL)
        rt_text_add(list, ":files%s\n", endings.length > 0 ? endings.text : "");
    else if (strstr(argument, "FOLDER") != NULL || strcmp(argument, "DIR") == 0)
        rt_text_add(list, ":folders\n");
    rt_text_release(&endings);
}

static void suggest(const struct rt_option_value *field, const char *argument, struct rt_text *list)
{
    if (field->suggests != NULL)
        field->suggests(list);
    for (int i = 0; i < field->choice_count; i++)
        rt_text_add(list, "%s\n", field->choices[i]);
    if (field->suggests == NULL && field->choice_count == 0 && argument != NULL)
        suggest_files(argument, list);
}

/* Values that begin with `typed`, behind `before`; of lists with commas, the item that is being typed. */
static void print_values(const struct place *place, const struct rt_option_value *field, const char *argument,
                         const char *before, const char *typed)
{
    struct rt_text list = {0};
    const char *comma = strrchr(typed, ',');
    bool items = comma != NULL && (field->read == rt_read_items || strstr(argument, "LIST") != NULL);
    char *kept = rt_format("%s%.*s", before, items ? (int)(comma + 1 - typed) : 0, typed);
    const char *item = items ? comma + 1 : typed;
    suggest(field, argument, &list);
    char *rest = NULL, *lines = rt_text_take(&list);
    for (char *line = strtok_r(lines, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        if (line[0] == ':' || strncmp(line, item, strlen(item)) == 0)
            fprintf(place->file, "%s%s\n", line[0] == ':' ? "" : kept, line);
    free(lines);
    free(kept);
}

static void print_commands(const struct place *place, const char *typed)
{
    const struct rt_command *command = place->command;
    for (size_t i = 0; i < command->command_count; i++)
        if (command->commands[i]->brief != NULL &&
            strncmp(command->commands[i]->name, typed, strlen(typed)) == 0)
            print_word(place->file, "", command->commands[i]->name, command->commands[i]->brief);
}

static bool may_be_given(const struct place *place, size_t i)
{
    const struct rt_option_value *field = &place->command->options[i].field;
    return !place->given[i] || field->read == rt_read_list || field->read == rt_read_items;
}

static void print_options(const struct place *place, const char *typed)
{
    const char *name = typed[1] == '-' ? typed + 2 : "";
    for (size_t i = 0; i < place->command->option_count; i++) {
        const struct rt_option *option = &place->command->options[i];
        if (option->name != NULL && strncmp(option->name, name, strlen(name)) == 0 && may_be_given(place, i))
            print_word(place->file, "--", option->name, option->help);
    }
    if (strncmp("help", name, strlen(name)) == 0)
        print_word(place->file, "--", "help", "Print what the command does and takes");
}

/* Of an option: `typed` is its value, or "--name=" and its value. */
static void print_option_values(const struct place *place, const struct rt_option *option, const char *typed)
{
    const char *equals = strchr(typed, '=');
    bool joined = place->waits == NULL && equals != NULL;
    char *before = rt_format("%.*s", joined ? (int)(equals + 1 - typed) : 0, typed);
    print_values(place, &option->field, option->argument, before, joined ? equals + 1 : typed);
    free(before);
}

static void print_last(const struct place *place, const char *typed)
{
    const struct rt_command *command = place->command;
    const struct rt_option *joined = NULL;
    bool option = !place->operands && typed[0] == '-';
    if (option && typed[1] == '-' && strchr(typed, '=') != NULL)
        joined = long_option(command, typed);
    if (place->waits != NULL)
        print_option_values(place, place->waits, typed);
    else if (command->command_count > 0)
        print_commands(place, typed);
    else if (joined != NULL && joined->argument != NULL)
        print_option_values(place, joined, typed);
    else if (option)
        print_options(place, typed);
    else if (command->operands.read != NULL)
        print_values(place, &command->operands, command->operands_usage, "", typed);
    if (command->command_count > 0 && option)
        print_options(place, typed);
}

void rt_completion_words(const struct rt_command *program, const char *const *words, size_t count, FILE *file)
{
    struct place place = {.command = program, .file = file};
    for (size_t i = 0; i + 1 < count; i++)
        pass_word(&place, words[i]);
    if (place.command != NULL && count > 0)
        print_last(&place, words[count - 1]);
}
