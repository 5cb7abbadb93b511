/*
 * Command lines. A command is a struct rt_command, an option is a row of it; one function reads argv into the
 * command's own struct, refuses what is wrong in one sentence, and prints --help from the same rows.
 *
 *     struct arguments {
 *         struct rt_names data;
 *         const char *out;
 *         int epochs;
 *         bool json;
 *     };
 *     static const struct rt_option options[] = {
 *         {"output", 'o', "P.h5", RT_TEXT(struct arguments, out, .required = "say where"), "Output"},
 *         {"epochs", 0, "N", RT_INTEGER(struct arguments, epochs, 1, 1000), "Most passes over the rows"},
 *         {"json", 0, NULL, RT_FLAG(struct arguments, json), "Print JSON instead of text"},
 *     };
 *     static void set_defaults(void *options) { ((struct arguments *)options)->epochs = 12; }
 *     static int run(const struct rt_command_line *line);
 *     const struct rt_command rt_command_train = {
 *         .name = "train", .brief = "fit a predictor", .about = "Fits ...", .details = "Example: ...",
 *         RT_RUNS(run, struct arguments, options), .set_defaults = set_defaults,
 *         .operands = RT_OPERANDS(struct arguments, data, 1, RT_MANY, "at least one dataset, DATA.h5"),
 *         .operands_usage = "DATA.h5...",
 *     };
 *
 * Texts in the struct are borrowed from argv. Lists are released after `run`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Texts of the command line, in their order: borrowed. An empty list is {0}. */
struct rt_names {
    const char **name;
    size_t count;
};
void rt_names_add(struct rt_names *names, const char *name);
bool rt_names_match(const struct rt_names *patterns, const char *name); /* does one: rt_name_matches */
/* Are all words of one in it (rt_name_has_words), or are there none? */
bool rt_names_have_words(const struct rt_names *names, const char *text);
void rt_names_release(struct rt_names *names);

/* Part `number` of `of` equal parts of some work, "2/8"; {0, 0} is all of it. */
struct rt_shard {
    size_t number, of;
};
/* Does item i of the work belong to the part? */
bool rt_shard_has(struct rt_shard shard, size_t i);

/* ---- rows ---- */

struct rt_output_kind;
struct rt_command_line;
struct rt_text;

/* Where the value of an option goes and how its text is read. Made by the macros below. */
struct rt_option_value {
    int (*read)(const struct rt_option_value *field, const char *option, const char *text, void *value);
    size_t offset, size;        /* in the command's struct */
    int64_t least, most;        /* of integers */
    double from, to;            /* of reals and seconds */
    const char *const *choices; /* of a choice: the value is the index */
    int choice_count;
    int (*own)(const char *option, const char *text, void *value);
    /* These may follow the other arguments of the macros below: RT_TEXT(..., .once = true). */
    const char *required; /* the sentence where the option is missing; NULL: it is optional */
    bool specs; /* RT_ITEMS: of names with changes, NAME,key=value,NAME: what has a "=" belongs to the name
                   before */
    const char *unless; /* the option that makes it optional; NULL: none */
    bool once; /* a second time is refused, of a list the same text, and so it is of a text that names an
                  input; else the last one counts */
    int (*check)(const char *option, const char *text); /* of texts and lists, before they are kept */
    const char *also; /* how names begin that other tools have for it, "input-len prompt" */
    void (*suggests)(struct rt_text *list); /* what a shell may complete, a line each: completion.h */
    /* Of texts and lists that name files (outputs.h): */
    void (*reads)(const char *text, struct rt_names *paths); /* adds what is read, each to be freed */
    const struct rt_output_kind *writes;                     /* what is written there */
    bool (*goes_on)(const struct rt_command_line *line,
                    const char *path); /* is work that wrote it unfinished? */
};

struct rt_option {
    const char *name;     /* without the dashes; NULL in a row that is a heading of --help */
    char letter;          /* 0: none */
    const char *argument; /* its name in --help, NULL: takes none; "[X]": only --name=X, without it NULL */
    struct rt_option_value field;
    const char *help; /* --help adds the default, "required" and "repeatable" by itself */
};

