/* Plans of training: bounds change no answer and no forecast beats its bound; every candidate is counted; a
 * candidate is forecast as `rooftile predict` would; the same whatever the threads. */
#include "predict/search/train/plan.h"
#include "base/random.h"
#include "predict/step/forecast_graphs.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct rt_predictor pretrained;
static struct rt_model_source small, experts;

static const struct rt_model_source *source_of(struct rt_model_source *source, const char *name,
                                               const char *config)
{
    if (source->spec == NULL)
        RT_ASSERT_OK(rt_model_source_find(rt_strdup(rt_test_write(name, config)), source));
    return source;
}

static const struct rt_model_source *small_llama(void)
{
    return source_of(
        &small, "llama.json",
        "{\"model_type\": \"llama\", \"hidden_size\": 1024, \"num_hidden_layers\": 8, "
        "\"num_attention_heads\": 8, \"num_key_value_heads\": 4, \"intermediate_size\": 4096, "
        "\"vocab_size\": 32000, \"max_position_embeddings\": 8192, \"torch_dtype\": \"bfloat16\"}");
}

static const struct rt_model_source *small_experts(void)
{
    return source_of(&experts, "mixtral.json",
                     "{\"model_type\": \"mixtral\", \"hidden_size\": 1024, \"num_hidden_layers\": 4, "
                     "\"num_attention_heads\": 8, \"num_key_value_heads\": 4, \"intermediate_size\": 2048, "
                     "\"num_local_experts\": 8, \"num_experts_per_tok\": 2, \"vocab_size\": 32000, "
                     "\"max_position_embeddings\": 8192, \"torch_dtype\": \"bfloat16\"}");
}

/* On GPUs with so little memory that some cuts do not fit. */
static void ask(const char *gpu, struct rt_training_request *out)
{
    if (pretrained.net_count == 0)
        RT_ASSERT_OK(
            rt_predictor_open(RT_SOURCE_DIR "/models/predictors/pretrained/rooftile.h5", &pretrained));
    *out = (struct rt_training_request){.source = small_llama(),
                                        .predictor = &pretrained,
                                        .step = RT_STEP_NOT_GIVEN,
                                        .gpu_count = 1,
                                        .gpus = {4, 8},
                                        .gpus_count = 2,
                                        .budget = {NAN, NAN, NAN},
                                        .strong = true,
                                        .quiet = true};
    out->step.mode = RT_STEP_TRAINING;
    out->step.runtime = RT_RUNTIME_MEGATRON;
    out->step.dtype = RT_BF16;
    out->step.batch = 32;
    out->step.sequence = 2048;
    out->step.run.tokens = 1e9;
    out->gpu[0] = (struct rt_priced_gpu){.asked = gpu, .price = 2};
    RT_ASSERT_OK(rt_device_find(gpu, &out->gpu[0].device));
}

static void make(const struct rt_training_request *request, struct rt_training_plan *plan)
{
    RT_ASSERT_OK(rt_training_plan_make(request, NULL, NULL, plan));
}

static void check_same_best(const struct rt_training_plan *a, const struct rt_training_plan *b)
{
    CU_ASSERT_EQUAL_FATAL(a->cell_count, b->cell_count);
    for (size_t i = 0; i < a->cell_count; i++)
        for (int cost = 0; cost < RT_COSTS; cost++) {
            CU_ASSERT_EQUAL_FATAL(a->cell[i].best_count[cost], b->cell[i].best_count[cost]);
            for (size_t k = 0; k < a->cell[i].best_count[cost]; k++)
                CU_ASSERT_EQUAL(a->cell[i].best[cost][k], b->cell[i].best[cost][k]);
        }
    for (int cost = 0; cost < RT_COSTS; cost++)
        CU_ASSERT_EQUAL(rt_training_best(a, cost), rt_training_best(b, cost));
}

/* Forecasts, pruned and all. */
static void check_pruned(struct rt_training_request *request, size_t forecasts[2])
{
    struct rt_training_plan pruned, all;
    make(request, &pruned);
    request->exhaustive = true;
    make(request, &all);
    check_same_best(&pruned, &all);
    forecasts[0] += pruned.forecast_count;
    forecasts[1] += all.forecast_count;
    rt_training_plan_release(&pruned);
    rt_training_plan_release(&all);
}

