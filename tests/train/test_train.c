/* Training end to end on synthetic data: it learns, repeats, resumes, holds out, refuses. */
#include "base/h5.h"
#include "base/status.h"
#include "train/checkpoint.h"
#include "train/train.h"
#include "train/training.h"

#include <signal.h>
#include <sys/wait.h>

#include "synthetic.h"
#include "sample_rows.h"
#include "test.h"

static const char *const kinds[] = {"neusight", "rooftile", "linear", "wave-scaling"};

static struct rt_train_options options_for(const char *out)
{
    static const char *families[] = {"bmm", "softmax"};
    struct rt_train_options options = rt_train_defaults;
    options.kind = "neusight";
    options.out = out;
    options.quiet = true;
    options.epochs = 3;
    options.threads = 2;
    options.families = (struct rt_names){families, 2};
    options.checkpoint_seconds = 0;
    return options;
}

static bool same_bytes(const char *a, const char *b)
{
    char command[1100];
    snprintf(command, sizeof command, "cmp -s '%s' '%s'", a, b);
    return system(command) == 0;
}

/* A copy that lives as long as the test program. */
static const char *keep(const char *path)
{
    static char kept[16][512];
    static size_t next;
    CU_ASSERT_TRUE_FATAL(next < RT_COUNT(kept));
    return strcpy(kept[next++], path);
}

static void test_learns(void)
{
    struct rt_dataset dataset;
    synthetic_dataset(&dataset, 400);
    const char *path = rt_test_path("learns.h5");
    struct rt_train_options options = options_for(path);
    const char *only[] = {"bmm"};
    options.families = (struct rt_names){only, 1};
    options.epochs = 25;
    struct rt_table *summary = rt_table_new(rt_train_columns, rt_train_column_count);
    RT_ASSERT_OK(rt_train(&dataset, &options, summary));
    CU_ASSERT_EQUAL(rt_table_rows(summary), 1);
    rt_table_free(summary);
    struct rt_predictor predictor;
    RT_ASSERT_OK(rt_predictor_open(path, &predictor));
    CU_ASSERT_EQUAL(predictor.net_count, 1);
    CU_ASSERT_TRUE(predictor.complete);
    CU_ASSERT_STRING_EQUAL(predictor.data_uuids, dataset.uuid);
    printf("# validation MAPE %.2f%% after %d epochs\n", predictor.nets[0].validation_mape,
           (int)predictor.nets[0].epochs);
    CU_ASSERT_TRUE(predictor.nets[0].validation_mape < 5);
    /* Forecasts agree with the law the data was made by, tiles found by the nearest shape. */
    double error = 0;
    int n = 0;
    for (size_t i = 0; i < dataset.samples.count; i++) {
        struct rt_query query;
        double latency_us;
        uint8_t skip;
        if (RT_SAMPLE(&dataset, i)->call.op != RT_OP_BMM)
            continue;
        rt_query_of_sample(RT_SAMPLE(&dataset, i), false, &query);
        rt_predictor_forecast(&predictor, &dataset.devices[RT_SAMPLE(&dataset, i)->device], &query, 1, NULL,
                              &latency_us, &skip);
        CU_ASSERT_EQUAL_FATAL(skip, RT_SKIP_NONE);
        error += fabs(latency_us / RT_SAMPLE(&dataset, i)->latency_us - 1);
        n++;
    }
    CU_ASSERT_TRUE(error / n < 0.05);
    rt_predictor_release(&predictor);
    rt_dataset_release(&dataset);
}

static void test_same_seed_same_bytes(void)
{
    struct rt_dataset dataset;
    synthetic_dataset(&dataset, 120);
    const char *a = keep(rt_test_path("a.h5")), *b = keep(rt_test_path("b.h5")),
               *c = keep(rt_test_path("c.h5"));
    for (size_t k = 0; k < RT_COUNT(kinds); k++) {
        struct rt_train_options options = options_for(a);
        options.kind = kinds[k];
        RT_ASSERT_OK(rt_train(&dataset, &options, NULL));
        options.out = b;
        RT_ASSERT_OK(rt_train(&dataset, &options, NULL));
        CU_ASSERT_TRUE(same_bytes(a, b));
        options.out = c;
        options.split.seed = 2;
        RT_ASSERT_OK(rt_train(&dataset, &options, NULL));
        CU_ASSERT_FALSE(same_bytes(a, c));
    }
    rt_dataset_release(&dataset);
}

