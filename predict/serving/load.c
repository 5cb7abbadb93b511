/* Requests of a load, one after the other. See load.h. */
#include "predict/serving/load.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>

const char *const rt_arrivals[RT_ARRIVALS] = {"closed loop", "Poisson", "trace"};

size_t rt_serve_load_requests(const struct rt_serve_load *load)
{
    if (load->arrivals == RT_TRACE)
        return load->requests > 0 && (size_t)load->requests < load->trace->count ? (size_t)load->requests
                                                                                 : load->trace->count;
    return (size_t)(load->requests > 0 ? load->requests : 10 * load->concurrency);
}

static int check_lengths(const char *what, const struct rt_serve_lengths *lengths)
{
    if (lengths->least < 1 || lengths->most < lengths->least || lengths->most > RT_MOST_SERVED_TOKENS)
        return rt_fail(RT_EUSAGE,
                       "%s of %" PRId64 " to %" PRId64 " tokens: must be 1 to %d, the smaller first", what,
                       lengths->least, lengths->most, RT_MOST_SERVED_TOKENS);
    return RT_OK;
}

int rt_serve_load_check(const struct rt_serve_load *load)
{
    int status = RT_OK;
    if (load->arrivals == RT_TRACE)
        return load->trace != NULL && load->trace->count > 0
                   ? RT_OK
                   : rt_fail(RT_EUSAGE, "the trace holds no requests");
    if (load->arrivals == RT_CLOSED_LOOP && load->concurrency < 1)
        return rt_fail(RT_EUSAGE, "a closed loop has at least one user");
    if (load->arrivals == RT_POISSON && !(load->rate > 0 && load->rate < INFINITY))
        return rt_fail(RT_EUSAGE, "requests come at a rate above 0 a second");
    if (!(load->prefix_share >= 0 && load->prefix_share <= 1))
        return rt_fail(RT_EUSAGE, "the share of prompts that is the same in all is 0 to 1");
    if (rt_serve_load_requests(load) < 1)
        return rt_fail(RT_EUSAGE, "say how many requests there are");
    status = check_lengths("prompts", &load->input);
    return status == RT_OK ? check_lengths("outputs", &load->output) : status;
}

void rt_serve_source_open(struct rt_serve_source *source, const struct rt_serve_load *load)
{
    *source = (struct rt_serve_source){.load = load, .count = rt_serve_load_requests(load)};
    rt_random_seed(&source->lengths, load->seed, 1);
    rt_random_seed(&source->arrivals, load->seed, 2);
}

static int32_t draw(struct rt_random *random, const struct rt_serve_lengths *lengths)
{
    uint64_t width = (uint64_t)(lengths->most - lengths->least) + 1;
    return (int32_t)(lengths->least + (int64_t)rt_random_below(random, width));
}

static void next_of_trace(const struct rt_serve_trace *trace, size_t i, struct rt_serve_request *request)
{
    *request = (struct rt_serve_request){
        .arrival_us = trace->arrival_us[i],
        .input = trace->input[i],
        .output = trace->output[i],
        .group = trace->group != NULL ? trace->group[i] : -1,
        .prefix = trace->prefix != NULL ? trace->prefix[i] : 0,
    };
}

/* The times between arrivals of a Poisson process are exponential. Users of a closed loop begin evenly. */
static double next_arrival(struct rt_serve_source *source)
{
    const struct rt_serve_load *load = source->load;
    if (load->arrivals == RT_POISSON)
        return source->clock_us -= log1p(-rt_random_uniform(&source->arrivals)) * 1e6 / load->rate;
    return source->next < (size_t)load->concurrency
               ? load->ramp_us * (double)source->next / (double)load->concurrency
               : 0;
}

bool rt_serve_source_next(struct rt_serve_source *source, struct rt_serve_request *request)
{
    if (source->next >= source->count)
        return false;
    if (source->load->arrivals == RT_TRACE) {
        next_of_trace(source->load->trace, source->next, request);
    } else {
        *request = (struct rt_serve_request){0};
        request->arrival_us = next_arrival(source);
        request->input = draw(&source->lengths, &source->load->input);
        request->output = draw(&source->lengths, &source->load->output);
        request->prefix = (int32_t)(source->load->prefix_share * request->input);
        request->group = request->prefix > 0 ? 0 : -1;
    }
    source->next++;
    return true;
}
