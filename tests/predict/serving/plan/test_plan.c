/* Plans of serving: bounds change no answer, every candidate is counted, more is never worse, the same bytes
 * whatever the threads and after a stop. */
#include "predict/serving/plan/engine.h"
#include "base/random.h"
#include "predict/serving/plan/plan.h"
#include "test.h"

#include <math.h>

static struct rt_predictor pretrained;
static struct rt_model_source llama, mixtral;

static const struct rt_model_source *small_llama(void)
{
    static const char config[] =
        "{\"model_type\": \"llama\", \"hidden_size\": 1024, \"num_hidden_layers\": 8, "
        "\"num_attention_heads\": 8, \"num_key_value_heads\": 4, \"intermediate_size\": 4096, "
        "\"vocab_size\": 32000, \"max_position_embeddings\": 8192, \"torch_dtype\": \"bfloat16\"}";
    static char path[512];
    if (path[0] == '\0') {
        snprintf(path, sizeof path, "%s", rt_test_write("llama.json", config));
        RT_ASSERT_OK(rt_model_source_find(path, &llama));
    }
    return &llama;
}

static const struct rt_model_source *small_experts(void)
{
    static const char config[] =
        "{\"model_type\": \"mixtral\", \"hidden_size\": 1024, \"num_hidden_layers\": 4, "
        "\"num_attention_heads\": 8, \"num_key_value_heads\": 4, \"intermediate_size\": 2048, "
        "\"num_local_experts\": 8, \"num_experts_per_tok\": 2, \"vocab_size\": 32000, "
        "\"max_position_embeddings\": 8192, \"torch_dtype\": \"bfloat16\"}";
    static char path[512];
    if (path[0] == '\0') {
        snprintf(path, sizeof path, "%s", rt_test_write("mixtral.json", config));
        RT_ASSERT_OK(rt_model_source_find(path, &mixtral));
    }
    return &mixtral;
}

enum { NINETY = 1 }; /* of rt_serving_percents */

static void ask_lengths(int64_t least_in, int64_t in, int64_t least_out, int64_t out,
                        struct rt_serving_request *request)
{
    request->load.input = (struct rt_serve_lengths){least_in, in};
    request->load.output = (struct rt_serve_lengths){least_out, out};
    request->load.ramp_us = NAN;
    request->load.think_us = RT_SERVE_THINK_US;
    request->traffic = rt_serving_traffic(&request->load);
}

/* On an H100 with little memory, so that some cuts do not fit. */
static void ask(const struct rt_model_source *source, const char *gpu, struct rt_serving_request *out)
{
    if (pretrained.net_count == 0)
        RT_ASSERT_OK(
            rt_predictor_open(RT_SOURCE_DIR "/models/predictors/pretrained/rooftile.h5", &pretrained));
    *out = (struct rt_serving_request){.source = source,
                                       .predictor = &pretrained,
                                       .gpu_count = 1,
                                       .gpus = {2},
                                       .gpus_count = 1,
                                       .quant = {{RT_BF16, false, 0}},
                                       .quant_count = 1,
                                       .level = {1, 4, 16, 64},
                                       .level_count = 4,
                                       .ttft = {{NAN, NAN, NAN}},
                                       .tpot = {{NAN, NAN, NAN}},
                                       .rate = NAN,
                                       .percentile = NINETY,
                                       .cluster = RT_CLUSTER_NONE,
                                       .server = rt_server_default(),
                                       .link_gbs = NAN,
                                       .move_gbs = NAN,
                                       .confidence = 0.9,
                                       .seed = 1,
                                       .disaggregate = true,
                                       .quiet = true};
    out->gpu[0] = (struct rt_priced_gpu){.asked = gpu, .price = NAN};
    RT_ASSERT_OK(rt_device_find(gpu, &out->gpu[0].device));
    ask_lengths(512, 512, 64, 64, out);
}