/* Whatever epoch a checkpoint is from, going on from it ends in the same bytes as never having stopped. */
static void resume(const char *kind, int epochs)
{
    struct rt_dataset dataset;
    synthetic_dataset(&dataset, 120);
    const char *whole = keep(rt_test_path("whole.h5")), *resumed = keep(rt_test_path("resumed.h5"));
    struct rt_train_options options = options_for(whole);
    options.kind = kind;
    options.epochs = epochs;
    RT_ASSERT_OK(rt_train(&dataset, &options, NULL));
    CU_ASSERT_NOT_EQUAL(access(rt_test_path("whole.h5.checkpoint"), F_OK), 0);
    for (int stop = 0; stop < 5; stop++) { /* a child is killed after `stop` checkpoints */
        char command[2048];
        snprintf(command, sizeof command, "rm -f '%s' '%s.checkpoint'", resumed, resumed);
        CU_ASSERT_EQUAL_FATAL(system(command), 0);
        options.out = resumed;
        options.resume = false;
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            rt_train(&dataset, &options, NULL);
            _exit(0);
        }
        usleep(20000 + 60000 * stop);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        options.resume = true;
        RT_ASSERT_OK(rt_train(&dataset, &options, NULL));
        CU_ASSERT_TRUE(same_bytes(whole, resumed));
    }
    rt_dataset_release(&dataset);
}

static void test_resume_changes_nothing(void)
{
    resume("neusight", 3);
    resume("rooftile", 60); /* its epochs are short */
}

static void test_resume_refuses_other_options(void)
{
    struct rt_dataset dataset;
    synthetic_dataset(&dataset, 60);
    const char *out = keep(rt_test_path("other.h5"));
    char *checkpoint = rt_format("%s.checkpoint", out);
    struct rt_predictor finished;
    struct rt_fit fit = {.recipe = 0};
    rt_predictor_init(&finished, "neusight");
    RT_ASSERT_OK(rt_checkpoint_save(checkpoint, "another training", &finished, &fit));
    struct rt_train_options options = options_for(out);
    options.resume = true;
    RT_ASSERT_FAILS(rt_train(&dataset, &options, NULL), RT_EUSAGE, "made with other options or data");
    rt_test_write("other.h5.checkpoint", "torn");
    RT_ASSERT_FAILS(rt_train(&dataset, &options, NULL), RT_EFORMAT, "is not an HDF5 file");
    rt_predictor_release(&finished);
    free(checkpoint);
    rt_dataset_release(&dataset);
}

/* A checkpoint of the right options that is at an epoch, or of a network, that this training does not have.
 */
static void test_resume_refuses_other_progress(void)
{
    struct rt_dataset dataset;
    synthetic_dataset(&dataset, 60);
    const char *out = keep(rt_test_path("progress.h5"));
    char *checkpoint = rt_format("%s.checkpoint", out), *signature;
    struct rt_train_options options = options_for(out);
    struct rt_predictor finished;
    struct rt_fit fit;
    struct rt_h5 *file;
    pid_t child = fork();
    if (child == 0) { /* it is never done within the seconds that the test waits */
        options.epochs = 100000;
        rt_train(&dataset, &options, NULL);
        _exit(0);
    }
    while (access(checkpoint, F_OK) != 0)
        usleep(50000);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    options.epochs = 100000;
    options.resume = true;
    RT_ASSERT_OK(rt_h5_open(checkpoint, RT_CHECKPOINT_FORMAT, RT_CHECKPOINT_VERSION, &file));
    RT_ASSERT_OK(rt_h5_get_text(file, "/fit", "signature", &signature));
    rt_h5_close(file);
    RT_ASSERT_OK(rt_checkpoint_load(checkpoint, signature, &finished, &fit));
    int64_t epoch = fit.epoch;
    CU_ASSERT_TRUE_FATAL(fit.count > 1);
    fit.epoch = (int64_t)1 << 62;
    RT_ASSERT_OK(rt_checkpoint_save(checkpoint, signature, &finished, &fit));
    RT_ASSERT_FAILS(rt_train(&dataset, &options, NULL), RT_EFORMAT, "is at epoch 4611686018427387904");
    fit.epoch = epoch;
    fit.optimizer_steps++;
    RT_ASSERT_OK(rt_checkpoint_save(checkpoint, signature, &finished, &fit));
    RT_ASSERT_FAILS(rt_train(&dataset, &options, NULL), RT_EFORMAT, "overwrite in the place of resume");
    fit.optimizer_steps--;
    fit.count--;
    RT_ASSERT_OK(rt_checkpoint_save(checkpoint, signature, &finished, &fit));
    RT_ASSERT_FAILS(rt_train(&dataset, &options, NULL), RT_EFORMAT, "parameters and 0 device effects where");
    rt_checkpoint_release(&fit);
    rt_predictor_release(&finished);
    free(signature);
    free(checkpoint);
    rt_dataset_release(&dataset);
}

