/* Costs of passes of speculative decoding. See speculation.h. */
#include "predict/serving/speculation.h"

#include <math.h>

/* What a step is made of: parts by part, or their sum alone. */
static void add(const struct rt_step_cost *cost, const struct rt_serve_batch *batch, double times,
                double parts[RT_SERVE_PARTS])
{
    double own[RT_SERVE_PARTS];
    if (batch->decodes == 0 && batch->chunk_count == 0)
        return;
    rt_step_cost_parts(cost, batch, own);
    for (int p = 0; p < RT_SERVE_PARTS; p++)
        parts[p] += times * own[p];
}

/* The step with its prompts less that without: what prompts add, once, to a step of each of both. */
static void add_prompts(const struct rt_step_cost *cost, const struct rt_serve_batch *with,
                        const struct rt_serve_batch *without, double parts[RT_SERVE_PARTS])
{
    double more[RT_SERVE_PARTS] = {0};
    add(cost, with, 1, more);
    add(cost, without, -1, more);
    for (int p = 0; p < RT_SERVE_PARTS; p++)
        parts[p] += fmax(more[p], 0);
}

static void parts_of(const void *context, const struct rt_serve_batch *batch, double parts[RT_SERVE_PARTS])
{
    const struct rt_speculation *s = context;
    struct rt_serve_batch check = *batch, draft = *batch, checks, drafts;
    check.drafted = s->drafted;
    checks = check;
    drafts = draft;
    checks.chunk_count = drafts.chunk_count = 0;
    for (int p = 0; p < RT_SERVE_PARTS; p++)
        parts[p] = 0;
    add(s->model, &checks, 1 / s->accepted, parts);
    add(s->draft, &drafts, (double)s->drafted / s->accepted, parts);
    if (batch->chunk_count == 0)
        return;
    add_prompts(s->model, &check, &checks, parts);
    add_prompts(s->draft, &draft, &drafts, parts);
}

static double step_us(const void *context, const struct rt_serve_batch *batch)
{
    double parts[RT_SERVE_PARTS], sum = 0;
    parts_of(context, batch, parts);
    for (int p = 0; p < RT_SERVE_PARTS; p++)
        sum += parts[p];
    return sum;
}

struct rt_serve_costs rt_speculation_costs(const struct rt_speculation *speculation)
{
    return (struct rt_serve_costs){step_us, parts_of, speculation};
}