static void make(const struct rt_serving_request *request, size_t threads, const char *output,
                 struct rt_serving_plan *plan)
{
    struct rt_threads *pool = rt_threads_new(threads);
    RT_ASSERT_OK(rt_serving_plan_make(request, pool, output, plan));
    rt_threads_free(pool);
}

/* --- cuts --- */

static void test_cuts(void)
{
    const int64_t eight[] = {8}, three[] = {3};
    size_t count, dense;
    struct rt_parallelism *cut =
        rt_serving_cuts(&small_llama()->model, rt_server_default(), eight, 1, &dense);
    CU_ASSERT_EQUAL(dense, 10); /* tp x pp of 1, 2, 4 and 8 GPUs */
    for (size_t c = 0; c < dense; c++) {
        CU_ASSERT_EQUAL(8 % rt_parallelism_gpus(&cut[c]), 0);
        CU_ASSERT(cut[c].attention == 1 && cut[c].expert == 1);
    }
    free(cut);
    cut = rt_serving_cuts(&small_llama()->model, rt_server_default(), three, 1, &count);
    CU_ASSERT_EQUAL(count, 3); /* 1 GPU; tp 3, which the engine refuses; pp 3 */
    CU_ASSERT_STRING_EQUAL(rt_serving_cut_words(&cut[0]).text, "1 GPU");
    CU_ASSERT_STRING_EQUAL(rt_serving_cut_words(&cut[2]).text, "pp 3");
    free(cut);
    cut = rt_serving_cuts(&small_experts()->model, rt_server_default(), eight, 1, &count);
    CU_ASSERT(count > 2 * dense);
    for (size_t c = 0; c < count; c++) {
        CU_ASSERT_EQUAL(cut[c].tensor * cut[c].attention % cut[c].expert, 0);
        CU_ASSERT(cut[c].pipeline <= 4); /* layers */
    }
    free(cut);
}

/* --- every candidate counted --- */

static void count_all(const struct rt_serving_plan *plan)
{
    size_t count, sum = 0, simulated = 0;
    struct rt_serving_reason *reasons = rt_serving_reasons(plan, &count);
    for (size_t r = 0; r < count; r++) {
        sum += reasons[r].candidates;
        CU_ASSERT(isnan(reasons[r].nearest) || reasons[r].nearest > 0);
        CU_ASSERT_PTR_NOT_NULL(reasons[r].words);
    }
    for (size_t c = 0; c < plan->candidate_count; c++) {
        bool judged = plan->fate[c] >= RT_SERVING_MISSED_TTFT;
        simulated += rt_serving_numbers(plan, c) != NULL;
        CU_ASSERT_EQUAL(judged, rt_serving_numbers(plan, c) != NULL);
    }
    CU_ASSERT_EQUAL(sum, plan->candidate_count);
    CU_ASSERT_EQUAL(simulated, plan->found_count);
    free(reasons);
}

/* No plan that meets the targets stands above one of the front of the same GPU. */
static void check_front(const struct rt_serving_plan *plan)
{
    size_t front = 0, covered = 0;
    for (size_t a = 0; a < plan->candidate_count; a++) {
        if (plan->fate[a] != RT_SERVING_FRONT)
            continue;
        front++;
        for (size_t b = 0; b < plan->candidate_count; b++)
            covered +=
                b != a && plan->fate[b] >= RT_SERVING_BEATEN &&
                rt_serving_user_rate(plan, b) >= rt_serving_user_rate(plan, a) &&
                rt_serving_gpu_rate(plan, b) >= rt_serving_gpu_rate(plan, a) &&
                plan->engine[plan->candidate[a].engine].gpu == plan->engine[plan->candidate[b].engine].gpu &&
                (b < a || rt_serving_user_rate(plan, b) > rt_serving_user_rate(plan, a) ||
                 rt_serving_gpu_rate(plan, b) > rt_serving_gpu_rate(plan, a));
    }
    CU_ASSERT(front > 0);
    CU_ASSERT_EQUAL(covered, 0);
}

