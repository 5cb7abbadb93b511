/*
 * How fast a training step is: the network NeuSight publishes (8 x 512, 4 inputs, 2 outputs), forward, the
 * utilisation head with SMAPE, backward, AdamW; beside what cblas_sgemm reaches on 2048 x 2048 matrices with
 * as many threads, measured in turns in the same run, medians of all turns. A measurement during which other
 * programs took processor time is made again, up to RETRIES times in all; how often it happened is said.
 *
 *     bench_train_step [TURNS [THREADS]]
 *
 * One line per number of threads and batch: threads, batch, samples/s, GFLOP/s of the step (three products of
 * two operations per weight and sample), GFLOP/s of cblas_sgemm, the share in percent, and how many times as
 * fast as one thread. Lines that begin with # are words.
 */
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/status.h"
#include "models/predictors/nn/blas.h"
#include "models/predictors/nn/step.h"

#define MATRIX     2048
#define TURN       0.2 /* seconds of steps in a turn */
#define MAX_TURNS  999
#define MAX_SETUPS 4
#define RETRIES    60
#define DISTURBED  0.02 /* share of the processors that others may take in a measurement */

static const size_t batches[] = {128, 1024};

struct setup {
    size_t threads, batch;
    struct rt_mlp mlp;
    struct rt_optimizer optimizer;
    struct rt_threads *pool;
    struct rt_train_step *step;
    rt_real *x;                                                                     /* (batch, inputs) */
    double *target, *waves;                                                         /* (batch) */
    double rate[MAX_TURNS], sgemm[MAX_TURNS], share[MAX_TURNS], speedup[MAX_TURNS]; /* samples/s, FLOP/s */
};

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* latency = 1 / (sigmoid(out1) - sigmoid(out0) / waves); SMAPE against the target. */
static double head(void *context, size_t first, size_t rows, const rt_real *out, rt_real *dout)
{
    const struct setup *setup = context;
    double sum = 0;
    for (size_t i = 0; i < rows; i++) {
        double alpha = sigmoid(out[2 * i]), gamma = sigmoid(out[2 * i + 1]), waves = setup->waves[first + i];
        double utilisation = fmax(gamma - alpha / waves, 1e-3), latency = 1 / utilisation, derivative;
        sum += rt_losses[RT_LOSS_SMAPE].value(latency, setup->target[first + i], &derivative);
        double by_utilisation = -derivative * latency * latency / (double)setup->batch;
        dout[2 * i] = (rt_real)(-by_utilisation * alpha * (1 - alpha) / waves);
        dout[2 * i + 1] = (rt_real)(by_utilisation * gamma * (1 - gamma));
    }
    return sum;
}

static void setup_init(struct setup *setup, size_t threads, size_t batch)
{
    struct rt_mlp_shape shape = {
        .inputs = 4, .hidden = 512, .layers = 8, .outputs = 2, .activation = RT_RELU};
    struct rt_random random;
    *setup = (struct setup){.threads = threads, .batch = batch, .pool = rt_threads_new(threads)};
    if (rt_mlp_init(&setup->mlp, &shape) != RT_OK)
        abort();
    rt_random_seed(&random, 1, 0);
    rt_mlp_randomize(&setup->mlp, &random);
    rt_optimizer_init(&setup->optimizer, &rt_adamw_default, setup->mlp.count);
    setup->step = rt_train_step_new(&setup->mlp, &setup->optimizer, setup->pool, batch);
    setup->x = rt_calloc(batch * 4, sizeof *setup->x);
    setup->target = rt_calloc(batch, sizeof *setup->target);
    setup->waves = rt_calloc(batch, sizeof *setup->waves);
    for (size_t i = 0; i < 4 * batch; i++)
        setup->x[i] = (rt_real)(2 * rt_random_uniform(&random) - 1);
    for (size_t i = 0; i < batch; i++) {
        setup->waves[i] = 2 + (double)rt_random_below(&random, 20);
        setup->target[i] = 1.5 + rt_random_uniform(&random);
    }
}

static void setup_release(struct setup *setup)
{
    rt_train_step_free(setup->step);
    rt_optimizer_release(&setup->optimizer);
    rt_mlp_release(&setup->mlp);
    rt_threads_free(setup->pool);
    free(setup->x);
    free(setup->target);
    free(setup->waves);
}

/* FLOP/s of one product of the three matrices at `block`. */
static double time_sgemm(size_t threads, float *block)
{
    const size_t size = (size_t)MATRIX * MATRIX;
    openblas_set_num_threads((int)threads);
    double began = rt_clock();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, MATRIX, MATRIX, MATRIX, 1, block, MATRIX,
                block + size, MATRIX, 0, block + 2 * size, MATRIX);
    double seconds = rt_clock() - began;
    openblas_set_num_threads(1);
    usleep(threads > 1 ? 50000 : 0); /* OpenBLAS's own threads spin for a while before they sleep */
    return 2.0 * MATRIX * MATRIX * MATRIX / seconds;
}

