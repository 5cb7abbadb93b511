/* Command lines: values by rows, what is refused, what --help prints. */
#include "base/options.h"
#include "test.h"

enum mode { INFERENCE, TRAINING };
static const char *const modes[] = {"inference", "training"};

struct arguments {
    struct rt_names data, gpus, models;
    const char *out;
    bool json;
    int epochs;
    uint64_t seed;
    double rate, budget_s, target_ms;
    enum mode mode;
    struct rt_shard shard;
};

static int read_pair(const char *option, const char *text, void *value)
{
    struct arguments *arguments = value;
    if (sscanf(text, "%d,%lf", &arguments->epochs, &arguments->rate) != 2)
        return rt_fail(RT_EUSAGE, "%s %s: must be N,R", option, text);
    return RT_OK;
}

static int check_model(const char *option, const char *text)
{
    return text[0] == '?' ? rt_fail(RT_EUSAGE, "%s %s: is no model", option, text) : RT_OK;
}

static const struct rt_option options[] = {
    {"output", 'o', "P.h5", RT_TEXT(struct arguments, out, .required = "say where: -o P.h5"), "Output"},
    {"json", 'j', NULL, RT_FLAG(struct arguments, json), "Print JSON"},
    {"seed", 's', "N", RT_INTEGER(struct arguments, seed, 0, INT64_MAX), "Seed"},
    {"gpu", 0, "NAME", RT_LIST(struct arguments, gpus, .once = true), "Only this GPU"},
    {"model", 0, "NAME", RT_ITEMS(struct arguments, models, .check = check_model),
     "Only these models (default: all)"},
    RT_HEADING("Of training:"),
    {"epochs", 0, "N", RT_INTEGER(struct arguments, epochs, 1, 1000), "Most passes over the rows"},
    {"learning-rate", 0, "R", RT_NUMBER(struct arguments, rate, 1e-9, 10), "Highest learning rate"},
    {"budget", 0, "TIME", RT_SECONDS(struct arguments, budget_s, 0, 1e9), "Stop after this time"},
    {"target", 0, "MS", RT_MILLISECONDS(struct arguments, target_ms, 1, 1e6), "First token in time"},
    {"mode", 0, "MODE", RT_CHOICE(struct arguments, mode, modes, .once = true), "What a step is"},
    {"shard", 0, "I/N", RT_SHARD(struct arguments, shard), "Only every N-th shape"},
    {"pair", 0, "N,R", RT_OWN_ALL(read_pair), "Epochs and rate"},
};

static void set_defaults(void *value)
{
    struct arguments *arguments = value;
    arguments->epochs = 12;
    arguments->rate = 0.003;
}

static const struct rt_command command = {
    .name = "train",
    .operands_usage = "DATA.h5...",
    .about = "Fits a predictor.",
    .details = "Example:\n  rooftile train data.h5",
    .options = options,
    .option_count = RT_COUNT(options),
    .operands = RT_OPERANDS(struct arguments, data, 1, 2, "a dataset, DATA.h5"),
    .size = sizeof(struct arguments),
    .set_defaults = set_defaults,
};

/* Reads the words of `text`, with single spaces between, behind "rooftile train -o p.h5". */
static int read_line(const char *text, struct rt_command_line *line)
{
    static char copy[512], title[] = "rooftile train", o[] = "-o", p[] = "p.h5";
    char *argv[32] = {title, o, p}, *rest = copy, *word;
    static char *kept[32];
    int argc = 3;
    snprintf(copy, sizeof copy, "%s", text);
    while ((word = strsep(&rest, " ")) != NULL)
        argv[argc++] = word;
    memcpy(kept, argv, sizeof argv);
    return rt_command_line_read(&command, argc, kept, line);
}

static void refuse(const char *text, const char *words)
{
    struct rt_command_line line;
    RT_ASSERT_FAILS(read_line(text, &line), RT_EUSAGE, words);
    rt_command_line_release(&line);
}

