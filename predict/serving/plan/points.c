/* Candidates as CSV. See points.h. */
#include "predict/serving/plan/points.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/status.h"
#include "predict/serving/plan/engine.h"
#include "predict/serving/plan/reasons.h"
#include "predict/serving/plan/words.h"

#include <inttypes.h>
#include <math.h>

const struct rt_output_kind rt_serving_points_kind = {"a table of plans", NULL, NULL};

static void write_number(FILE *file, double value)
{
    if (isfinite(value))
        fprintf(file, ",%.12g", value);
    else
        fputc(',', file);
}

static void write_cut(FILE *file, int64_t servers, const struct rt_engine_cut *cut)
{
    if (servers > 0)
        fprintf(file, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64, servers, cut->tensor,
                cut->pipeline, cut->attention, cut->experts);
    else
        fputs(",0,,,,", file);
}

static void write_row(FILE *file, const struct rt_serving_plan *plan, size_t candidate)
{
    static const int times[] = {RT_PLANNED_TTFT, RT_PLANNED_TPOT, RT_PLANNED_TTFT_HALF, RT_PLANNED_TPOT_HALF};
    const struct rt_serving_candidate *c = &plan->candidate[candidate];
    const struct rt_serving_engine *engine = &plan->engine[c->engine];
    const double *numbers = rt_serving_numbers(plan, candidate);
    bool bounded = c->most_user > 0;
    rt_csv_write(file, plan->request->gpu[engine->gpu].device.name);
    fprintf(file, ",%d,%s,%s", c->gpus, rt_serving_weights_name(plan, candidate),
            rt_serving_cache_name(plan, candidate));
    write_cut(file, c->prefills, &plan->engine[c->prefill].cut);
    write_cut(file, c->engines, &engine->cut);
    fprintf(file, ",%" PRId64 ",%s", rt_serving_users(plan, candidate),
            rt_serving_fates[plan->fate[candidate]]);
    write_number(file, bounded ? c->most_user : NAN);
    write_number(file, bounded ? c->most_gpu : NAN);
    write_number(file, bounded ? c->least_ttft_us / 1e3 : NAN);
    for (size_t t = 0; t < RT_COUNT(times); t++)
        write_number(file, numbers != NULL ? numbers[times[t]] / 1e3 : NAN);
    write_number(file, rt_serving_user_rate(plan, candidate));
    write_number(file, rt_serving_gpu_rate(plan, candidate));
    write_number(file, numbers != NULL ? numbers[RT_PLANNED_REQUESTS] : NAN);
    write_number(file, numbers != NULL ? numbers[RT_PLANNED_GOOD] : NAN);
    write_number(file, numbers != NULL ? numbers[RT_PLANNED_INTERVAL] : NAN);
    write_number(file, rt_serving_price(plan, candidate));
    fputc('\n', file);
}

int rt_serving_write_points(const struct rt_serving_plan *plan, const char *path)
{
    struct rt_new_file file;
    int status = rt_file_create(path, &file);
    if (status != RT_OK)
        return status;
    fputs("gpu,gpus,weights,cache,prefill_servers,prefill_tp,prefill_pp,prefill_attention_dp,prefill_ep,"
          "servers,tp,pp,attention_dp,ep,users,outcome,most_user_tokens_per_s,most_gpu_tokens_per_s,"
          "least_ttft_ms,ttft_ms,tpot_ms,ttft_p50_ms,tpot_p50_ms,user_tokens_per_s,gpu_tokens_per_s,"
          "requests_per_s,good_requests_per_s,half_width_ln,price_per_million\n",
          file.stream);
    for (size_t c = 0; c < plan->candidate_count; c++)
        write_row(file.stream, plan, c);
    return rt_file_finish(&file);
}
