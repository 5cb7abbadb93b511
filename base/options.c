/* Reading command lines and running commands. See options.h. */
#include "base/options.h"
#include "base/pager.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what to type ---- */

/* The first example of --help that begins with `title`, in one line. Free with free(), NULL: there is none.
 */
static char *first_example(const struct rt_command *command, const char *title)
{
    char *begin = rt_format("\n  %s ", title);
    const char *at = command->details != NULL ? strstr(command->details, begin) : NULL;
    free(begin);
    return at != NULL ? rt_command_example(at + 3, &at) : NULL;
}

/* A line that lacks something: the sentence ends in an example. */
static int fail_incomplete(const struct rt_command *command, const char *title, const char *sentence)
{
    char *example = first_example(command, title);
    int status = rt_fail(RT_EUSAGE, example != NULL ? "%s; as in `%s`" : "%s", sentence, example);
    free(example);
    return status;
}

/* ---- words ---- */

/* The command without the program: "dataset merge" of "rooftile dataset merge". */
static const char *short_title(const char *title)
{
    const char *space = strchr(title, ' ');
    return space != NULL ? space + 1 : title;
}

static int read_value(struct rt_command_line *line, const struct rt_option *option, const char *text)
{
    char name[64];
    bool *given = &line->given[option - line->command->options];
    snprintf(name, sizeof name, "--%s", option->name);
    bool one_input = option->field.read == rt_read_text && option->field.reads != NULL;
    if ((one_input ||
         (option->field.once && option->field.read != rt_read_list && option->field.read != rt_read_items)) &&
        *given)
        return rt_fail(RT_EUSAGE, "%s %s: is given a second time; %s takes one: run it once for each", name,
                       text, short_title(line->argv[0]));
    int status = option->field.check != NULL ? option->field.check(name, text) : RT_OK;
    if (status != RT_OK)
        return status;
    *given = true;
    return option->field.read(&option->field, name, text, (char *)line->options + option->field.offset);
}

static void add_near(struct rt_hints *hints, const char *known, const char *name)
{
    if (rt_name_near(known, name))
        rt_hints_add(hints, known, rt_name_distance(name, known));
}

/* Does `name` begin with one of the space-separated `words`? */
static bool begins_with_one(const char *name, const char *words)
{
    for (const char *at = words; at != NULL && *at != '\0'; at += strcspn(at, " "), at += *at == ' ')
        if (strncmp(name, at, strcspn(at, " ")) == 0)
            return true;
    return false;
}

/* What other tools call the option: batch-size, tensor-parallel-size. */
static bool is_other_name(const struct rt_option *option, const char *name)
{
    return begins_with_one(name, option->field.also) ||
           (strlen(option->name) > 2 && strncmp(name, option->name, strlen(option->name)) == 0);
}

static int fail_unknown(const struct rt_command_line *line, const char *name)
{
    const char *title = short_title(line->argv[0]);
    struct rt_hints hints = {0};
    add_near(&hints, "help", name);
    for (size_t i = 0; i < line->command->option_count; i++) {
        const struct rt_option *known = &line->command->options[i];
        if (known->name != NULL && is_other_name(known, name))
            rt_hints_add(&hints, known->name, 0);
        else if (known->name != NULL)
            add_near(&hints, known->name, name);
    }
    if (hints.name[0][0] != '\0')
        return rt_fail(RT_EUSAGE, "%s has no option --%s; did you mean --%s?", title, name, hints.name[0]);
    return rt_fail(RT_EUSAGE, "%s has no option --%s; `%s --help` lists them", title, name, line->argv[0]);
}

static int fail_ambiguous(const struct rt_command_line *line, const char *name)
{
    struct rt_text meant = {0};
    for (size_t i = 0; i < line->command->option_count; i++) {
        const char *known = line->command->options[i].name;
        if (known != NULL && strncmp(known, name, strlen(name)) == 0)
            rt_text_item(&meant, " or ", "--%s", known);
    }
    int status = rt_fail(RT_EUSAGE, "--%s may be %s; write it in full", name, meant.text);
    rt_text_release(&meant);
    return status;
}

/* The option of that name, or the only one that begins so. */
static int find_option(const struct rt_command_line *line, const char *name, const struct rt_option **out)
{
    size_t found = 0;
    for (size_t i = 0; i < line->command->option_count; i++) {
        const struct rt_option *option = &line->command->options[i];
        if (option->name == NULL || strncmp(option->name, name, strlen(name)) != 0)
            continue;
        *out = option;
        if (strcmp(option->name, name) == 0)
            return RT_OK;
        found++;
    }
    return found == 1 ? RT_OK : found == 0 ? fail_unknown(line, name) : fail_ambiguous(line, name);
}

