/* Command lines by rows. See options.h. */
#include "base/options.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rt_names_add(struct rt_names *names, const char *name)
{
    names->name = rt_realloc(names->name, names->count + 1, sizeof *names->name);
    names->name[names->count++] = name;
}

void rt_names_release(struct rt_names *names)
{
    free(names->name);
    *names = (struct rt_names){0};
}

/* ---- values ---- */

int rt_argument_integer(const char *option, const char *text, int64_t least, int64_t most, int64_t *value)
{
    int64_t parsed;
    if (rt_parse_integer(text, strlen(text), &parsed) != 0 || parsed < least || parsed > most)
        return rt_fail(RT_EUSAGE, "%s %s: must be a whole number from %" PRId64 " to %" PRId64, option, text,
                       least, most);
    *value = parsed;
    return RT_OK;
}

int rt_argument_real(const char *option, const char *text, double least, double most, double *value)
{
    double parsed;
    if (rt_parse_real(text, strlen(text), &parsed) != 0 || parsed < least || parsed > most)
        return rt_fail(RT_EUSAGE, "%s %s: must be a number from %g to %g", option, text, least, most);
    *value = parsed;
    return RT_OK;
}

int rt_argument_choice(const char *option, const char *text, const char *const *names, int count, int *value)
{
    struct rt_text known = {0};
    for (int i = 0; i < count; i++) {
        if (strcmp(text, names[i]) == 0) {
            rt_text_release(&known);
            *value = i;
            return RT_OK;
        }
        rt_text_item(&known, i + 1 < count ? ", " : " or ", "%s", names[i]);
    }
    int status = rt_fail(RT_EUSAGE, "%s %s: choose %s", option, text, known.text);
    rt_text_release(&known);
    return status;
}

int rt_read_flag(const struct rt_option_value *field, const char *option, const char *text, void *value)
{
    (void)field, (void)option, (void)text;
    *(bool *)value = true;
    return RT_OK;
}

int rt_read_text(const struct rt_option_value *field, const char *option, const char *text, void *value)
{
    (void)field, (void)option;
    *(const char **)value = text;
    return RT_OK;
}

int rt_read_list(const struct rt_option_value *field, const char *option, const char *text, void *value)
{
    (void)field, (void)option;
    rt_names_add(value, text);
    return RT_OK;
}

int rt_read_items(const struct rt_option_value *field, const char *option, const char *text, void *value)
{
    (void)field;
    for (const char *item = text;; item++) {
        size_t length = strcspn(item, ",");
        if (length == 0) /* an empty text is part of every name */
            return rt_fail(RT_EUSAGE, "%s %s: has an empty name; write NAME or NAME,NAME", option, text);
        rt_names_add(value, rt_format("%.*s", (int)length, item));
        item += length;
        if (*item == '\0')
            return RT_OK;
    }
}

int rt_read_integer(const struct rt_option_value *field, const char *option, const char *text, void *value)
{
    int64_t parsed = 0;
    int status = rt_argument_integer(option, text, field->least, field->most, &parsed);
    if (status == RT_OK && field->size == sizeof(int))
        *(int *)value = (int)parsed;
    else if (status == RT_OK)
        *(int64_t *)value = parsed;
    return status;
}

int rt_read_real(const struct rt_option_value *field, const char *option, const char *text, void *value)
{
    return rt_argument_real(option, text, field->from, field->to, value);
}

int rt_read_seconds(const struct rt_option_value *field, const char *option, const char *text, void *value)
{
    static const struct {
        const char *suffix;
        double seconds;
    } units[] = {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"", 1}};
    size_t digits = strlen(text);
    double parsed = -1;
    while (digits > 0 && isalpha((unsigned char)text[digits - 1]))
        digits--;
    for (size_t u = 0; u < RT_COUNT(units); u++)
        if (strcmp(text + digits, units[u].suffix) == 0 && rt_parse_real(text, digits, &parsed) == 0)
            parsed *= units[u].seconds;
    if (!(parsed >= 0))
        return rt_fail(RT_EUSAGE, "%s %s: must be a time such as 200ms, 60s, 8m or 2h", option, text);
    if (parsed < field->from || parsed > field->to)
        return rt_fail(RT_EUSAGE, "%s %s: must be from %g s to %g s", option, text, field->from, field->to);
    *(double *)value = parsed;
    return RT_OK;
}