static void test_all_are_counted(void)
{
    struct rt_serving_request request;
    struct rt_serving_plan plan;
    ask(small_experts(), "H100,memory_gib=2.6", &request);
    request.gpus[0] = 6; /* tp 3 and tp 6 divide no heads */
    request.quant[1] = (struct rt_serving_quant){RT_FP8, false, 8};
    request.quant_count = 2;
    request.ttft.us[NINETY] = 30e3;
    request.tpot.us[NINETY] = 0.7e3;
    make(&request, 2, NULL, &plan);
    size_t of[RT_SERVING_FATES] = {0};
    for (size_t c = 0; c < plan.candidate_count; c++)
        of[plan.fate[c]]++;
    CU_ASSERT(of[RT_SERVING_CUT] > 0 && of[RT_SERVING_CACHE] > 0 && of[RT_SERVING_WEIGHTS] > 0 &&
              of[RT_SERVING_MISSED_TPOT] > 0 && of[RT_SERVING_BELOW] > 0 && of[RT_SERVING_FRONT] > 0);
    count_all(&plan);
    check_front(&plan);
    rt_serving_plan_release(&plan);
}

/* --- bounds --- */

/* The same front, number for number, where every candidate is simulated; and no simulation that meets the
 * target of the first token is better than its bound. */
static size_t compare_exhaustive(struct rt_serving_request *request)
{
    struct rt_serving_plan pruned, all;
    make(request, 1, NULL, &pruned);
    request->exhaustive = true;
    make(request, 1, NULL, &all);
    size_t differ = 0, above = 0;
    CU_ASSERT_EQUAL_FATAL(pruned.candidate_count, all.candidate_count);
    for (size_t c = 0; c < all.candidate_count; c++) {
        const double *ours = rt_serving_numbers(&pruned, c), *theirs = rt_serving_numbers(&all, c);
        bool on = all.fate[c] == RT_SERVING_FRONT;
        differ += on != (pruned.fate[c] == RT_SERVING_FRONT);
        differ += ours != NULL && memcmp(ours, theirs, RT_PLANNED_NUMBERS * sizeof *ours) != 0;
        if (theirs == NULL || rt_serving_target_miss(&request->ttft, theirs + RT_PLANNED_TTFT) > 0)
            continue;
        above += rt_serving_user_rate(&all, c) > all.candidate[c].most_user ||
                 rt_serving_gpu_rate(&all, c) > all.candidate[c].most_gpu ||
                 theirs[RT_PLANNED_TTFT + NINETY] < all.candidate[c].least_ttft_us;
    }
    CU_ASSERT_EQUAL(differ, 0);
    CU_ASSERT_EQUAL(above, 0);
    size_t spared = all.found_count - pruned.found_count;
    CU_ASSERT_EQUAL(rt_serving_best(&pruned, SIZE_MAX, 0), rt_serving_best(&all, SIZE_MAX, 0));
    count_all(&all);
    rt_serving_plan_release(&pruned);
    rt_serving_plan_release(&all);
    return spared;
}

static void test_bounds_change_no_answer(void)
{
    static const char *const backends[] = {"vllm", "sglang", "tensorrt-llm"};
    struct rt_random random;
    size_t spared = 0;
    rt_random_seed(&random, 11, 0);
    for (int round = 0; round < 9; round++) {
        struct rt_serving_request request;
        ask(round % 3 == 2 ? small_experts() : small_llama(), round % 2 ? "H100" : "L4", &request);
        RT_ASSERT_OK(rt_server_find(backends[round % 3], &request.server));
        int64_t isl = 1 + (int64_t)rt_random_below(&random, 2000),
                osl = 2 + (int64_t)rt_random_below(&random, 150);
        ask_lengths(round > 6 ? 1 + isl / 2 : isl, isl, round > 6 ? 1 + osl / 2 : osl, osl, &request);
        if (round % 2 == 0)
            request.ttft.us[NINETY] = 1e4 * exp(4 * rt_random_uniform(&random));
        if (round % 3 == 0)
            request.tpot.us[NINETY] = 1e3 * exp(3 * rt_random_uniform(&random));
        spared += compare_exhaustive(&request);
    }
    CU_ASSERT(spared > 0);
}

