/* The head table. See head.h. */
#include "models/predictors/predictor/head.h"

#include <math.h>
#include <string.h>

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* out = (alpha, gamma): NeuSight, equation 6 (ASPLOS 2025). */
static double utilisation(const rt_real *out, const struct rt_bound *bound)
{
    return fmax(sigmoid(out[1]) - sigmoid(out[0]) / bound->waves, RT_LEAST_UTILISATION);
}

static double utilisation_latency(const rt_real *out, const struct rt_bound *bound)
{
    return bound->bound_us / utilisation(out, bound);
}

/* d latency / d utilisation = -latency / utilisation; d sigmoid(x) = sigmoid(x) (1 - sigmoid(x)) dx. */
static void utilisation_gradient(const rt_real *out, const struct rt_bound *bound, double dlatency,
                                 rt_real *dout)
{
    double alpha = sigmoid(out[0]), gamma = sigmoid(out[1]), u = utilisation(out, bound);
    double dutilisation = -dlatency * bound->bound_us / (u * u);
    dout[0] = (rt_real)(-dutilisation * alpha * (1 - alpha) / bound->waves);
    dout[1] = (rt_real)(dutilisation * gamma * (1 - gamma));
}

/* ---- times ---- */

/* Outputs of the network. */
enum {
    OUT_START,
    OUT_COMPUTE,
    OUT_MEMORY,
    OUT_COMPUTE_WEIGHTS,
    OUT_MEMORY_WEIGHTS = OUT_COMPUTE_WEIGHTS + RT_COMPUTE_TIMES,
    OUT_COUNT = OUT_MEMORY_WEIGHTS + RT_MEMORY_TIMES,
    OUT_HOST = OUT_COUNT, /* of "times_host" */
    OUT_HOST_COUNT
};

/* A factor on a time, held between two bounds, and where an output of 0 puts it: what large kernels take. */
struct factor_range {
    double least, most, start;
};
static const struct factor_range start_factor = {0.5, 2, 1}, compute_factor = {0.3, 200, 1.4},
                                 memory_factor = {0.3, 1.5, 1.1}, host_factor = {0.3, 3, 1};

/* ln factor = ln least + R sigmoid(a + 4 out / R), R = ln most - ln least: slope near 1 in the middle. */
static double factor(const struct factor_range *range, double out, double *slope)
{
    double low = log(range->least), width = log(range->most) - low, at = (log(range->start) - low) / width;
    double share = sigmoid(log(at / (1 - at)) + 4 * out / width);
    *slope = 4 * share * (1 - share);
    return exp(low + width * share);
}

/* Weights where the network says nothing: measurements of kernels that are run over and over hardly tell how
 * a kernel would do in a step, and physics then takes their place. */
static const double compute_prior[RT_COMPUTE_TIMES] = {1, 1, 1, 1, 1},
                    memory_prior[RT_MEMORY_TIMES] = {0.8, 0.2};

/* Weighted geometric mean of times, the weights a softmax of outputs times `prior`. */
static double mean_time(const rt_real *out, const double *prior, const double *ln_time, int count,
                        double *weight)
{
    double most = -INFINITY, sum = 0, mean = 0;
    for (int i = 0; i < count; i++)
        most = fmax(most, out[i]);
    for (int i = 0; i < count; i++)
        sum += weight[i] = prior[i] * exp(out[i] - most);
    for (int i = 0; i < count; i++)
        mean += (weight[i] /= sum) * ln_time[i];
    return exp(mean);
}

/* What a kernel's time is made of, in us and without the shift; slopes are d ln part / d output. */
struct parts {
    double start, compute, memory, busy;
    double start_slope, compute_slope, memory_slope;
    double mean_compute, mean_memory;
    double compute_weight[RT_COMPUTE_TIMES], memory_weight[RT_MEMORY_TIMES];
};

/* How sharply the longer of compute and memory takes over: 1.26 times either where both are the same. */
static const double OVERLAP = 3;