/* clang-format off */
/* A member of `type` that must be of the type `ctype`: another does not compile. */
#define RT_FIELD_OF(type, member, ctype, reader)                                                             \
    .read = reader, .offset = _Generic(((type *)0)->member, ctype: offsetof(type, member)),                  \
    .size = sizeof(((type *)0)->member)
/* bool, true where the option is given. */
#define RT_FLAG(type, member, ...) {RT_FIELD_OF(type, member, bool, rt_read_flag), __VA_ARGS__}
/* const char * */
#define RT_TEXT(type, member, ...) {RT_FIELD_OF(type, member, const char *, rt_read_text), __VA_ARGS__}
/* struct rt_names, one more text each time. RT_ITEMS also takes several with commas between. */
#define RT_LIST(type, member, ...) {RT_FIELD_OF(type, member, struct rt_names, rt_read_list), __VA_ARGS__}
#define RT_ITEMS(type, member, ...) {RT_FIELD_OF(type, member, struct rt_names, rt_read_items), __VA_ARGS__}
/* int, int64_t, uint64_t or size_t, from `lo` to `hi`. */
#define RT_INTEGER(type, member, lo, hi, ...)                                                                \
    {.read = rt_read_integer, .size = sizeof(((type *)0)->member), .least = lo, .most = hi,                  \
     .offset = _Generic(((type *)0)->member, int: offsetof(type, member), int64_t: offsetof(type, member),   \
                        uint64_t: offsetof(type, member)), __VA_ARGS__}
/* double, from `lo` to `hi`. */
#define RT_NUMBER(type, member, lo, hi, ...)                                                                   \
    {RT_FIELD_OF(type, member, double, rt_read_real), .from = lo, .to = hi, __VA_ARGS__}
/* double: seconds from `lo` to `hi`, given as 200ms, 60s, 8m, 2h or a number of seconds. */
#define RT_SECONDS(type, member, lo, hi, ...)                                                                \
    {RT_FIELD_OF(type, member, double, rt_read_seconds), .from = lo, .to = hi, __VA_ARGS__}
/* double: milliseconds, given as the same or a number of milliseconds. */
#define RT_MILLISECONDS(type, member, lo, hi, ...)                                                           \
    {RT_FIELD_OF(type, member, double, rt_read_milliseconds), .from = lo, .to = hi, __VA_ARGS__}
/* int or an enum: the index of the text in `names`, an array of texts. */
#define RT_CHOICE(type, member, names, ...)                                                                  \
    {.read = rt_read_choice, .size = sizeof(((type *)0)->member), .choices = names,                          \
     .choice_count = sizeof(names) / sizeof *(names),                                                        \
     .offset = _Generic(((type *)0)->member, int: offsetof(type, member), unsigned: offsetof(type, member)), \
     __VA_ARGS__}
/* struct rt_shard, given as I/N. */
#define RT_SHARD(type, member, ...) {RT_FIELD_OF(type, member, struct rt_shard, rt_read_shard), __VA_ARGS__}
/* Anything: int reader(const char *option, const char *text, void *value), `value` the member's address.
 * RT_OWN_ALL gives the reader the whole struct. */
#define RT_OWN(type, member, reader, ...)                                                                    \
    {.read = rt_read_own, .own = reader, .offset = offsetof(type, member), __VA_ARGS__}
#define RT_OWN_ALL(reader, ...) {.read = rt_read_own, .own = reader, __VA_ARGS__}
/* A row without an option: a heading of --help, for the rows that follow. */
#define RT_HEADING(text) {NULL, 0, NULL, {0}, text}
/* Where the words that are no options go: struct rt_names, from `lo` to `hi` of them. `words` says what they
 * are, "a dataset, DATA.h5". */
#define RT_OPERANDS(type, member, lo, hi, words, ...)                                                        \
    {RT_FIELD_OF(type, member, struct rt_names, rt_read_list), .least = lo, .most = hi, .required = words,    \
     __VA_ARGS__}
