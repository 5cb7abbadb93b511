/* Batches of inputs and what a network made of them. See network_memo.h. */
#include "models/predictors/predictor/network_memo.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

/* Batches differ where launches become equal or different: as an L2 holds an operand, as a design has another
 * kernel. A few of them are in use at a time, those of each network. */
enum { BATCHES = 64 };

struct batch {
    const struct rt_family_net *net;
    size_t count;
    rt_real *inputs, *outputs;
};

/* Queries of a net on devices of one design, and their inputs. */
struct known_inputs {
    const struct rt_family_net *net;
    struct rt_device device; /* its texts */
    struct rt_query *query;  /* (count), without what depends on a device's numbers */
    size_t count;
    struct rt_seen_inputs seen;
};

struct known_effect {
    const struct rt_family_net *net;
    struct rt_device device; /* its texts */
    struct rt_device_effect effect;
};

struct rt_network_memo {
    struct batch batch[BATCHES];
    struct known_effect effect[BATCHES];
    struct known_inputs known[BATCHES];
    size_t next, next_effect, next_known; /* that are given up for a new one */
};

struct rt_network_memo *rt_network_memo_new(void)
{
    return rt_calloc(1, sizeof(struct rt_network_memo));
}

static void release_known(struct known_inputs *known)
{
    free(known->query);
    free(known->seen.inputs);
    free(known->seen.unseen);
    *known = (struct known_inputs){.count = 0};
}

void rt_network_memo_free(struct rt_network_memo *memo)
{
    for (size_t b = 0; memo != NULL && b < BATCHES; b++) {
        free(memo->batch[b].inputs);
        free(memo->batch[b].outputs);
        release_known(&memo->known[b]);
    }
    free(memo);
}

struct rt_network_memo *rt_network_memo_of(struct rt_network_memos *memos, size_t member)
{
    if (memos->of[member] == NULL)
        memos->of[member] = rt_network_memo_new();
    return memos->of[member];
}

void rt_network_memos_release(struct rt_network_memos *memos)
{
    for (size_t m = 0; m < RT_THREADS_MAX; m++)
        rt_network_memo_free(memos->of[m]);
    *memos = (struct rt_network_memos){{NULL}};
}

static bool is_batch(const struct batch *batch, const struct rt_family_net *net, const rt_real *inputs,
                     size_t count)
{
    return batch->net == net && batch->count == count &&
           memcmp(batch->inputs, inputs, count * (size_t)net->feature_count * sizeof *inputs) == 0;
}

static struct batch *infer(struct rt_network_memo *memo, const struct rt_family_net *net,
                           const rt_real *inputs, size_t count)
{
    struct batch *batch = &memo->batch[memo->next++ % BATCHES];
    size_t in = count * (size_t)net->feature_count, out = count * (size_t)rt_heads[net->head].outputs;
    free(batch->inputs);
    free(batch->outputs);
    *batch = (struct batch){.net = net, .count = count};
    batch->inputs = rt_malloc(in * sizeof *batch->inputs);
    batch->outputs = rt_malloc(out * sizeof *batch->outputs);
    memcpy(batch->inputs, inputs, in * sizeof *inputs);
    rt_mlp_infer(&net->mlp, NULL, inputs, count, batch->outputs);
    return batch;
}

const rt_real *rt_network_memo_outputs(struct rt_network_memo *memo, const struct rt_family_net *net,
                                       const rt_real *inputs, size_t count)
{
    for (size_t b = 0; b < BATCHES; b++)
        if (is_batch(&memo->batch[b], net, inputs, count))
            return memo->batch[b].outputs;
    return infer(memo, net, inputs, count)->outputs;
}

/* All that effects ask a device for is in its texts. */
static bool is_alike(const struct rt_device *a, const struct rt_device *b)
{
    for (size_t t = 0; t < rt_device_text_count; t++)
        if (strcmp((const char *)a + rt_device_texts[t].offset,
                   (const char *)b + rt_device_texts[t].offset) != 0)
            return false;
    return true;
}

const struct rt_device_effect *rt_network_memo_effect(struct rt_network_memo *memo,
                                                      const struct rt_family_net *net,
                                                      const struct rt_device *device)
{
    for (size_t e = 0; e < BATCHES && memo->effect[e].net != NULL; e++)
        if (memo->effect[e].net == net && is_alike(&memo->effect[e].device, device))
            return &memo->effect[e].effect;
    struct known_effect *known = &memo->effect[memo->next_effect++ % BATCHES];
    *known = (struct known_effect){.net = net, .device = *device};
    rt_device_effects_of(&net->effects, device, &known->effect);
    return &known->effect;
}

/* What features may ask of a query: all but the traffic that depends on an L2. */
static struct rt_query plain(const struct rt_query *query)
{
    struct rt_query plain;
    memcpy(&plain, query, sizeof plain); /* with what lies between its members */
    plain.reread_bytes = plain.cold_bytes = 0;
    return plain;
}

/* Has it no feature of a device's numbers, and no tile that another device was measured with? */
static bool sees_calls_alone(const struct rt_family_net *net)
{
    for (int f = 0; f < net->feature_count; f++)
        if (rt_features[net->feature[f]].use == RT_OF_DEVICE)
            return false;
    return net->forecaster == RT_FORECASTER_NETWORK && net->policy != RT_TILE_NEAREST;
}

static bool is_known(const struct known_inputs *known, const struct rt_family_net *net,
                     const struct rt_device *device, const struct rt_query *queries, const size_t *index,
                     size_t count)
{
    if (known->net != net || known->count != count || !is_alike(&known->device, device))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct rt_query query = plain(&queries[index[i]]);
        if (memcmp(&query, &known->query[i], sizeof query) != 0)
            return false;
    }
    return true;
}

const struct rt_seen_inputs *rt_network_memo_inputs(const struct rt_network_memo *memo,
                                                    const struct rt_family_net *net,
                                                    const struct rt_device *device,
                                                    const struct rt_query *queries, const size_t *index,
                                                    size_t count)
{
    for (size_t k = 0; k < BATCHES && memo->known[k].net != NULL; k++)
        if (is_known(&memo->known[k], net, device, queries, index, count))
            return &memo->known[k].seen;
    return NULL;
}

void rt_network_memo_keep_inputs(struct rt_network_memo *memo, const struct rt_family_net *net,
                                 const struct rt_device *device, const struct rt_query *queries,
                                 const size_t *index, size_t count, const struct rt_seen_inputs *seen)
{
    size_t inputs = count * (size_t)net->feature_count * sizeof *seen->inputs;
    if (!sees_calls_alone(net))
        return;
    struct known_inputs *known = &memo->known[memo->next_known++ % BATCHES];
    release_known(known);
    *known = (struct known_inputs){.net = net, .device = *device, .count = count};
    known->query = rt_malloc((count + 1) * sizeof *known->query);
    known->seen.inputs = rt_malloc(inputs + 1);
    known->seen.unseen = rt_malloc(count + 1);
    for (size_t i = 0; i < count; i++)
        known->query[i] = plain(&queries[index[i]]);
    memcpy(known->seen.inputs, seen->inputs, inputs);
    memcpy(known->seen.unseen, seen->unseen, count);
}