/* Of all candidates that fit, forecast one by one. */
static void test_bounds_change_no_answer(void)
{
    static const enum rt_runtime_id runtimes[] = {RT_RUNTIME_MEGATRON, RT_RUNTIME_FSDP, RT_RUNTIME_NANOTRON,
                                                  RT_RUNTIME_TORCHTITAN, RT_RUNTIME_DEEPSPEED};
    size_t forecasts[2] = {0, 0};
    for (size_t r = 0; r < RT_COUNT(runtimes); r++) {
        struct rt_training_request request;
        ask("H100,memory_gib=14", &request);
        request.step.runtime = (int)runtimes[r];
        if (r % 2 == 1)
            request.source = small_experts();
        check_pruned(&request, forecasts);
    }
    CU_ASSERT(forecasts[0] < forecasts[1]);
}

/* Tokens are exchanged beside other micro batches where a cut lets them: where layers run once, and a
 * pipeline has chunks. What is found is no slower, and launched so. */
static void test_exchanges_beside(void)
{
    struct rt_training_request request;
    struct rt_training_plan apart, beside;
    size_t forecasts[2] = {0, 0}, exchanged = 0;
    ask("H100", &request);
    request.source = small_experts();
    request.step.batch = 64;
    make(&request, &apart);
    request.step.parallel.expert_overlap = true;
    make(&request, &beside);
    for (size_t i = 0; i < beside.candidate_count; i++) {
        const struct rt_training_candidate *c = &beside.candidate[i];
        struct rt_step step = rt_training_step(&beside, c);
        bool chunks = c->value[RT_AXIS_PP] == 1 || c->value[RT_AXIS_VP] > 1;
        exchanged += step.parallel.expert_overlap;
        CU_ASSERT(!step.parallel.expert_overlap ||
                  (chunks && c->value[RT_AXIS_EP] > 1 && c->value[RT_AXIS_RECOMPUTE] != RT_RECOMPUTE_LAYERS));
        CU_ASSERT(isnan(c->time_us) || isnan(apart.candidate[i].time_us) ||
                  c->time_us <= apart.candidate[i].time_us * (1 + 1e-9));
        char *launch = c->fate == RT_TRAINING_BEST ? rt_training_launch(&beside, c) : NULL;
        CU_ASSERT(launch == NULL || step.parallel.expert_overlap ==
                                        (strstr(launch, "--overlap-moe-expert-parallel-comm") != NULL));
        free(launch);
    }
    CU_ASSERT(exchanged > 0);
    rt_training_plan_release(&apart);
    rt_training_plan_release(&beside);
    check_pruned(&request, forecasts);
}

/* Budgets of joules between the least and the fastest's: the fastest that keeps to one, of all candidates. */
static void test_budget_of_joules(void)
{
    struct rt_training_request request;
    struct rt_training_plan all, plan;
    ask("H100", &request);
    request.gpus_count = 1;
    request.exhaustive = true;
    make(&request, &all);
    double least = all.candidate[rt_training_best(&all, RT_COST_JOULES)].joules,
           most = all.candidate[rt_training_best(&all, RT_COST_HOURS)].joules;
    request.exhaustive = false;
    for (int part = 0; part <= 8; part++) {
        double joules = least * (1 + 1e-9) + part / 8.0 * (1.5 * most - least), fastest = INFINITY;
        for (size_t i = 0; i < all.candidate_count; i++)
            if (all.candidate[i].joules <= joules)
                fastest = fmin(fastest, all.candidate[i].time_us);
        request.budget[RT_COST_JOULES] = joules * 1e9 / (32 * 2048);
        make(&request, &plan);
        int64_t best = rt_training_best(&plan, RT_COST_HOURS);
        CU_ASSERT_FATAL(best >= 0);
        RT_ASSERT_NEAR(plan.candidate[best].time_us, fastest, 1e-9);
        rt_training_plan_release(&plan);
    }
    rt_training_plan_release(&all);
}