/* Device effects separate two devices of the same description, one of them half as fast. */
static void test_effects_separate_devices(void)
{
    struct rt_dataset dataset;
    synthetic_dataset(&dataset, 400);
    const char *path = rt_test_path("effects.h5"), *only[] = {"softmax"};
    for (size_t i = 0; i < dataset.samples.count; i++)
        if (RT_SAMPLE(&dataset, i)->device == 1)
            RT_CHANGE(&dataset, i, sample.latency_us *= 2);
    struct rt_train_options options = options_for(path);
    options.kind = "rooftile";
    options.families = (struct rt_names){only, 1};
    options.epochs = 60;
    RT_ASSERT_OK(rt_train(&dataset, &options, NULL));
    struct rt_predictor predictor;
    RT_ASSERT_OK(rt_predictor_open(path, &predictor));
    const struct rt_device_effects *effects = &predictor.nets[0].effects;
    CU_ASSERT_EQUAL_FATAL(effects->count, 2);
    double apart = effects->known[1].value[RT_EFFECT_MEMORY] - effects->known[0].value[RT_EFFECT_MEMORY];
    printf("# effects of memory differ by %.2f\n", apart);
    CU_ASSERT_TRUE(apart >
                   0.2); /* of ln 2: the ridge shrinks it, the start takes a part, and features differ */
    double middle = effects->known[0].value[RT_EFFECT_MEMORY] + effects->known[1].value[RT_EFFECT_MEMORY];
    CU_ASSERT_TRUE(fabs(middle) < 1e-3);
    rt_predictor_release(&predictor);
    rt_dataset_release(&dataset);
}

static void test_hold_out(void)
{
    struct rt_dataset dataset;
    synthetic_dataset(&dataset, 100);
    const char *out = rt_test_path("held.h5"), *gpus[] = {"large"}, *ops[] = {"gelu"},
               *families[] = {"elementwise"};
    struct rt_train_options options = options_for(out);
    options.held_out_gpus = (struct rt_names){gpus, 1};
    options.held_out_ops = (struct rt_names){ops, 1};
    options.families = (struct rt_names){families, 1};
    options.epochs = 1;
    RT_ASSERT_OK(rt_train(&dataset, &options, NULL));
    struct rt_predictor predictor;
    RT_ASSERT_OK(rt_predictor_open(out, &predictor));
    CU_ASSERT_STRING_EQUAL(predictor.held_out_gpus, "Synthetic large");
    CU_ASSERT_STRING_EQUAL(predictor.devices, "Synthetic small");
    CU_ASSERT_TRUE(rt_predictor_holds_out(&predictor, "Synthetic small", RT_OP_GELU));
    CU_ASSERT_FALSE(rt_predictor_holds_out(&predictor, "Synthetic small", RT_OP_ADD));
    CU_ASSERT_TRUE(rt_predictor_holds_out(&predictor, "Synthetic large", RT_OP_ADD));
    int64_t rows = predictor.nets[0].rows_train + predictor.nets[0].rows_validation;
    CU_ASSERT_TRUE(rows > 20 && rows <= 50); /* add on the small device, less its test shapes */
    CU_ASSERT_EQUAL(predictor.nets[0].tiles.count, 1);
    rt_predictor_release(&predictor);
    rt_dataset_release(&dataset);
}

