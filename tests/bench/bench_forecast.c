/*
 * How fast forecasts are, through the library and on one core: GPT-3 2.7B, batch 2, sequence 2048, inference,
 * graph and forecast together; a decode step of a served Qwen3-235B-A22B (94 layers, 128 experts); a step of
 * training Llama 3.1 405B on 16,384 GPUs (from settling it on, by `predict`'s road); and a sweep over batches and sequences, all different, one after the other and TOGETHER at a time. All are also
 * given as times of a cblas_sgemm of 512 x 512 matrices in the same round. Times alone are asked for, no
 * memory.
 *
 *     bench_forecast [ROUNDS [PREDICTOR...]]
 *     bench_forecast -o FILE KIND
 *
 * PREDICTOR is a file, "roofline", or a kind of the recipe table: its untrained networks, with as many
 * invented tiles as NeuSight's measurements have where the kind looks tiles up (weights do not change the
 * time). With -o FILE before it such a predictor is written to FILE, and nothing is timed.
 *
 * One line per predictor, medians of all rounds: us of a forecast, the same over the time of the sgemm,
 * forecasts/s of the sweep one by one and together, both times the time of the sgemm; us of the decode step,
 * and over the sgemm; us of the step of training. Lines that begin with # are words.
 *
 * Beside an earlier state of the house: check it out into a folder of its own (`git worktree add`), build
 * both with CMAKE_BUILD_TYPE=Release, and let the two programs take turns, each with the predictor that its
 * own tree brings, so that a busy machine is busy for both:
 *
 *     for i in 1 2 3; do for t in ../start .; do $t/build/tests/bench_forecast 3 roofline rooftile; done; done
 *
 * The columns that are over or per sgemm compare across runs. tests/bench/bench_predict.sh takes such a build
 * folder as its first argument, for the whole process.
 */
#include <cblas.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "base/status.h"
#include "models/networks/model.h"
#include "models/predictors/nn/blas.h"
#include "models/predictors/predictor/recipe.h"
#include "predict/step/forecast.h"
#include "predict/step/forecast_graphs.h"
#include "predict/step/prediction.h"

#define MATRIX     512
#define SINGLES    101   /* forecasts of the one shape in a round */
#define BATCHES    40    /* of the sweep: 1, 2 ... */
#define SEQUENCES  25    /* 64, 128 ... */
#define TOGETHER   25    /* forecasts of one call */
#define SHAPES     80000 /* invented shapes of a family */
#define MAX_ROUNDS 999

struct setup {
    const char *name;
    struct rt_predictor predictor;
    double single[MAX_ROUNDS], served[MAX_ROUNDS], trained[MAX_ROUNDS]; /* seconds */
    double alone[MAX_ROUNDS], together[MAX_ROUNDS]; /* forecasts/s */
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void stop_where(int status)
{
    if (status == RT_OK)
        return;
    fprintf(stderr, "bench_forecast: %s\n", rt_error());
    exit(rt_exit_status(status));
}

/* --- predictors --- */

/* 2^0 .. 2^12 times 1 .. 31: as uneven as shapes of models. */
static int64_t invent_dim(struct rt_random *random)
{
    return (int64_t)(1 + rt_random_below(random, 31)) << rt_random_below(random, 13);
}

static void invent_sample(struct rt_dataset *dataset, enum rt_family family, struct rt_random *random)
{
    struct rt_sample sample;
    rt_sample_init(&sample);
    sample.call.dtype = RT_FP32;
    sample.device = (int32_t)rt_random_below(random, dataset->device_count);
    do
        sample.call.op = (uint8_t)rt_random_below(random, RT_OP_COUNT);
    while (rt_call_family(&sample.call) != family);
    for (int d = 0; d < rt_op_ndims(sample.call.op); d++)
        sample.call.dim[d] = invent_dim(random);
    sample.tile[0] = 32 << rt_random_below(random, 3);
    sample.tile[1] = 32 << rt_random_below(random, 3);
    rt_dataset_add_sample(dataset, &sample);
}

static void invent_tiles(struct rt_family_net *net, struct rt_random *random)
{
    static const char *const devices[] = {"P4", "P100", "V100", "T4", "A100-PCIE-40GB"};
    struct rt_dataset dataset;
    uint32_t *all = rt_malloc(SHAPES * sizeof *all);
    rt_dataset_init(&dataset);
    for (size_t d = 0; d < RT_COUNT(devices); d++) {
        struct rt_device device;
        stop_where(rt_device_named(devices[d], &device));
        rt_dataset_add_device(&dataset, &device);
    }
    for (uint32_t i = 0; i < SHAPES; i++) {
        invent_sample(&dataset, net->family, random);
        all[i] = i;
    }
    rt_measured_tiles_build(&net->tiles, &dataset, all, SHAPES);
    rt_dataset_release(&dataset);
    free(all);
}

/* False where there is no such kind. */
static bool make_untrained(const char *kind, struct rt_predictor *predictor)
{
    if (!rt_recipe_kind(kind))
        return false;
    struct rt_random random;
    rt_random_seed(&random, 1, 0);
    rt_predictor_init(predictor, kind);
    predictor->nets = rt_calloc(rt_recipe_count, sizeof *predictor->nets);
    for (size_t i = 0; i < rt_recipe_count; i++) {
        if (strcmp(rt_recipes[i].kind, kind) != 0)
            continue;
        struct rt_family_net *net = &predictor->nets[predictor->net_count++];
        stop_where(rt_recipe_net(&rt_recipes[i], net));
        rt_mlp_randomize(&net->mlp, &random);
        if (net->policy == RT_TILE_NEAREST)
            invent_tiles(net, &random);
    }
    return true;
}

static void setup_init(struct setup *setup, const char *name)
{
    setup->name = name;
    if (!make_untrained(name, &setup->predictor))
        stop_where(rt_predictor_open(name, &setup->predictor));
}

static int write_predictor(const char *path, const char *kind)
{
    struct rt_predictor predictor;
    if (!make_untrained(kind, &predictor)) {
        fprintf(stderr, "bench_forecast: \"%s\" is no kind of predictor\n", kind);
        return 2;
    }
    stop_where(rt_predictor_save(&predictor, path));
    rt_predictor_release(&predictor);
    return 0;
}

/* --- timing --- */

static double time_sgemm(float *block)
{
    const size_t size = (size_t)MATRIX * MATRIX;
    double began = rt_clock();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, MATRIX, MATRIX, MATRIX, 1, block, MATRIX,
                block + size, MATRIX, 0, block + 2 * size, MATRIX);
    return rt_clock() - began;
}