static void check_bounds(const struct rt_model_source *source)
{
    struct rt_training_request request;
    struct rt_training_plan plan;
    ask("H100,memory_gib=14", &request);
    request.source = source;
    request.exhaustive = true;
    make(&request, &plan);
    size_t misfits = 0, found = 0;
    for (size_t i = 0; i < plan.candidate_count; i++) {
        const struct rt_training_candidate *c = &plan.candidate[i];
        misfits += c->fate == RT_TRAINING_MEMORY;
        if (isnan(c->time_us))
            continue;
        found++;
        CU_ASSERT(c->bound_us <= c->time_us);
        CU_ASSERT(fmax(rt_training_state_bytes(&plan, c), rt_training_saved_bytes(&plan, c)) <=
                  c->memory_bytes);
        CU_ASSERT(c->mfu > 0 && c->mfu <= c->hfu && c->hfu < 1);
        CU_ASSERT(c->exposed >= 0 && c->bubble >= 0 && c->exposed + c->bubble < 1);
        double gpus = (double)plan.cell[c->cell].gpus, watts = 1e6 * c->joules / c->time_us / gpus;
        CU_ASSERT(watts > 50 && watts < 700); /* of each */
        CU_ASSERT(rt_training_least_joules(&plan, c) <= c->joules);
    }
    CU_ASSERT(found > 100);
    CU_ASSERT(misfits > 0);
    rt_training_plan_release(&plan);
}

static void test_nothing_beats_its_bound(void)
{
    check_bounds(small_llama());
    check_bounds(small_experts());
}

static void check_as_predict(const struct rt_model_source *source, enum rt_runtime_id runtime)
{
    struct rt_training_request request;
    struct rt_training_plan plan;
    struct rt_random random;
    ask("H100", &request);
    request.source = source;
    request.step.runtime = (int)runtime;
    request.step.parallel.cluster.node_gpus = 4;
    request.exhaustive = true;
    make(&request, &plan);
    rt_random_seed(&random, 7, 0);
    for (int trial = 0; trial < 40; trial++) {
        const struct rt_training_candidate *c =
            &plan.candidate[rt_random_below(&random, plan.candidate_count)];
        struct rt_prediction prediction = {.refused = NULL};
        struct rt_forecast forecast;
        struct rt_step step = rt_training_step(&plan, c);
        if (c->fate == RT_TRAINING_CUT || !plan.shape[c->shape].timed)
            continue;
        step.wants = RT_WANT_MEMORY;
        RT_ASSERT_OK(rt_prediction_begin(&step, request.source, &request.gpu[0].device, &prediction));
        struct rt_forecast_options options = rt_prediction_how(&prediction);
        RT_ASSERT_OK(rt_forecast_graph(&prediction.graph, &pretrained, &prediction.device, &options,
                                       &prediction.forecast));
        RT_ASSERT_OK(rt_training_forecast(&plan, c, false, &forecast));
        CU_ASSERT_EQUAL(rt_forecast_fits(&forecast), rt_forecast_fits(&prediction.forecast));
        if (rt_forecast_fits(&forecast))
            RT_ASSERT_NEAR(forecast.total_us, prediction.forecast.total_us, 1e-5);
        if (!isnan(c->time_us)) {
            CU_ASSERT_EQUAL(c->time_us, forecast.total_us);
            CU_ASSERT_DOUBLE_EQUAL(c->memory_bytes, prediction.forecast.taken.used, 1);
        }
        rt_forecast_release(&forecast);
        rt_prediction_release(&prediction);
    }
    rt_training_plan_release(&plan);
}

static void test_as_predict(void)
{
    check_as_predict(small_llama(), RT_RUNTIME_MEGATRON);
    check_as_predict(small_experts(), RT_RUNTIME_MEGATRON);
    check_as_predict(small_llama(), RT_RUNTIME_FSDP);
    check_as_predict(small_llama(), RT_RUNTIME_NANOTRON);
}