/* "--name", "--name=text" or "--name text"; *at goes on to the last word that was read. */
static int read_long(struct rt_command_line *line, int *at)
{
    const struct rt_option *option = NULL;
    const char *word = line->argv[*at] + 2, *text = strchr(word, '=');
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    if (strcmp(name, "help") == 0) {
        line->help = true;
        return RT_OK;
    }
    if (strcmp(name, "no-pager") == 0 && text == NULL) {
        rt_pager_off();
        return RT_OK;
    }
    int status = find_option(line, name, &option);
    if (status != RT_OK)
        return status;
    if (option->argument == NULL && text != NULL)
        return rt_fail(RT_EUSAGE, "--%s%s: --%s takes no value", name, text, option->name);
    if (text != NULL)
        return read_value(line, option, text + 1);
    if (option->argument == NULL || option->argument[0] == '[')
        return read_value(line, option, NULL);
    if (*at + 1 == line->argc)
        return rt_fail(RT_EUSAGE, "--%s needs a value: --%s=%s", option->name, option->name,
                       option->argument);
    return read_value(line, option, line->argv[++*at]);
}

static const struct rt_option *find_letter(const struct rt_command *command, char letter)
{
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i].letter == letter)
            return &command->options[i];
    return NULL;
}

/* "-q", "-qo FILE", "-oFILE" */
static int read_letters(struct rt_command_line *line, int *at)
{
    int status = RT_OK;
    for (const char *letter = line->argv[*at] + 1; status == RT_OK && *letter != '\0'; letter++) {
        const struct rt_option *option = find_letter(line->command, *letter);
        if (option == NULL && (*letter == 'h' || *letter == '?')) {
            line->help = true;
            return RT_OK;
        }
        if (option == NULL)
            return rt_fail(RT_EUSAGE, "%s has no option -%c; `%s --help` lists them",
                           short_title(line->argv[0]), *letter, line->argv[0]);
        if (option->argument == NULL) {
            status = read_value(line, option, NULL);
            continue;
        }
        if (letter[1] != '\0')
            return read_value(line, option, letter + 1);
        if (*at + 1 == line->argc)
            return rt_fail(RT_EUSAGE, "-%c needs a value: -%c %s", *letter, *letter, option->argument);
        return read_value(line, option, line->argv[++*at]);
    }
    return status;
}

static int read_operand(struct rt_command_line *line, const char *word)
{
    const struct rt_option_value *operands = &line->command->operands;
    if (operands->read == NULL) {
        char *sentence =
            rt_format("\"%s\" is not an option (a name with spaces needs quotes); %s", word,
                      operands->required != NULL ? operands->required : "this command takes options only");
        int status = fail_incomplete(line->command, line->argv[0], sentence);
        free(sentence);
        return status;
    }
    struct rt_names *names = (struct rt_names *)((char *)line->options + operands->offset);
    if ((int64_t)names->count == operands->most)
        return rt_fail(RT_EUSAGE, "\"%s\" is one name too many; name only %s", word, operands->required);
    rt_names_add(names, word);
    return RT_OK;
}

static int read_words(struct rt_command_line *line)
{
    bool options = true;
    int status = RT_OK;
    for (int at = 1; status == RT_OK && at < line->argc && !line->help; at++) {
        const char *word = line->argv[at];
        if (!options || word[0] != '-' || word[1] == '\0')
            status = read_operand(line, word);
        else if (strcmp(word, "--") == 0)
            options = false;
        else
            status = word[1] == '-' ? read_long(line, &at) : read_letters(line, &at);
    }
    return status;
}

static int check_required(const struct rt_command_line *line)
{
    const struct rt_command *command = line->command;
    for (size_t i = 0; i < command->option_count; i++) {
        const struct rt_option_value *field = &command->options[i].field;
        bool needed = field->required != NULL && (field->unless == NULL || !rt_given(line, field->unless));
        if (needed && !line->given[i])
            return fail_incomplete(command, line->argv[0], field->required);
    }
    const struct rt_option_value *operands = &command->operands;
    const struct rt_names *names = (struct rt_names *)((char *)line->options + operands->offset);
    if (operands->least <= 0 || (int64_t)names->count >= operands->least)
        return RT_OK;
    char *sentence = rt_format("name %s", operands->required);
    int status = fail_incomplete(command, line->argv[0], sentence);
    free(sentence);
    return status;
}

int rt_command_line_read(const struct rt_command *command, int argc, char **argv,
                         struct rt_command_line *line)
{
    *line = (struct rt_command_line){
        .command = command, .argc = argc, .argv = argv, .options = rt_calloc(1, command->size)};
    if (command->option_count > RT_MOST_OPTIONS)
        return rt_fail(RT_EUSAGE, "a command has %zu options; RT_MOST_OPTIONS allows %d",
                       command->option_count, RT_MOST_OPTIONS);
    if (command->set_defaults != NULL)
        command->set_defaults(line->options);
    int status = read_words(line);
    return status == RT_OK && !line->help ? check_required(line) : status;
}

static void release_field(const struct rt_option_value *field, void *value)
{
    struct rt_names *names = value;
    for (size_t i = 0; field->read == rt_read_items && i < names->count; i++)
        free((char *)names->name[i]);
    if (field->read == rt_read_items || field->read == rt_read_list)
        rt_names_release(names);
}