struct subject {
    struct rt_model model, served;
    struct rt_model_source trained;
    struct rt_device device;
};

static void build(const struct subject *subject, int64_t batch, int64_t sequence, struct rt_graph *graph)
{
    struct rt_graph_options options = {.step = RT_STEP_PREFILL,
                                       .batch = batch,
                                       .sequence = sequence,
                                       .tensor_parallel = 1,
                                       .dtype = RT_FP32};
    stop_where(rt_graph_build(&subject->model, &options, graph));
}

/* `count` forecasts in one call, all with the same batch. */
static void forecast(const struct setup *setup, const struct subject *subject, int64_t batch,
                     const int64_t *sequences, size_t count)
{
    struct rt_forecast_options options = {
        .parallel = {.data = 1, .pipeline = 1, .microbatches = 1, .link_gbs = NAN}, .times_only = true};
    struct rt_graph graphs[TOGETHER];
    const struct rt_graph *list[TOGETHER];
    struct rt_forecast forecasts[TOGETHER];
    for (size_t i = 0; i < count; i++) {
        build(subject, batch, sequences[i], &graphs[i]);
        list[i] = &graphs[i];
    }
    stop_where(rt_forecast_graphs(list, count, &setup->predictor, &subject->device, &options, forecasts));
    for (size_t i = 0; i < count; i++) {
        rt_forecast_release(&forecasts[i]);
        rt_graph_release(&graphs[i]);
    }
}

static double time_single(const struct setup *setup, const struct subject *subject)
{
    double seconds[SINGLES];
    for (size_t i = 0; i < SINGLES; i++) {
        double began = rt_clock();
        forecast(setup, subject, 2, (const int64_t[]){2048}, 1);
        seconds[i] = rt_clock() - began;
    }
    return median(seconds, SINGLES);
}

static void decode(const struct setup *setup, const struct subject *subject, int64_t context)
{
    const struct rt_graph_options step = {.step = RT_STEP_DECODE,
                                          .batch = 16,
                                          .context = context,
                                          .tensor_parallel = 8,
                                          .dtype = RT_BF16,
                                          .runtime = RT_RUNTIME_SERVING};
    const struct rt_forecast_options options = {
        .parallel = {.data = 1, .pipeline = 1, .microbatches = 1, .link_gbs = NAN},
        .fallback = true,
        .times_only = true};
    struct rt_graph graph;
    struct rt_forecast forecast;
    stop_where(rt_graph_build(&subject->served, &step, &graph));
    stop_where(rt_forecast_graph(&graph, &setup->predictor, &subject->device, &options, &forecast));
    rt_forecast_release(&forecast);
    rt_graph_release(&graph);
}

static double time_served(const struct setup *setup, const struct subject *subject)
{
    double seconds[SINGLES];
    for (size_t i = 0; i < SINGLES; i++) {
        double began = rt_clock();
        decode(setup, subject, 1000 + (int64_t)i);
        seconds[i] = rt_clock() - began;
    }
    return median(seconds, SINGLES);
}