/* Of a command without such words; `words` says what to do instead, "the output is named with -o". */
#define RT_NO_OPERANDS(words) {.required = words}
#define RT_MANY INT64_MAX
/* clang-format on */

typedef int rt_option_reader(const struct rt_option_value *field, const char *option, const char *text,
                             void *value);
rt_option_reader rt_read_flag, rt_read_text, rt_read_list, rt_read_items, rt_read_integer, rt_read_real,
    rt_read_seconds, rt_read_milliseconds, rt_read_choice, rt_read_shard, rt_read_own;

/* For .check: RT_EUSAGE where a text that goes into a file is not UTF-8. */
int rt_check_utf8(const char *option, const char *text);

/* For own readers. RT_EUSAGE "--threads 0: must be a whole number from 1 to 256", "--mode fast: choose
 * inference, decode or training". */
int rt_argument_integer(const char *option, const char *text, int64_t least, int64_t most, int64_t *value);
int rt_argument_real(const char *option, const char *text, double least, double most, double *value);
int rt_argument_choice(const char *option, const char *text, const char *const *names, int count, int *value);

/* ---- commands ---- */

struct rt_command {
    const char *name, *brief;    /* "train", and its line in the list of commands; NULL: is not listed */
    const char *also;            /* other words that people type for it, spaces between; NULL: none */
    const char *operands_usage;  /* in the line "Usage: ", such as "DATA.h5..."; NULL: none */
    const char *about, *details; /* before the options, and after them: rules, an example */
    const struct rt_option *options;
    size_t option_count; /* at most 64 */
    struct rt_option_value operands;
    size_t size;                         /* of the command's struct, zeros and then: */
    void (*set_defaults)(void *options); /* NULL: zeros */
    int (*run)(const struct rt_command_line *line);
    bool in_library; /* librooftile runs it, too: it prints a report, starts no process, catches no signal */
    /* A command of commands has these and no options. */
    const struct rt_command *const *commands;
    size_t command_count;
};

/* In its initialiser: `function` runs it, with a struct of `type` that its rows `table` fill. */
#define RT_RUNS(function, type, table)                                                                       \
    .run = function, .size = sizeof(type), .options = table, .option_count = RT_COUNT(table)

enum { RT_MOST_OPTIONS = 128 }; /* of a command */

/* A command line that was read. */
struct rt_command_line {
    const struct rt_command *command;
    int argc;
    char **argv; /* argv[0] is how the command is called, "rooftile dataset merge" */
    void *options;
    bool given[RT_MOST_OPTIONS]; /* by row */
    bool help;                   /* --help was among the words: nothing is checked */
};

/* Was the option given? `option` is a name of the command's rows, without dashes. */
bool rt_given(const struct rt_command_line *line, const char *option);

/* The first of these options that was given, in the order of the list, which NULL ends; NULL: none. */
const char *rt_given_of(const struct rt_command_line *line, const char *const *options);

/* Reads the words behind argv[0]. RT_EUSAGE with one sentence; release the line in any case. */
int rt_command_line_read(const struct rt_command *command, int argc, char **argv,
                         struct rt_command_line *line);
void rt_command_line_release(struct rt_command_line *line);

/* The command of that name among its commands; NULL: there is none. */
const struct rt_command *rt_command_named(const struct rt_command *command, const char *name);

/* RT_EUSAGE: `word` is none of them, with the near one; `title` is how the command is called. */
int rt_command_unknown(const struct rt_command *command, const char *title, const char *word);

/* Reads the words and runs the command, or the one of its commands that argv[1] names. */
int rt_command_run(const struct rt_command *command, int argc, char **argv);

/* The words of the command that this process runs, quoted for a shell; "" before there is one. */
const char *rt_command_words(void);
/* Its name, "rooftile dataset info"; "rooftile" before there is one. */
const char *rt_command_title(void);

/* An example of --help in one line, without the backslashes at its ends of lines; *end is behind it. Free
 * with free(). */
char *rt_command_example(const char *line, const char **end);

/* What --help prints. `title` is how the command is called, "rooftile dataset merge". */
void rt_command_help(const struct rt_command *command, const char *title, FILE *file);