static void test_values(void)
{
    struct rt_command_line line;
    RT_ASSERT_OK(read_line("a.h5 --seed=7 --gpu A100 -j --gpu H100 b.h5 --model x,yz --learning-rate 1e-2 "
                           "--budget 8m --target 0.5s --mode training --shard 2/3",
                           &line));
    const struct arguments *arguments = line.options;
    CU_ASSERT_STRING_EQUAL(arguments->out, "p.h5");
    CU_ASSERT_EQUAL(arguments->data.count, 2);
    CU_ASSERT_STRING_EQUAL(arguments->data.name[1], "b.h5");
    CU_ASSERT_EQUAL(arguments->gpus.count, 2);
    CU_ASSERT_EQUAL(arguments->models.count, 2);
    CU_ASSERT_STRING_EQUAL(arguments->models.name[1], "yz");
    CU_ASSERT_TRUE(arguments->json);
    CU_ASSERT_EQUAL(arguments->seed, 7);
    CU_ASSERT_EQUAL(arguments->epochs, 12);
    CU_ASSERT_EQUAL(arguments->rate, 0.01);
    CU_ASSERT_EQUAL(arguments->budget_s, 480);
    CU_ASSERT_EQUAL(arguments->target_ms, 500);
    CU_ASSERT_EQUAL(arguments->mode, TRAINING);
    CU_ASSERT_TRUE(arguments->shard.number == 2 && arguments->shard.of == 3);
    CU_ASSERT_TRUE(rt_given(&line, "seed"));
    CU_ASSERT_FALSE(rt_given(&line, "epochs"));
    CU_ASSERT_STRING_EQUAL(rt_given_of(&line, (const char *const[]){"epochs", "budget", "mode", NULL}),
                           "budget");
    CU_ASSERT_PTR_NULL(rt_given_of(&line, (const char *const[]){"epochs", NULL}));
    rt_command_line_release(&line);
}

/* A short option may hold its value, share its dash, and "--" ends the options. */
static void test_forms(void)
{
    struct rt_command_line line;
    RT_ASSERT_OK(read_line("-js5 -oq.h5 --epo 3 -- --seed", &line));
    const struct arguments *arguments = line.options;
    CU_ASSERT_EQUAL(arguments->seed, 5);
    CU_ASSERT_EQUAL(arguments->epochs, 3);
    CU_ASSERT_STRING_EQUAL(arguments->out, "q.h5");
    CU_ASSERT_STRING_EQUAL(arguments->data.name[0], "--seed");
    rt_command_line_release(&line);
}

static void test_own(void)
{
    struct rt_command_line line;
    RT_ASSERT_OK(read_line("a.h5 --pair 7,0.5", &line));
    const struct arguments *arguments = line.options;
    CU_ASSERT_EQUAL(arguments->epochs, 7);
    CU_ASSERT_EQUAL(arguments->rate, 0.5);
    rt_command_line_release(&line);
}

/* Every item belongs to one part; all of the work is {0, 0}. */
static void test_shards(void)
{
    for (size_t i = 0; i < 10; i++) {
        int parts = 0;
        for (size_t number = 1; number <= 3; number++)
            parts += rt_shard_has((struct rt_shard){number, 3}, i);
        CU_ASSERT_EQUAL(parts, 1);
        CU_ASSERT_TRUE(rt_shard_has((struct rt_shard){0, 0}, i));
    }
}