/* Megatron's cut of the Llama 3 paper's size: dp 128, tp 8, pp 16. */
static void train_step(const struct setup *setup, const struct subject *subject)
{
    struct rt_step step = RT_STEP_NOT_GIVEN;
    struct rt_prediction prediction = {.refused = NULL};
    step.mode = RT_STEP_TRAINING;
    step.runtime = RT_RUNTIME_MEGATRON;
    step.dtype = RT_BF16;
    step.batch = 2048;
    step.sequence = 8192;
    step.parallel.data = 128;
    step.parallel.tensor = 8;
    step.parallel.pipeline = 16;
    step.parallel.microbatches = 16;
    step.parallel.sequence = true;
    step.parallel.shard = RT_SHARD_OPTIMIZER;
    stop_where(rt_prediction_begin(&step, &subject->trained, &subject->device, &prediction));
    struct rt_forecast_options how = rt_prediction_how(&prediction);
    how.fallback = true;
    stop_where(rt_forecast_graph(&prediction.graph, &setup->predictor, &prediction.device, &how,
                                 &prediction.forecast));
    rt_prediction_release(&prediction);
}

static double time_trained(const struct setup *setup, const struct subject *subject)
{
    double seconds[SINGLES];
    for (size_t i = 0; i < SINGLES; i++) {
        double began = rt_clock();
        train_step(setup, subject);
        seconds[i] = rt_clock() - began;
    }
    return median(seconds, SINGLES);
}

/* Forecasts/s, so many a call. */
static double time_sweep(const struct setup *setup, const struct subject *subject, size_t each)
{
    int64_t sequences[SEQUENCES];
    for (int64_t s = 0; s < SEQUENCES; s++)
        sequences[s] = 64 * (s + 1);
    double began = rt_clock();
    for (int64_t batch = 1; batch <= BATCHES; batch++)
        for (size_t s = 0; s < SEQUENCES; s += each)
            forecast(setup, subject, batch, sequences + s, each);
    return BATCHES * SEQUENCES / (rt_clock() - began);
}

static void run_rounds(struct setup *setups, size_t count, const struct subject *subject, float *block,
                       double *sgemm, size_t rounds)
{
    for (size_t i = 0; i < count; i++) /* wakes the caches */
        forecast(&setups[i], subject, 2, (const int64_t[]){2048}, 1);
    time_sgemm(block);
    for (size_t r = 0; r < rounds; r++) {
        double products[9];
        for (size_t i = 0; i < RT_COUNT(products); i++)
            products[i] = time_sgemm(block);
        sgemm[r] = median(products, RT_COUNT(products));
        for (size_t i = 0; i < count; i++) {
            setups[i].single[r] = time_single(&setups[i], subject);
            setups[i].served[r] = time_served(&setups[i], subject);
            setups[i].trained[r] = time_trained(&setups[i], subject);
            setups[i].alone[r] = time_sweep(&setups[i], subject, 1);
            setups[i].together[r] = time_sweep(&setups[i], subject, TOGETHER);
        }
    }
}

static void print_results(struct setup *setups, size_t count, double *sgemm, size_t rounds)
{
    double unit = median(sgemm, rounds);
    printf("# %s, kernels for %s; sgemm of %d: %.1f us; %zu rounds\n", rt_blas_library(), rt_blas_core(),
           MATRIX, 1e6 * unit, rounds);
    printf("# predictor us/forecast over-sgemm forecasts/s per-sgemm together/s per-sgemm us/decode "
           "over-sgemm us/405B-training\n");
    for (size_t i = 0; i < count; i++) {
        double single = median(setups[i].single, rounds), alone = median(setups[i].alone, rounds);
        double together = median(setups[i].together, rounds);
        double served = median(setups[i].served, rounds);
        printf("%s %.1f %.4f %.0f %.2f %.0f %.2f %.1f %.4f %.1f\n", setups[i].name, 1e6 * single,
               single / unit, alone, alone * unit, together, together * unit, 1e6 * served, served / unit,
               1e6 * median(setups[i].trained, rounds));
    }
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {"roofline", "rooftile", "neusight"};
    rt_blas_tune(argv);
    rt_blas_single_thread();
    if (argc == 4 && strcmp(argv[1], "-o") == 0)
        return write_predictor(argv[2], argv[3]);
    size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 9;
    size_t count = argc > 2 ? (size_t)argc - 2 : RT_COUNT(usual);
    if (rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "usage: bench_forecast [ROUNDS [PREDICTOR...]]\n");
        return 2;
    }
    struct subject subject;
    const char *model = getenv("ROOFTILE_BENCH_MODEL");
    stop_where(rt_model_named(model != NULL ? model : "gpt3-2.7b", &subject.model));
    stop_where(rt_model_named("qwen3-235b-a22b", &subject.served));
    stop_where(rt_model_source_find_as("llama-3.1-405b", NULL, &subject.trained));
    stop_where(rt_device_named("H100", &subject.device));
    struct setup *setups = rt_calloc(count, sizeof *setups);
    float *block = rt_calloc(3 * (size_t)MATRIX * MATRIX, sizeof *block);
    double *sgemm = rt_calloc(rounds, sizeof *sgemm);
    for (size_t i = 0; i < count; i++)
        setup_init(&setups[i], argc > 2 ? argv[2 + i] : usual[i]);
    run_rounds(setups, count, &subject, block, sgemm, rounds);
    print_results(setups, count, sgemm, rounds);
    for (size_t i = 0; i < count; i++)
        rt_predictor_release(&setups[i].predictor);
    free(setups);
    free(block);
    free(sgemm);
    return 0;
}