static void test_bounds_with_a_rate(void)
{
    for (int round = 0; round < 4; round++) {
        struct rt_serving_request request;
        ask(small_llama(), "L4", &request);
        request.rate = 1.5 * pow(4, round);
        request.requests = 150;
        request.ttft.us[NINETY] = 1e6;
        compare_exhaustive(&request);
    }
}

/* --- more is never worse --- */

static double best_rate(const struct rt_serving_request *request)
{
    struct rt_serving_plan plan;
    make(request, 2, NULL, &plan);
    int64_t best = rt_serving_best(&plan, SIZE_MAX, 0);
    double rate = best >= 0 ? rt_serving_gpu_rate(&plan, (size_t)best) : 0;
    rt_serving_plan_release(&plan);
    return rate;
}

static void test_more_is_never_worse(void)
{
    struct rt_serving_request request;
    ask(small_llama(), "L4", &request);
    request.tpot.us[NINETY] = 8e3;
    double two = best_rate(&request);
    CU_ASSERT(two > 0);
    request.gpus[1] = 4;
    request.gpus_count = 2;
    CU_ASSERT(best_rate(&request) >= two);
    request.gpus_count = 1;
    request.gpu[1] = request.gpu[0];
    request.gpu_count = 2;
    RT_ASSERT_OK(rt_device_find("T4", &request.gpu[1].device));
    CU_ASSERT(best_rate(&request) >= two);
    request.gpu_count = 1;
    double last = two;
    for (int more = 0; more < 3; more++) {
        request.gpu[0].device.bandwidth_gbs *= 1.3;
        double rate = best_rate(&request);
        CU_ASSERT(rate >= last);
        last = rate;
    }
}

/* --- price --- */

static void test_price(void)
{
    struct rt_serving_request request;
    struct rt_serving_plan plan;
    ask(small_llama(), "L4", &request);
    request.gpu[1] = (struct rt_priced_gpu){.asked = "H100", .price = NAN};
    RT_ASSERT_OK(rt_device_find("H100", &request.gpu[1].device));
    request.gpu_count = 2;
    make(&request, 1, NULL, &plan);
    size_t plain = (size_t)rt_serving_best(&plan, SIZE_MAX, 0);
    CU_ASSERT_EQUAL(plan.engine[plan.candidate[plain].engine].gpu, 1);
    CU_ASSERT(isnan(rt_serving_price(&plan, plain)));
    request.gpu[0].price = 0.5;
    request.gpu[1].price = 2.5;
    double price = rt_serving_price(&plan, plain);
    RT_ASSERT_NEAR(price, 2.5 / 3600 * 1e6 / rt_serving_gpu_rate(&plan, plain), 1e-12);
    request.gpu[1].price = 5;
    RT_ASSERT_NEAR(rt_serving_price(&plan, plain), 2 * price, 1e-12);
    request.gpu[1].price = 1e6; /* then the other kind is the cheapest, however slow */
    CU_ASSERT_EQUAL(plan.engine[plan.candidate[rt_serving_best(&plan, SIZE_MAX, 0)].engine].gpu, 0);
    CU_ASSERT_EQUAL(plan.engine[plan.candidate[rt_serving_best(&plan, 1, 0)].engine].gpu, 1);
    rt_serving_plan_release(&plan);
}

/* --- a rate --- */