/* Samples/s of about TURN seconds of steps. */
static double time_steps(struct setup *setup)
{
    size_t steps = 0;
    double began = rt_clock(), seconds;
    do {
        rt_train_step_run(setup->step, setup->x, setup->batch, 1e-5, head, setup);
        steps++;
        seconds = rt_clock() - began;
    } while (seconds < TURN);
    return (double)(steps * setup->batch) / seconds;
}

/* Processor seconds that everything but this program has taken so far, the host included; 0 where the system
 * does not say. */
static double other_work(void)
{
    unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
    struct rusage own;
    FILE *file = fopen("/proc/stat", "r");
    int found = file == NULL ? 0
                             : fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice,
                                      &system, &idle, &iowait, &irq, &softirq, &steal);
    if (file != NULL)
        fclose(file);
    if (found != 8 || getrusage(RUSAGE_SELF, &own) != 0)
        return 0;
    double all = (double)(user + nice + system + irq + softirq + steal) / (double)sysconf(_SC_CLK_TCK);
    return all - (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) -
           1e-6 * (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec);
}

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

/* Two operations per weight and product, three products (output, delta, gradient); biases are not counted. */
static double flops_per_sample(const struct rt_mlp *mlp)
{
    double weights = 0;
    for (size_t l = 0; l < mlp->shape.layers; l++)
        weights += (double)(mlp->layer[l].inputs * mlp->layer[l].outputs);
    return 3 * 2 * weights;
}

/* Product and steps of one setup, again while others disturb it. Returns how often they did. */
static size_t measure(struct setup *setup, size_t turn, float *block, size_t *retries)
{
    for (size_t disturbed = 0;; disturbed++) {
        double others = other_work(), began = rt_clock();
        setup->sgemm[turn] = time_sgemm(setup->threads, block);
        setup->rate[turn] = time_steps(setup);
        double share = (other_work() - others) / (rt_clock() - began) / (double)rt_threads_processors();
        if (share <= DISTURBED || *retries == 0)
            return disturbed + (share > DISTURBED);
        --*retries;
        usleep(200000);
    }
}

/* Returns how many measurements were disturbed. */
static size_t run_turns(struct setup *setups, size_t count, size_t turns, float *block)
{
    size_t disturbed = 0, retries = RETRIES;
    for (size_t turn = 0; turn < turns; turn++)
        for (size_t s = 0; s < count; s++) {
            struct setup *setup = &setups[s], *single = &setups[s % RT_COUNT(batches)];
            disturbed += measure(setup, turn, block, &retries);
            setup->share[turn] = setup->rate[turn] * flops_per_sample(&setup->mlp) / setup->sgemm[turn];
            setup->speedup[turn] = setup->rate[turn] / single->rate[turn];
        }
    return disturbed;
}

int main(int argc, char **argv)
{
    rt_blas_tune(argv);
    size_t turns = argc > 1 ? strtoul(argv[1], NULL, 10) : 9;
    size_t threads = argc > 2 ? strtoul(argv[2], NULL, 10) : rt_threads_processors() > 1 ? 2 : 1;
    if (turns < 1 || turns > MAX_TURNS || threads < 1 || threads > RT_THREADS_MAX) {
        fprintf(stderr, "usage: bench_train_step [TURNS [THREADS]]\n");
        return 2;
    }
    struct setup *setups = rt_calloc(MAX_SETUPS, sizeof *setups);
    float *block = rt_calloc(3 * (size_t)MATRIX * MATRIX, sizeof *block);
    for (size_t i = 0; i < 2 * (size_t)MATRIX * MATRIX; i++)
        block[i] = (float)(i % 97) / 97 - 0.5f;
    size_t count = 0;
    for (size_t t = 1; t <= threads; t += threads > 1 ? threads - 1 : 1)
        for (size_t b = 0; b < RT_COUNT(batches); b++)
            setup_init(&setups[count++], t, batches[b]);
    for (size_t s = 0; s < count; s++) { /* wakes the clock and the caches */
        time_sgemm(setups[s].threads, block);
        time_steps(&setups[s]);
    }
    size_t disturbed = run_turns(setups, count, turns, block);
    printf("# %s, kernels for %s\n# %zu turns; %zu measurements disturbed by other programs\n",
           rt_blas_library(), rt_blas_core(), turns, disturbed);
    printf("# threads batch samples/s GFLOP/s sgemm-GFLOP/s share%% times-one-thread\n");
    for (size_t s = 0; s < count; s++) {
        struct setup *setup = &setups[s];
        double rate = median(setup->rate, turns);
        printf("%zu %zu %.0f %.1f %.1f %.1f %.2f\n", setup->threads, setup->batch, rate,
               rate * flops_per_sample(&setup->mlp) * 1e-9, median(setup->sgemm, turns) * 1e-9,
               100 * median(setup->share, turns), median(setup->speedup, turns));
    }
    for (size_t s = 0; s < count; s++)
        setup_release(&setups[s]);
    free(setups);
    free(block);
    return 0;
}