static void test_threads(void)
{
    struct rt_training_request request;
    struct rt_training_plan one, three;
    struct rt_threads *pool = rt_threads_new(3);
    ask("H100,memory_gib=14", &request);
    make(&request, &one);
    RT_ASSERT_OK(rt_training_plan_make(&request, pool, NULL, &three));
    check_same_best(&one, &three);
    for (size_t i = 0; i < one.candidate_count; i++) {
        CU_ASSERT_EQUAL(one.candidate[i].fate, three.candidate[i].fate);
        CU_ASSERT(isnan(one.candidate[i].time_us) ? isnan(three.candidate[i].time_us)
                                                  : one.candidate[i].time_us == three.candidate[i].time_us);
    }
    rt_training_plan_release(&one);
    rt_training_plan_release(&three);
    rt_threads_free(pool);
}

/* Days, money and joules of a run are those of its steps. */
static void test_costs(void)
{
    struct rt_training_request request;
    struct rt_training_plan plan;
    ask("H100", &request);
    make(&request, &plan);
    int64_t best = rt_training_best(&plan, RT_COST_HOURS), cheapest = rt_training_best(&plan, RT_COST_MONEY);
    const struct rt_training_candidate *c = &plan.candidate[best];
    double steps = 1e9 / (32 * 2048), hours = steps * c->time_us / 3.6e9;
    CU_ASSERT_DOUBLE_EQUAL(rt_training_cost(&plan, (uint32_t)best, RT_COST_HOURS), hours, 1e-9 * hours);
    CU_ASSERT_DOUBLE_EQUAL(rt_training_cost(&plan, (uint32_t)best, RT_COST_MONEY),
                           2 * hours * (double)plan.cell[c->cell].gpus, 1e-9 * hours);
    CU_ASSERT_DOUBLE_EQUAL(rt_training_cost(&plan, (uint32_t)best, RT_COST_JOULES), steps * c->joules,
                           1e-9 * steps * c->joules);
    CU_ASSERT(rt_training_cost(&plan, (uint32_t)cheapest, RT_COST_MONEY) <=
              rt_training_cost(&plan, (uint32_t)best, RT_COST_MONEY));
    /* A budget that only the cheapest keeps to. */
    request.budget[RT_COST_MONEY] = rt_training_cost(&plan, (uint32_t)cheapest, RT_COST_MONEY);
    CU_ASSERT_EQUAL(rt_training_best(&plan, RT_COST_HOURS), cheapest);
    request.budget[RT_COST_MONEY] /= 2;
    CU_ASSERT_EQUAL(rt_training_best(&plan, RT_COST_HOURS), -1);
    rt_training_plan_release(&plan);
}

/* Twice the GPUs at the same batch never take longer. */
static void test_more_gpus(void)
{
    struct rt_training_request request;
    struct rt_training_plan plan;
    ask("H100", &request);
    request.gpus_count = 4;
    for (int n = 0; n < 4; n++)
        request.gpus[n] = 2 << n;
    make(&request, &plan);
    for (size_t i = 1; i < plan.cell_count; i++)
        CU_ASSERT(plan.candidate[plan.cell[i].best[RT_COST_HOURS][0]].time_us <=
                  plan.candidate[plan.cell[i - 1].best[RT_COST_HOURS][0]].time_us);
    rt_training_plan_release(&plan);
}

static void test_refusals(void)
{
    struct rt_training_request request;
    struct rt_training_plan plan;
    ask("H100,memory_gib=3", &request);
    request.gpus_count = 1;
    request.gpus[0] = 1;
    RT_ASSERT_FAILS(rt_training_plan_make(&request, NULL, NULL, &plan), RT_EUSAGE, "what would fit: gpus");
    rt_training_plan_release(&plan);
    ask("H100", &request);
    request.axis[RT_AXIS_TP] = (struct rt_training_values){{3}, 1};
    RT_ASSERT_FAILS(rt_training_plan_make(&request, NULL, NULL, &plan), RT_EUSAGE, "tp 3: divides none");
    rt_training_plan_release(&plan);
}

RT_TESTS(RT_TEST(test_bounds_change_no_answer), RT_TEST(test_nothing_beats_its_bound),
         RT_TEST(test_as_predict), RT_TEST(test_threads), RT_TEST(test_costs), RT_TEST(test_more_gpus),
         RT_TEST(test_exchanges_beside), RT_TEST(test_budget_of_joules), RT_TEST(test_refusals))