int rt_read_choice(const struct rt_option_value *field, const char *option, const char *text, void *value)
{
    return rt_argument_choice(option, text, field->choices, field->choice_count, value);
}

int rt_read_own(const struct rt_option_value *field, const char *option, const char *text, void *value)
{
    return field->own(option, text, value);
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
    snprintf(name, sizeof name, "--%s", option->name);
    line->given |= UINT64_C(1) << (option - line->command->options);
    return option->field.read(&option->field, name, text, (char *)line->options + option->field.offset);
}

/* The nearest of some names, in few enough letters to be meant by `name`; NULL: none. */
static const char *near_name(const char *name, const char *const *names, size_t count)
{
    size_t best = 1 + strlen(name) / 3;
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t distance = rt_name_distance(name, names[i]);
        if (distance < best || (distance == best && nearest == NULL)) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}

static int fail_unknown(const struct rt_command_line *line, const char *name)
{
    const struct rt_command *command = line->command;
    const char *names[64 + 1] = {"help"}, *title = short_title(line->argv[0]);
    size_t count = 1;
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i].name != NULL)
            names[count++] = command->options[i].name;
    const char *near = near_name(name, names, count);
    if (near != NULL)
        return rt_fail(RT_EUSAGE, "%s has no option --%s; did you mean --%s?", title, name, near);
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
    if (operands->read == NULL)
        return rt_fail(RT_EUSAGE, "\"%s\" is not an option; %s", word,
                       operands->required != NULL ? operands->required : "this command takes options only");
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
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i].field.required != NULL && !(line->given >> i & 1))
            return rt_fail(RT_EUSAGE, "%s", command->options[i].field.required);
    const struct rt_option_value *operands = &command->operands;
    const struct rt_names *names = (struct rt_names *)((char *)line->options + operands->offset);
    if (operands->least > 0 && (int64_t)names->count < operands->least)
        return rt_fail(RT_EUSAGE, "name %s; `%s --help` shows an example", operands->required, line->argv[0]);
    return RT_OK;
}

int rt_command_line_read(const struct rt_command *command, int argc, char **argv,
                         struct rt_command_line *line)
{
    *line = (struct rt_command_line){
        .command = command, .argc = argc, .argv = argv, .options = rt_calloc(1, command->size)};
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
            return line->given >> i & 1;
    return false;
}

const char *rt_given_of(const struct rt_command_line *line, const char *const *options)
{
    while (*options != NULL && !rt_given(line, *options))
        options++;
    return *options;
}

/* ---- commands ---- */

static int fail_command(const struct rt_command *command, const char *title, const char *word)
{
    const char *names[64];
    for (size_t i = 0; i < command->command_count; i++)
        names[i] = command->commands[i]->name;
    const char *near = near_name(word, names, command->command_count);
    if (near != NULL)
        return rt_fail(RT_EUSAGE, "\"%s\" is no command of %s; did you mean %s?", word, title, near);
    return rt_fail(RT_EUSAGE, "\"%s\" is no command of %s; `%s --help` lists them", word, title, title);
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "-?") == 0 ||
           strcmp(word, "help") == 0;
}

static int run_one_of(const struct rt_command *command, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "--help";
    if (is_help(word)) {
        rt_command_help(command, argv[0], argc > 1 ? stdout : stderr);
        return argc > 1 ? RT_OK : rt_fail(RT_EUSAGE, "say what to do: name one of these commands");
    }
    for (size_t i = 0; i < command->command_count; i++) {
        if (strcmp(word, command->commands[i]->name) != 0)
            continue;
        char *title = rt_format("%s %s", argv[0], word);
        argv[1] = title;
        int status = rt_command_run(command->commands[i], argc - 1, argv + 1);
        free(title);
        return status;
    }
    return fail_command(command, argv[0], word);
}

int rt_command_run(const struct rt_command *command, int argc, char **argv)
{
    struct rt_command_line line;
    if (command->command_count > 0)
        return run_one_of(command, argc, argv);
    if (command->main != NULL)
        return command->main(argc, argv);
    int status = rt_command_line_read(command, argc, argv, &line);
    if (status == RT_OK && line.help)
        rt_command_help(command, argv[0], stdout);
    else if (status == RT_OK)
        status = command->run(&line);
    rt_command_line_release(&line);
    return status;
}