static void parts_of(const rt_real *out, const struct rt_times *times, struct parts *p)
{
    p->mean_compute = mean_time(out + OUT_COMPUTE_WEIGHTS, compute_prior, times->ln_compute, RT_COMPUTE_TIMES,
                                p->compute_weight);
    p->mean_memory = mean_time(out + OUT_MEMORY_WEIGHTS, memory_prior, times->ln_memory, RT_MEMORY_TIMES,
                               p->memory_weight);
    p->start = times->start_us * factor(&start_factor, out[OUT_START], &p->start_slope);
    p->compute = p->mean_compute * factor(&compute_factor, out[OUT_COMPUTE], &p->compute_slope);
    p->memory = p->mean_memory * factor(&memory_factor, out[OUT_MEMORY], &p->memory_slope);
    double longer = fmax(p->compute, p->memory), shorter = fmin(p->compute, p->memory);
    p->busy = longer * pow(1 + pow(shorter / longer, OVERLAP), 1 / OVERLAP);
}

static double times_latency(const rt_real *out, const struct rt_bound *bound)
{
    struct parts p;
    parts_of(out, &bound->times, &p);
    return bound->dispatch_us + fmax(bound->times.least_us, (p.start + p.busy) * exp(bound->shift));
}

/* d latency / d output of the weights of times: weight x (ln time - ln mean) x d latency / d ln mean. */
static void weights_gradient(const double *weight, const double *ln_time, int count, double mean,
                             double dmean, rt_real *dout)
{
    for (int i = 0; i < count; i++)
        dout[i] = (rt_real)(dmean * weight[i] * (ln_time[i] - log(mean)));
}

/* That nothing is faster than least_us is left out, so that training moves a sample away from it. */
static void times_gradient(const rt_real *out, const struct rt_bound *bound, double dlatency, rt_real *dout)
{
    struct parts p;
    parts_of(out, &bound->times, &p);
    double scale = dlatency * exp(bound->shift), dcompute = scale * p.busy * pow(p.compute / p.busy, OVERLAP),
           dmemory = scale * p.busy * pow(p.memory / p.busy, OVERLAP);
    dout[OUT_START] = (rt_real)(scale * p.start * p.start_slope);
    dout[OUT_COMPUTE] = (rt_real)(dcompute * p.compute_slope);
    dout[OUT_MEMORY] = (rt_real)(dmemory * p.memory_slope);
    weights_gradient(p.compute_weight, bound->times.ln_compute, RT_COMPUTE_TIMES, p.mean_compute, dcompute,
                     dout + OUT_COMPUTE_WEIGHTS);
    weights_gradient(p.memory_weight, bound->times.ln_memory, RT_MEMORY_TIMES, p.mean_memory, dmemory,
                     dout + OUT_MEMORY_WEIGHTS);
}

/* ---- times_host ---- */

/* How sharply the host takes over from the GPU, which it keeps waiting: 1.09 times either where both take as
 * long. */
static const double HOST_OVERLAP = 8;

struct with_host {
    double host, gpu, time; /* us */
    double host_slope;
};

static void host_parts_of(const rt_real *out, const struct rt_times *times, struct parts *p,
                          struct with_host *h)
{
    parts_of(out, times, p);
    h->gpu = p->start + p->busy;
    h->host = times->host_us * factor(&host_factor, out[OUT_HOST], &h->host_slope);
    double longer = fmax(h->host, h->gpu), shorter = fmin(h->host, h->gpu);
    h->time = longer * pow(1 + pow(shorter / longer, HOST_OVERLAP), 1 / HOST_OVERLAP);
}

static double host_latency(const rt_real *out, const struct rt_bound *bound)
{
    struct parts p;
    struct with_host h;
    host_parts_of(out, &bound->times, &p, &h);
    return bound->dispatch_us + fmax(bound->times.least_us, h.time * exp(bound->shift));
}

static void host_gradient(const rt_real *out, const struct rt_bound *bound, double dlatency, rt_real *dout)
{
    struct parts p;
    struct with_host h;
    host_parts_of(out, &bound->times, &p, &h);
    times_gradient(out, bound, dlatency * pow(h.gpu / h.time, HOST_OVERLAP - 1), dout);
    double scale = dlatency * exp(bound->shift);
    dout[OUT_HOST] = (rt_real)(scale * h.time * pow(h.host / h.time, HOST_OVERLAP) * h.host_slope);
}

const struct rt_head rt_heads[RT_HEAD_COUNT] = {
    {"utilisation", 2, utilisation_latency, utilisation_gradient, false},
    {"times", OUT_COUNT, times_latency, times_gradient, true},
    {"times_host", OUT_HOST_COUNT, host_latency, host_gradient, true},
};

int rt_head_find(const char *name)
{
    for (int i = 0; i < RT_HEAD_COUNT; i++)
        if (strcmp(rt_heads[i].name, name) == 0)
            return i;
    return -1;
}