/* The least number of GPUs that serves it rises with the rate. */
static void test_rate(void)
{
    int64_t last = 0;
    for (int round = 0; round < 5; round++) {
        struct rt_serving_request request;
        struct rt_serving_plan plan;
        ask(small_llama(), "L4", &request);
        request.gpus[0] = 1;
        request.gpus[1] = 2;
        request.gpus[2] = 4;
        request.gpus_count = 3;
        request.disaggregate = false;
        request.requests = 200;
        request.tpot.us[NINETY] = 20e3;
        request.ttft.us[NINETY] = 500e3;
        request.rate = 4 * pow(3, round);
        make(&request, 1, NULL, &plan);
        count_all(&plan);
        int64_t best = rt_serving_best(&plan, SIZE_MAX, 0);
        int64_t gpus = best >= 0 ? plan.candidate[best].gpus : INT64_MAX;
        CU_ASSERT(gpus >= last);
        if (best >= 0) {
            CU_ASSERT_EQUAL(rt_serving_numbers(&plan, (size_t)best)[RT_PLANNED_REQUESTS], request.rate);
            CU_ASSERT(rt_serving_numbers(&plan, (size_t)best)[RT_PLANNED_GOOD] >= 0.8 * request.rate);
        }
        last = gpus;
        rt_serving_plan_release(&plan);
    }
    CU_ASSERT(last > 1);
}

/* --- the same bytes --- */

static char *text_of(const struct rt_serving_plan *plan)
{
    struct rt_report *report = rt_serving_plan_report(plan);
    json_t *json = rt_report_json(report);
    char *text = json_dumps(json, JSON_SORT_KEYS);
    json_decref(json);
    rt_report_free(report);
    return text;
}

static void test_same_bytes(void)
{
    struct rt_serving_request request;
    struct rt_serving_plan one, three, again;
    const char *output = rt_test_path("plans.csv"), *journal = rt_test_path("plans.csv.journal");
    ask(small_experts(), "H100", &request);
    make(&request, 1, NULL, &one);
    make(&request, 3, output, &three);
    char *text = text_of(&one), *other = text_of(&three);
    CU_ASSERT_STRING_EQUAL(text, other);
    free(other);
    CU_ASSERT_EQUAL(three.resumed, 0);
    /* A kill in the middle of a write: half of the rows, and a part of one. */
    long row = (long)(8 + RT_PLANNED_NUMBERS * 8 + 8), kept = (long)three.found_count / 2;
    CU_ASSERT_EQUAL(truncate(journal, 48 + kept * row + 20), 0);
    make(&request, 2, output, &again);
    CU_ASSERT_EQUAL((long)again.resumed, kept);
    again.resumed = 0;
    other = text_of(&again);
    CU_ASSERT_STRING_EQUAL(text, other);
    free(other);
    free(text);
    request.seed = 2;
    struct rt_serving_plan refused;
    RT_ASSERT_FAILS(rt_serving_plan_make(&request, NULL, output, &refused), RT_EUSAGE,
                    "is of another plan that did not end");
    rt_serving_plan_release(&refused);
    rt_serving_plan_release(&one);
    rt_serving_plan_release(&three);
    rt_serving_plan_release(&again);
}

/* --- what fits nowhere --- */

static void test_fits_nowhere(void)
{
    struct rt_serving_request request;
    struct rt_serving_plan plan;
    ask(small_llama(), "H100,memory_gib=2.35", &request);
    RT_ASSERT_FAILS(rt_serving_plan_make(&request, NULL, NULL, &plan), RT_EUSAGE, "fits on no cut of 2 GPUs");
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), "what would fit: gpus "));
    CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), ", or gpu \""));
    rt_serving_plan_release(&plan);
    ask(small_llama(), "A100-40", &request);
    request.quant[0].dtype = RT_FP8;
    RT_ASSERT_FAILS(rt_serving_plan_make(&request, NULL, NULL, &plan), RT_EUSAGE, "has no units for fp8");
    rt_serving_plan_release(&plan);
}

RT_TESTS(RT_TEST(test_cuts), RT_TEST(test_all_are_counted), RT_TEST(test_bounds_change_no_answer),
         RT_TEST(test_bounds_with_a_rate), RT_TEST(test_more_is_never_worse), RT_TEST(test_price),
         RT_TEST(test_rate), RT_TEST(test_same_bytes), RT_TEST(test_fits_nowhere))
