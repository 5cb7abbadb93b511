/* Completion: which words may stand where the cursor is. */
#include "base/completion.h"
#include "base/text.h"
#include "test.h"

struct arguments {
    struct rt_names data, gpus, models;
    const char *out, *folder;
    bool json;
    int mode;
};
static const char *const modes[] = {"inference", "training"};

static void suggest_gpus(struct rt_text *list)
{
    rt_text_add(list, "H100\tNVIDIA H100\nH200\nL4\n:files json\n");
}

static const struct rt_option options[] = {
    {"output", 'o', "P.h5", RT_TEXT(struct arguments, out), "Output (default none); must be new"},
    {"folder", 0, "FOLDER", RT_TEXT(struct arguments, folder), "Another place"},
    {"json", 'j', NULL, RT_FLAG(struct arguments, json), "Print JSON"},
    {"gpu", 0, "NAME", RT_LIST(struct arguments, gpus, .suggests = suggest_gpus), "A GPU"},
    {"gpus", 0, "NAME,...", RT_ITEMS(struct arguments, models, .suggests = suggest_gpus), "GPUs"},
    RT_HEADING("Of training:"),
    {"mode", 0, "MODE", RT_CHOICE(struct arguments, mode, modes), "What a step is"},
    {"overwrite", 0, "[report]", RT_FLAG(struct arguments, json), "Replace it"},
};
static const struct rt_command train = {
    .name = "train",
    .brief = "fit a predictor: more of it",
    .operands_usage = "DATA.h5|DATA.csv...",
    .options = options,
    .option_count = RT_COUNT(options),
    .size = sizeof(struct arguments),
    .operands = RT_OPERANDS(struct arguments, data, 1, RT_MANY, "data"),
};
static const struct rt_command hidden = {.name = "trace"};
static const struct rt_command *const below[] = {&train, &hidden};
static const struct rt_command data = {
    .name = "data", .brief = "of data", .commands = below, .command_count = RT_COUNT(below)};
static const struct rt_command *const commands[] = {&train, &data, &hidden};
static const struct rt_command program = {.commands = commands, .command_count = RT_COUNT(commands)};

/* What is offered for the words of `line`, which single spaces part. */
static const char *offered(const char *line)
{
    static char text[2048];
    char copy[256];
    const char *words[16];
    size_t count = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *at = copy; at != NULL; count++) {
        char *space = strchr(at, ' ');
        if (space != NULL)
            *space++ = '\0';
        words[count] = at;
        at = space;
    }
    memset(text, 0, sizeof text);
    FILE *file = fmemopen(text, sizeof text, "w");
    rt_completion_words(&program, words, count, file);
    fclose(file);
    return text;
}

static void test_commands(void)
{
    CU_ASSERT_STRING_EQUAL(offered(""), "train\tfit a predictor\ndata\tof data\n");
    CU_ASSERT_STRING_EQUAL(offered("t"), "train\tfit a predictor\n");
    CU_ASSERT_STRING_EQUAL(offered("data tr"), "train\tfit a predictor\n");
    CU_ASSERT_STRING_EQUAL(offered("bake "), "");
    CU_ASSERT_STRING_EQUAL(offered("bake -"), "");
    CU_ASSERT_STRING_EQUAL(offered("--"), "--help\tPrint what the command does and takes\n");
}

static void test_options(void)
{
    CU_ASSERT_STRING_EQUAL(offered("train --g"), "--gpu\tA GPU\n--gpus\tGPUs\n");
    CU_ASSERT_STRING_EQUAL(offered("data train --o"), "--output\tOutput\n--overwrite\tReplace it\n");
    CU_ASSERT_STRING_EQUAL(offered("train --output x --o"), "--overwrite\tReplace it\n");
    CU_ASSERT_STRING_EQUAL(offered("train -jo x --o"), "--overwrite\tReplace it\n");
    CU_ASSERT_STRING_EQUAL(offered("train --gpu=H100 --gpu"),
                           "--gpu\tA GPU\n--gpus\tGPUs\n"); /* repeatable */
    CU_ASSERT_PTR_NOT_NULL(strstr(offered("train -"), "--help\t"));
    CU_ASSERT_STRING_EQUAL(offered("train -- --g"), ":files h5 csv\n");
}

static void test_values(void)
{
    CU_ASSERT_STRING_EQUAL(offered("train --mode "), "inference\ntraining\n");
    CU_ASSERT_STRING_EQUAL(offered("train --mode t"), "training\n");
    CU_ASSERT_STRING_EQUAL(offered("train --mode=i"), "--mode=inference\n");
    CU_ASSERT_STRING_EQUAL(offered("train --gpu H"), "H100\tNVIDIA H100\nH200\n:files json\n");
    CU_ASSERT_STRING_EQUAL(offered("train --gpu=L"), "--gpu=L4\n:files json\n");
    CU_ASSERT_STRING_EQUAL(offered("train --gpus L4,H2"), "L4,H200\n:files json\n");
    CU_ASSERT_STRING_EQUAL(offered("train --gpus=L4,H2"), "--gpus=L4,H200\n:files json\n");
    CU_ASSERT_STRING_EQUAL(offered("train --json=x"), "");
}

static void test_files(void)
{
    CU_ASSERT_STRING_EQUAL(offered("train "), ":files h5 csv\n");
    CU_ASSERT_STRING_EQUAL(offered("train --gpu H100 a"), ":files h5 csv\n");
    CU_ASSERT_STRING_EQUAL(offered("train -o "), ":files h5\n");
    CU_ASSERT_STRING_EQUAL(offered("train -jo "), ":files h5\n");
    CU_ASSERT_STRING_EQUAL(offered("train -ox "), ":files h5 csv\n");
    CU_ASSERT_STRING_EQUAL(offered("train --folder="), ":folders\n");
    CU_ASSERT_STRING_EQUAL(offered("train --overwrite "), ":files h5 csv\n"); /* its value only behind "=" */
}

static void test_scripts(void)
{
    static const char *const shells[] = {"bash", "fish", "zsh"};
    for (size_t s = 0; s < RT_COUNT(shells); s++) {
        char first[256] = "", *words = rt_format("rooftile in %s", shells[s]);
        FILE *file = tmpfile();
        RT_ASSERT_OK(rt_completion_script(shells[s], file));
        rewind(file);
        while (strstr(first, "Completion of") == NULL && fgets(first, sizeof first, file) != NULL)
            continue;
        CU_ASSERT_PTR_NOT_NULL(strstr(first, words));
        free(words);
        fclose(file);
    }
    RT_ASSERT_FAILS(rt_completion_script("tcsh", stdout), RT_EUSAGE, "choose bash, fish or zsh");
}

RT_TESTS(RT_TEST(test_commands), RT_TEST(test_options), RT_TEST(test_values), RT_TEST(test_files),
         RT_TEST(test_scripts))
