/* What --help prints of a command. See options.h. */
#include "base/options.h"
#include "base/status.h"
#include "base/terminal.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 79, HELP_COLUMN = 26 };

static int width_of(FILE *file)
{
    struct rt_terminal terminal = rt_terminal_of(file);
    return rt_terminal_width(&terminal, WIDTH);
}

/* The default: "12", "inference"; NULL where it is zero or empty. */
static char *default_text(const struct rt_option_value *field, const void *value)
{
    if (field->read == rt_read_integer) {
        int64_t number = field->size == sizeof(int) ? *(const int *)value : *(const int64_t *)value;
        return number != 0 ? rt_format("%" PRId64, number) : NULL;
    }
    if (field->read == rt_read_real || field->read == rt_read_seconds) {
        double number = *(const double *)value;
        const char *unit = field->read == rt_read_seconds ? " s" : "";
        return isfinite(number) && number != 0 ? rt_format("%g%s", number, unit) : NULL;
    }
    if (field->read == rt_read_choice) /* -1: it follows from others, and the help says how */
        return *(const int *)value < 0 ? NULL : rt_strdup(field->choices[*(const int *)value]);
    const char *text = field->read == rt_read_text ? *(const char *const *)value : NULL;
    return text != NULL ? rt_strdup(text) : NULL;
}

/* The help of a row, and after it "(required; repeatable)" or "(default 12)" unless the help names a default
 * itself. */
static char *help_text(const struct rt_option *option, const void *options)
{
    const struct rt_option_value *field = &option->field;
    struct rt_text notes = {0}, help = {0};
    char *without = default_text(field, (const char *)options + field->offset);
    if (field->required != NULL)
        rt_text_item(&notes, "; ", "required%s%s", field->unless != NULL ? " without --" : "",
                     field->unless != NULL ? field->unless : "");
    else if (without != NULL && strstr(option->help, "default") == NULL)
        rt_text_item(&notes, "; ", "default %s", without);
    if (field->read == rt_read_list || field->read == rt_read_items)
        rt_text_item(&notes, "; ", "repeatable");
    size_t length = strlen(option->help);
    bool open = length > 0 && option->help[length - 1] == ')'; /* the notes go on in its parentheses */
    if (notes.length > 0)
        rt_text_add(&help, "%.*s%s%s)", (int)(open ? length - 1 : length), option->help, open ? "; " : " (",
                    notes.text);
    else
        rt_text_add(&help, "%s", option->help);
    rt_text_release(&notes);
    free(without);
    return rt_text_take(&help);
}

static void print_option(FILE *file, const struct rt_option *option, const char *help)
{
    char letter[8] = "    ";
    if (option->letter != 0)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    const char *argument = option->argument != NULL ? option->argument : "";
    bool optional = argument[0] == '[';
    int column = fprintf(file, "  %s--%s%s%s", letter, option->name,
                         optional    ? "[="
                         : *argument ? "="
                                     : "",
                         argument + optional);
    if (column + 2 > HELP_COLUMN) {
        fputc('\n', file);
        column = 0;
    }
    fprintf(file, "%*s", HELP_COLUMN - column, "");
    rt_print_wrapped(file, help, HELP_COLUMN, HELP_COLUMN, width_of(file));
}

static void print_options(FILE *file, const struct rt_command *command)
{
    static const struct rt_option help_row = {"help", 'h', NULL, {0}, "Print this"};
    static const struct rt_option pager_row = {
        "no-pager", 0, NULL, {0}, "Print long reports without a pager"};
    void *options = rt_calloc(1, command->size);
    if (command->set_defaults != NULL)
        command->set_defaults(options);
    for (size_t i = 0; i < command->option_count; i++) {
        const struct rt_option *option = &command->options[i];
        if (option->name == NULL) {
            fprintf(file, "\n%s\n", option->help);
            continue;
        }
        char *help = help_text(option, options);
        print_option(file, option, help);
        free(help);
    }
    free(options);
    print_option(file, &pager_row, pager_row.help);
    print_option(file, &help_row, help_row.help);
}

static void print_commands(FILE *file, const struct rt_command *command)
{
    fputs("Commands:\n", file);
    for (size_t i = 0; i < command->command_count; i++)
        if (command->commands[i]->brief != NULL)
            fprintf(file, "  %-10s %s\n", command->commands[i]->name, command->commands[i]->brief);
}

char *rt_command_example(const char *line, const char **end)
{
    struct rt_text example = {0};
    for (; *line != '\0' && *line != '\n'; line++) {
        if (strncmp(line, "\\\n", 2) == 0) /* it goes on in the next line */
            line += 1 + strspn(line + 2, " ");
        else
            rt_text_add(&example, "%c", *line);
    }
    *end = line;
    return rt_text_take(&example);
}

/* How much of the example goes on a line of `width`: to the space before the last option that does not fit,
 * else to the last space outside quotes. All of it where it fits, or where there is no such space. */
static size_t example_line(const char *text, size_t width)
{
    size_t length = strlen(text), option = 0, word = 0;
    char quote = '\0';
    for (size_t i = 0; length > width && i + 2 <= width; i++) {
        if (quote != '\0' ? text[i] == quote : text[i] == '"' || text[i] == '\'')
            quote = quote != '\0' ? '\0' : text[i];
        if (text[i] == ' ' && quote == '\0' && i > 4) {
            word = i;
            option = text[i + 1] == '-' ? i : option;
        }
    }
    return option > 0 ? option : word > 0 ? word : length;
}

/* Goes on in the next line as a shell reads it. */
static void print_example(FILE *file, const char *text, size_t width)
{
    size_t length = example_line(text, width);
    fprintf(file, "%.*s%s\n", (int)length, text, text[length] != '\0' ? " \\" : "");
    if (text[length] == '\0')
        return;
    char *rest = rt_format("    %s", text + length + 1);
    print_example(file, rest, width);
    free(rest);
}

/* Words are wrapped; lines that begin with spaces are examples. */
static void print_details(FILE *file, const char *details, int width)
{
    for (const char *line = details; *line != '\0'; line += *line == '\n') {
        if (line[0] == ' ') {
            char *example = rt_command_example(line, &line);
            print_example(file, example, (size_t)width);
            free(example);
            continue;
        }
        size_t length = strcspn(line, "\n");
        char *words = rt_format("%.*s", (int)length, line);
        rt_print_wrapped(file, words, 0, 0, width);
        free(words);
        line += length;
    }
}

void rt_command_help(const struct rt_command *command, const char *title, FILE *file)
{
    if (command->command_count > 0) {
        fprintf(file, "%s%sUsage: %s COMMAND [OPTION...]\n\n", command->about != NULL ? command->about : "",
                command->about != NULL ? "\n\n" : "", title);
        print_commands(file, command);
    } else {
        fprintf(file, "Usage: %s [OPTION...]%s%s\n", title, command->operands_usage != NULL ? " " : "",
                command->operands_usage != NULL ? command->operands_usage : "");
        rt_print_wrapped(file, command->about, 0, 0, width_of(file));
        fputc('\n', file);
        print_options(file, command);
    }
    if (command->details != NULL) {
        fputc('\n', file);
        print_details(file, command->details, width_of(file));
    }
}