/* A name that a device has is that device, though others have it as a word; words are whole. */
static void test_hold_out_by_name_or_words(void)
{
    struct rt_dataset dataset;
    synthetic_dataset(&dataset, 100);
    const char *out = rt_test_path("named.h5"), *gpu, *families[] = {"elementwise"};
    struct rt_train_options options = options_for(out);
    struct rt_predictor predictor;
    options.held_out_gpus = (struct rt_names){&gpu, 1};
    options.families = (struct rt_names){families, 1};
    options.epochs = 1;
    snprintf(dataset.devices[0].name, sizeof dataset.devices[0].name, "MI250");
    snprintf(dataset.devices[1].name, sizeof dataset.devices[1].name, "MI250 MCM");
    static const char *const given[] = {"mi250", "mcm"}, *const held_out[] = {"MI250", "MI250 MCM"};
    for (size_t i = 0; i < RT_COUNT(given); i++) {
        gpu = given[i];
        RT_ASSERT_OK(rt_train(&dataset, &options, NULL));
        RT_ASSERT_OK(rt_predictor_open(out, &predictor));
        CU_ASSERT_STRING_EQUAL(predictor.held_out_gpus, held_out[i]);
        rt_predictor_release(&predictor);
    }
    gpu = "MI25";
    RT_ASSERT_FAILS(rt_train(&dataset, &options, NULL), RT_ENOTFOUND, "it has MI250 and MI250 MCM");
    rt_dataset_release(&dataset);
}

/* --no-test: everything of the devices that are not held out is fitted to, and the file says so. */
static void test_nothing_is_kept_for_testing(void)
{
    struct rt_dataset dataset;
    synthetic_dataset(&dataset, 100);
    const char *out = rt_test_path("all.h5"), *gpus[] = {"large"}, *families[] = {"softmax"};
    struct rt_train_options options = options_for(out);
    options.held_out_gpus = (struct rt_names){gpus, 1};
    options.families = (struct rt_names){families, 1};
    options.epochs = 1;
    int64_t rows[2];
    for (int all = 0; all < 2; all++) {
        struct rt_predictor predictor;
        options.split.all = all;
        RT_ASSERT_OK(rt_train(&dataset, &options, NULL));
        RT_ASSERT_OK(rt_predictor_open(out, &predictor));
        CU_ASSERT_EQUAL(predictor.kept_no_test, all == 1);
        rows[all] = predictor.nets[0].rows_train + predictor.nets[0].rows_validation;
        rt_predictor_release(&predictor);
    }
    CU_ASSERT_EQUAL(rows[1], 50);
    CU_ASSERT_TRUE(rows[0] < 48);
    rt_dataset_release(&dataset);
}

static void test_refusals(void)
{
    struct rt_dataset dataset;
    synthetic_dataset(&dataset, 20);
    struct rt_train_options options = options_for(rt_test_path("never.h5"));
    const char *nobody[] = {"H900"};
    options.kind = "crystal-ball";
    RT_ASSERT_FAILS(rt_train(&dataset, &options, NULL), RT_ENOTFOUND, "no predictor \"crystal-ball\"");
    options.kind = "roofline";
    RT_ASSERT_FAILS(rt_train(&dataset, &options, NULL), RT_EUSAGE, "needs no training");
    options.kind = "neusight";
    options.held_out_gpus = (struct rt_names){nobody, 1};
    RT_ASSERT_FAILS(rt_train(&dataset, &options, NULL), RT_ENOTFOUND, "hold_out_gpu H900");
    options.held_out_gpus.count = 0;
    options.held_out_ops = (struct rt_names){nobody, 1};
    RT_ASSERT_FAILS(rt_train(&dataset, &options, NULL), RT_ENOTFOUND, "hold_out_op H900");
    options.held_out_ops.count = 0;
    const char *all[] = {"Synthetic"};
    options.held_out_gpus = (struct rt_names){all, 1};
    RT_ASSERT_FAILS(rt_train(&dataset, &options, NULL), RT_EFORMAT, "nothing to fit");
    rt_dataset_release(&dataset);
}

RT_TESTS(RT_TEST(test_learns), RT_TEST(test_same_seed_same_bytes), RT_TEST(test_resume_changes_nothing),
         RT_TEST(test_resume_refuses_other_options), RT_TEST(test_resume_refuses_other_progress),
         RT_TEST(test_effects_separate_devices), RT_TEST(test_hold_out),
         RT_TEST(test_hold_out_by_name_or_words), RT_TEST(test_nothing_is_kept_for_testing),
         RT_TEST(test_refusals))