static void test_refusals(void)
{
    refuse("a.h5 --sede 1", "train has no option --sede; did you mean --seed?");
    refuse("a.h5 --zzzzzz", "train has no option --zzzzzz; `rooftile train --help` lists them");
    refuse("a.h5 --mod x", "--mod may be --model or --mode; write it in full");
    refuse("a.h5 -x", "train has no option -x");
    refuse("a.h5 --seed", "--seed needs a value: --seed=N");
    refuse("a.h5 -s", "-s needs a value: -s N");
    refuse("a.h5 --gpu T4 --gpu T4", "--gpu T4: is given a second time");
    refuse("a.h5 --json=1", "--json takes no value");
    refuse("a.h5 --epochs 0", "--epochs 0: must be a whole number from 1 to 1000");
    refuse("a.h5 --learning-rate x", "--learning-rate x: must be a number from 1e-09 to 10");
    refuse("a.h5 --target 5x", "--target 5x: must be a time such as 200ms, 60s, 8m or 2h");
    refuse("a.h5 --target 0.5", "--target 0.5: must be from 1 ms to 1e+06 ms");
    refuse("a.h5 --budget 5x", "--budget 5x: must be a time such as 200ms, 60s, 8m or 2h");
    refuse("a.h5 --mode fast", "--mode fast: choose inference or training");
    refuse("a.h5 --model x,,y", "--model x,,y: has an empty name");
    refuse("a.h5 --shard 2", "--shard 2: must be I/N");
    refuse("a.h5 --shard 3/2", "--shard 3/2: must be I/N");
    refuse("a.h5 --pair 2", "--pair 2: must be N,R");
    refuse("a.h5 --model ?", "--model ?: is no model");
    refuse("a.h5 --mode training --mode training", "--mode training: is given a second time");
    refuse("--json", "name a dataset, DATA.h5; as in `rooftile train data.h5`");
    refuse("a b c", "\"c\" is one name too many; name only a dataset, DATA.h5");
}

static void test_required(void)
{
    struct rt_command_line line;
    char title[] = "rooftile train", data[] = "a.h5", help[] = "--help";
    RT_ASSERT_FAILS(rt_command_line_read(&command, 2, (char *[]){title, data}, &line), RT_EUSAGE,
                    "say where: -o P.h5");
    rt_command_line_release(&line);
    RT_ASSERT_OK(rt_command_line_read(&command, 2, (char *[]){title, help}, &line));
    CU_ASSERT_TRUE(line.help);
    rt_command_line_release(&line);
}

static void test_help(void)
{
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    rt_command_help(&command, "rooftile train", file);
    fclose(file);
    CU_ASSERT_STRING_EQUAL(text, "Usage: rooftile train [OPTION...] DATA.h5...\n"
                                 "Fits a predictor.\n\n"
                                 "  -o, --output=P.h5       Output (required)\n"
                                 "  -j, --json              Print JSON\n"
                                 "  -s, --seed=N            Seed\n"
                                 "      --gpu=NAME          Only this GPU (repeatable)\n"
                                 "      --model=NAME        Only these models (default: all; repeatable)\n"
                                 "\nOf training:\n"
                                 "      --epochs=N          Most passes over the rows (default 12)\n"
                                 "      --learning-rate=R   Highest learning rate (default 0.003)\n"
                                 "      --budget=TIME       Stop after this time\n"
                                 "      --target=MS         First token in time\n"
                                 "      --mode=MODE         What a step is (default inference)\n"
                                 "      --shard=I/N         Only every N-th shape\n"
                                 "      --pair=N,R          Epochs and rate\n"
                                 "      --no-pager          Print long reports without a pager\n"
                                 "  -h, --help              Print this\n"
                                 "\nExample:\n  rooftile train data.h5\n");
    free(text);
}

/* More rows than a word has bits: the 66th is not taken for the second. */
static void test_many_options(void)
{
    struct rt_option rows[66];
    struct rt_command_line line;
    char program[] = "many", last[] = "--last", *words[] = {program, last};
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        rows[i] = options[1];
        rows[i].letter = 0;
        rows[i].name = i == 1 ? "second" : i == 65 ? "last" : "other";
    }
    const struct rt_command many = {
        .name = "many", .options = rows, .option_count = RT_COUNT(rows), .size = sizeof(struct arguments)};
    RT_ASSERT_OK(rt_command_line_read(&many, 2, words, &line));
    CU_ASSERT_TRUE(rt_given(&line, "last"));
    CU_ASSERT_FALSE(rt_given(&line, "second"));
    rt_command_line_release(&line);
}

RT_TESTS(RT_TEST(test_values), RT_TEST(test_many_options), RT_TEST(test_forms), RT_TEST(test_own), RT_TEST(test_shards),
         RT_TEST(test_refusals), RT_TEST(test_required), RT_TEST(test_help))