void rt_command_line_release(struct rt_command_line *line)
{
    const struct rt_command *command = line->command;
    for (size_t i = 0; i < command->option_count; i++)
        release_field(&command->options[i].field, (char *)line->options + command->options[i].field.offset);
    release_field(&command->operands, (char *)line->options + command->operands.offset);
    free(line->options);
}

bool rt_given(const struct rt_command_line *line, const char *option)
{
    for (size_t i = 0; i < line->command->option_count; i++)
        if (line->command->options[i].name != NULL && strcmp(line->command->options[i].name, option) == 0)
            return line->given[i];
    return false;
}

const char *rt_given_of(const struct rt_command_line *line, const char *const *options)
{
    while (*options != NULL && !rt_given(line, *options))
        options++;
    return *options;
}

/* ---- commands ---- */

/* Is the word one of those that people type for the command? */
static bool is_also(const struct rt_command *command, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = command->also; at != NULL && *at != '\0'; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == length && strncmp(at, word, length) == 0)
            return true;
    return false;
}

int rt_command_unknown(const struct rt_command *command, const char *title, const char *word)
{
    struct rt_hints hints = {0};
    for (size_t i = 0; i < command->command_count; i++) {
        add_near(&hints, command->commands[i]->name, word);
        if (is_also(command->commands[i], word))
            rt_hints_add(&hints, command->commands[i]->name, 0);
    }
    if (hints.name[0][0] != '\0')
        return rt_fail(RT_EUSAGE, "\"%s\" is no command of %s; did you mean %s?", word, title, hints.name[0]);
    return rt_fail(RT_EUSAGE, "\"%s\" is no command of %s; `%s --help` lists them", word, title, title);
}

const struct rt_command *rt_command_named(const struct rt_command *command, const char *name)
{
    for (size_t i = 0; i < command->command_count; i++)
        if (strcmp(command->commands[i]->name, name) == 0)
            return command->commands[i];
    return NULL;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "-?") == 0 ||
           strcmp(word, "help") == 0;
}

static int run_one_of(const struct rt_command *command, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "--help";
    if (argc > 2 && is_help(word) && rt_command_named(command, argv[2]) != NULL) { /* help predict */
        char help[] = "--help", *words[] = {argv[0], argv[2], help, NULL};
        return run_one_of(command, 3, words);
    }
    if (is_help(word)) {
        rt_command_help(command, argv[0], argc > 1 ? stdout : stderr);
        return argc > 1 ? RT_OK
                        : fail_incomplete(command, argv[0], "say what to do: name one of these commands");
    }
    const struct rt_command *named = rt_command_named(command, word);
    if (named == NULL)
        return rt_command_unknown(command, argv[0], word);
    char *title = rt_format("%s %s", argv[0], word);
    char *given = argv[1];
    argv[1] = title;
    int status = rt_command_run(named, argc - 1, argv + 1);
    argv[1] = given; /* main() looks at the words again */
    free(title);
    return status;
}

static _Thread_local struct rt_text command_words;
static _Thread_local size_t command_title = 8; /* letters of it that name the command */

static void add_quoted(struct rt_text *text, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";
    if (word[0] != '\0' && strspn(word, plain) == strlen(word)) {
        rt_text_add(text, " %s", word);
        return;
    }
    rt_text_add(text, " '");
    for (const char *at = word; *at != '\0'; at++)
        rt_text_add(text, *at == '\'' ? "'\\''" : "%c", *at);
    rt_text_add(text, "'");
}

/* argv[0] is the program and the names of commands. */
static void keep_words(int argc, char **argv)
{
    rt_text_release(&command_words);
    const char *program = strrchr(argv[0], '/');
    rt_text_add(&command_words, "%s", program != NULL ? program + 1 : argv[0]);
    command_title = command_words.length;
    for (int i = 1; i < argc; i++)
        add_quoted(&command_words, argv[i]);
}

const char *rt_command_words(void)
{
    return command_words.text != NULL ? command_words.text : "";
}

const char *rt_command_title(void)
{
    static _Thread_local char title[64];
    snprintf(title, sizeof title, "%.*s", (int)command_title,
             command_words.text != NULL ? command_words.text : "rooftile");
    return title;
}

int rt_command_run(const struct rt_command *command, int argc, char **argv)
{
    struct rt_command_line line;
    if (command->command_count > 0)
        return run_one_of(command, argc, argv);
    keep_words(argc, argv);
    int status = rt_command_line_read(command, argc, argv, &line);
    if (status == RT_OK && line.help)
        rt_command_help(command, argv[0], stdout);
    else if (status == RT_OK)
        status = command->run(&line);
    if (status == RT_EUSAGE)
        rt_fail_remedy(status, "`%s --help` explains it", argv[0]);
    rt_command_line_release(&line);
    rt_text_release(&command_words);
    return status;
}
