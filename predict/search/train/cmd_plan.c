/* `rooftile plan`: how many of which GPU serve a model within a target, or train it. */
#include "base/point_journal.h"
#include "base/status.h"
#include "base/text.h"
#include "models/networks/step_options.h"
#include "models/networks/source.h"
#include "predict/search/train/command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_GPUS = 1 << 20 };

struct arguments {
    struct rt_plan_arguments shared;
    struct rt_serving_arguments serving;
    struct rt_training_arguments training;
    bool train;
};

static int read_counts(const char *option, const char *text, void *value)
{
    static const struct rt_range_kind kind = {"number of GPUs", "numbers of GPUs",
                                              "give numbers such as 8,16", "a number of GPUs is 1 to 1048576",
                                              MOST_GPUS};
    return rt_rising_numbers_read(option, text, &kind, RT_SERVING_COUNTS, value);
}

static void suggest_recomputes(struct rt_text *list)
{
    for (int i = 0; i < RT_RECOMPUTE_COUNT; i++)
        rt_text_item(list, "\n", "%s", rt_recomputes[i]);
}

#define DEGREE(axis) RT_OWN(struct arguments, training.degree[axis], rt_training_degrees_read)

/* clang-format off */
static const struct rt_option options[] = {
    {"model", 'm', "NAME",
     RT_TEXT(struct arguments, shared.model,
             .required = "say which model: --model config.json, or a name (`rooftile graph --list`)",
             .reads = rt_model_reads, .suggests = rt_model_suggest),
     "A Hugging Face config.json, or a model of the zoo"},
    RT_STEP_AS_OPTION(struct arguments, shared.as),
    {"gpu", 0, "NAME",
     RT_ITEMS(struct arguments, shared.gpus, .specs = true, .once = true,
              .required = "say which GPUs may be had: --gpu NAME (`rooftile devices` lists them)",
              .reads = rt_device_reads, .suggests = rt_device_suggest),
     "GPUs that may be had, of the catalogue or device files, with overrides as in `predict`: H100,L4"},
    {"gpus", 0, "N,N,...", RT_OWN(struct arguments, shared.counts, read_counts),
     "How many GPUs of one kind may be had (default: 8; of training within a budget 8 to 16384, powers of two)"},
    {"price", 0, "GPU=X", RT_LIST(struct arguments, shared.prices),
     "What an hour of one such GPU costs, in any currency: the best plan is then the cheapest"},
    RT_PREDICTOR_OPTION(struct arguments, shared.predictor),
    RT_HEADING("Serving: traffic and target:"),
    {"isl", 0, "N[:N]", RT_OWN(struct arguments, serving.isl, rt_serving_lengths_read, .also = "input prompt"),
     "Tokens of a prompt: all alike, or even between two lengths; must be given"},
    {"osl", 0, "N[:N]", RT_OWN(struct arguments, serving.osl, rt_serving_lengths_read, .also = "output"),
     "Tokens of an answer, likewise; must be given"},
    {"range-ratio", 0, "R", RT_NUMBER(struct arguments, serving.range_ratio, 0, 1),
     "Ratio: lengths even between R x --isl and --isl, and likewise of --osl, as in `simulate`"},
    {"prefix-share", 0, "PERCENT", RT_NUMBER(struct arguments, serving.prefix_percent, 0, 100),
     "Of every prompt, that all have in common, as a system's prompt"},
    {"requests-from", 0, "FILE", RT_TEXT(struct arguments, serving.trace, .reads = rt_reads_path),
     "Requests as they came, in place of --isl and --osl: what `simulate` takes as --trace"},
    {"image", 0, "N", RT_INTEGER(struct arguments, serving.image, 1, RT_MOST_PIXELS),
     "Side in pixels of the images of a prompt, beside its --isl tokens of text (models with a tower of images)"},
    {"images", 0, "N", RT_INTEGER(struct arguments, serving.images, 1, RT_MOST_PROMPT_IMAGES),
     "Images of a prompt (default: 1 with --image)"},
    {"ttft", 0, "MS[@P],...", RT_OWN(struct arguments, serving.ttft, rt_serving_times_read),
     "The first token is to come within so many ms, or 0.5s, for P percent of requests: 500@50,2s@99 (default: any "
     "time; without P that of --percentile)"},
    {"tpot", 0, "MS[@P],...", RT_OWN(struct arguments, serving.tpot, rt_serving_times_read),
     "Each further token is to come within so many ms, in the mean of a request, likewise"},
    {"percentile", 0, "P", RT_CHOICE(struct arguments, serving.percentile, rt_serving_percentiles),
     "Of requests that times are shown for, and targets hold for: 50, 90 or 99"},
    {"rate", 0, "X", RT_NUMBER(struct arguments, serving.rate, 1e-6, 1e9, .also = "qps request-rate"),
     "Requests that come a second (Poisson): how many GPUs do (default: each server has as many users as is best)"},
    {"headroom", 0, "PERCENT", RT_NUMBER(struct arguments, serving.headroom_percent, 0, 1e4),
     "So many percent more requests than come are to be served: of a peak"},
    {"spare", 0, "N", RT_INTEGER(struct arguments, serving.spare, 0, 64),
     "Replicas of each kind of server that may be lost while the others serve what comes"},
    {"think", 0, "TIME", RT_SECONDS(struct arguments, serving.think_us, 0, 1e6),
     "Mean time between an answer and its user's next request, such as 2s (default 0.02s)"},
    {"ramp", 0, "TIME", RT_SECONDS(struct arguments, serving.ramp_us, 0, 1e6),
     "Users begin within this time and end with the last request, as benchmarks do with 0s (default: a load that "
     "lasts); all candidates are simulated"},
    {"risk", 0, "P", RT_NUMBER(struct arguments, serving.risk, 0.5, 0.99),
     "Targets are to hold with this probability, such as 0.9: at the end of the forecast's interval that times stay "
     "below so often (default: as forecast)"},
    RT_HEADING("Serving: what is tried:"),
    {"quantisation", 0, "NAME,...", RT_ITEMS(struct arguments, serving.quants, .suggests = rt_dtype_suggest),
     "Of weights: bf16, fp8, fp8_block, int8, int4, fp4 ... (default: the model's own, and of 16 bits fp8, of models "
     "with experts fp8_block, and fp4 where a GPU has units for it)"},
    {"kv-cache", 0, "NAME,...", RT_ITEMS(struct arguments, serving.caches),
     "Of cached keys and values: bf16 (or fp16), fp8 (default: both)"},
    {"users", 0, "N,N,...", RT_OWN(struct arguments, serving.users, rt_serving_users_read),
     "Users at once of one server (default: 1 to 512, powers of two and what is halfway between)"},
    {"no-disaggregation", 0, NULL, RT_FLAG(struct arguments, serving.together),
     "Every server prefills and decodes: no servers that do one of the two alone"},
    {"draft", 0, "MODEL",
     RT_TEXT(struct arguments, serving.draft, .reads = rt_model_reads, .suggests = rt_model_suggest),
     "Every server decodes speculatively: a model that proposes tokens, or mtp, as in `simulate`"},
    {"draft-tokens", 0, "N", RT_INTEGER(struct arguments, serving.drafted, 1, 64),
     "Tokens that the draft proposes before each check (default 5)"},
    {"accepted", 0, "X", RT_NUMBER(struct arguments, serving.accepted, 1, 65),
     "Tokens that a check makes of a sequence in the mean: 1 to 1 + --draft-tokens"},
    RT_HEADING("Serving: how:"),
    {"server", 0, "NAME",
     RT_OWN(struct arguments, serving.server, rt_server_argument, .suggests = rt_server_suggest),
     "Whose scheduler and host: " RT_SERVER_NAMES
     " (default: vllm); what it chooses by the GPU follows from it"},
    {"transfer-gbs", 0, "X", RT_NUMBER(struct arguments, serving.move_gbs, 1e-3, 1e6),
     "What a GPU sends between servers that prefill and servers that decode, 10^9 bytes/s one way (default: the GPU's link)"},
    {"requests", 0, "N", RT_INTEGER(struct arguments, serving.requests, 1, 1000000),
     "Simulated requests for each user, or with --rate in all (default: 9 and 1000)"},
    {"seed", 0, "N", RT_INTEGER(struct arguments, serving.seed, 0, INT64_MAX), "Seed of the simulations"},
    RT_HEADING("Training:"),
    {"train", 0, NULL, RT_FLAG(struct arguments, train), "Plan training instead of serving"},
    {"batch", 'b', "N", RT_INTEGER(struct arguments, training.step.batch, 1, INT32_MAX),
     "Sequences of a step, over all GPUs; must be given"},
    {"seq", 's', "N", RT_INTEGER(struct arguments, training.step.sequence, 1, INT32_MAX),
     "Tokens of a sequence (default: the model's positions, at most 1024)"},
    RT_STEP_RUN_OPTIONS(struct arguments, training.step),
    {"max-hours", 0, "H", RT_NUMBER(struct arguments, training.budget[RT_COST_HOURS], 1e-3, 1e9),
     "The run may take so many hours"},
    {"max-money", 0, "MONEY", RT_NUMBER(struct arguments, training.budget[RT_COST_MONEY], 1e-3, 1e15),
     "The run may cost so much, in the currency of --price"},
    {"max-joules", 0, "J", RT_NUMBER(struct arguments, training.budget[RT_COST_JOULES], 1e-3, 1e21),
     "The run's GPUs may take so many joules (1 MWh is 3.6e9)"},
    {"runtime", 0, "NAME", RT_CHOICE(struct arguments, training.step.runtime, rt_runtime_names),
     "What trains: megatron, megatron-bridge, megatron-2021, torchtitan, nanotron, fsdp, deepspeed, eager or compile "
     "(default: megatron)"},
    {"dtype", 0, "NAME",
     RT_OWN(struct arguments, training.step.dtype, rt_read_dtype, .suggests = rt_dtype_suggest),
     "Element type of weights and activations, as in `predict`: bf16, fp16, fp8 ... (default: the checkpoint's)"},
    {"optimizer", 0, "NAME", RT_CHOICE(struct arguments, training.step.optimizer, rt_optimizers),
     "Its step: none, sgd, adamw, momentum or adamw-cpu (default: adamw)"},
    {"schedule", 0, "NAME",
     RT_CHOICE(struct arguments, training.step.parallel.schedule, rt_pipeline_schedules),
     "Of pipelines: 1f1b, gpipe or zero-bubble (default: 1f1b)"},
    {"attention", 0, "LIBRARY", RT_CHOICE(struct arguments, training.step.attention, rt_attention_libraries),
     "Whose kernels attention runs, as in `predict` (default: own, the runtime's)"},
    {"lora", 0, "RANK", RT_INTEGER(struct arguments, training.step.lora, 1, 65536),
     "Adapters of this rank alone are trained, as in `predict`"},
    {"tp-overlap", 0, NULL, RT_FLAG(struct arguments, training.step.parallel.tensor_overlap),
     "Gathers and scatters of tensor-parallel GPUs run beside products (default: nanotron's do)"},
    {"expert-overlap", 0, NULL, RT_FLAG(struct arguments, training.step.parallel.expert_overlap),
     "Tokens are exchanged beside another micro batch wherever a cut lets megatron do so: no layer runs again, "
     "pipelines have chunks"},
    {"cuda-graphs", 0, "WHAT", RT_CHOICE(struct arguments, training.step.cuda_graphs, rt_cuda_graphs),
     "What megatron captures, as in `predict`: none, router, layers or step (default: none)"},
    {"host", 0, "NAME",
     RT_TEXT(struct arguments, training.step.host, .reads = rt_host_reads, .suggests = rt_host_suggest),
     "What launches, as in `predict`"},
    RT_HEADING("Training: what is tried (default: all that can be):"),
    {"tp", 0, "N,...", DEGREE(RT_AXIS_TP), "Tensor-parallel degrees (default: those within a server)"},
    {"pp", 0, "N,...", DEGREE(RT_AXIS_PP), "Pipeline stages"},
    {"vp", 0, "N,...", DEGREE(RT_AXIS_VP), "Chunks of layers on each stage, interleaved"},
    {"dp", 0, "N,...", DEGREE(RT_AXIS_DP), "Data-parallel degrees"},
    {"cp", 0, "N,...", DEGREE(RT_AXIS_CP),
     "Context-parallel GPUs, which share out the tokens of a sequence (default: 1,2,4,... with 1024 tokens each)"},
    {"ep", 0, "N,...", DEGREE(RT_AXIS_EP), "GPUs that share out whole experts"},
    {"micro-batch", 0, "N,...", DEGREE(RT_AXIS_MICRO_BATCH), "Sequences of a micro batch (default: 1 to 64)"},
    {"shard", 0, "WHAT,...|I/N", RT_ITEMS(struct arguments, training.shards, .suggests = rt_shard_suggest),
     "What data-parallel GPUs share out: none, optimizer, gradients, parameters (default: what the runtime knows). I/N,"
     " also of serving: make part I of N of the work alone and keep it beside --csv; the same command without it reads "
     "all parts, makes what is missing and writes the outputs"},
    {"shard-gpus", 0, "N,...", DEGREE(RT_AXIS_SHARD_GPUS),
     "How many of the data-parallel GPUs share it out, copies beside them (default: all)"},
    {"recompute", 0, "WHAT,...",
     RT_ITEMS(struct arguments, training.recomputes, .suggests = suggest_recomputes),
     "What runs again in the backward pass: none, layers, selective (attention), norms (and experts' activations), "
     "experts (and these), latent (what makes its heads); by default the first four"},
    RT_HEADING("GPUs' links:"),
    {"fabric", 0, "NAME", RT_CHOICE(struct arguments, shared.fabric, rt_fabrics),
     "What joins the GPUs: switch, mesh, pairs, pcie, pcie-peer or pcie-host; own: as the GPU's description has it"},
    {"link-gbs", 0, "X", RT_NUMBER(struct arguments, shared.link_gbs, 1e-3, 1e6),
     "What a GPU sends to others, 10^9 bytes/s one way (default: by the GPU's description)"},
    RT_HEADING("Servers and what joins them:"),
    RT_STEP_CLUSTER_OPTIONS(struct arguments, training.step),
    RT_HEADING("Search:"),
    {"exhaustive", 0, NULL, RT_FLAG(struct arguments, shared.exhaustive),
     "Simulate (training: forecast) every candidate that fits, also those that bounds rule out: slow"},
    {"fallback", 0, NULL, RT_FLAG(struct arguments, shared.fallback),
     "Take the roofline where the predictor has no network for an op"},
    {"threads", 't', "N", RT_INTEGER(struct arguments, shared.threads, 1, RT_THREADS_MAX),
     "Threads (default: all processors); they change no byte of the results"},
    RT_HEADING("Output:"),
    {"interval", 0, "LEVEL", RT_NUMBER(struct arguments, shared.confidence, 0, 0.99),
     "Level of the intervals; 0: none"},
    {"csv", 0, "PLANS.csv",
     RT_TEXT(struct arguments, shared.csv, .check = rt_output_check_csv, .writes = &rt_serving_points_kind),
     "All candidates as CSV; what is simulated or forecast is kept beside it while the search runs"},
    {"compose", 0, "FILE.yaml", RT_TEXT(struct arguments, shared.compose, .writes = &rt_serving_compose_kind),
     "serving: also write the best plan's servers as a compose file for Docker"},
    {"trace", 0, "FILE", RT_TEXT(struct arguments, training.trace, .writes = &rt_trace_kind),
     "training: also write a timeline of the fastest step that Perfetto (ui.perfetto.dev) opens"},
    RT_REPORT_OPTION(struct arguments, shared.reports),
    {"overwrite", 0, NULL, RT_FLAG(struct arguments, shared.overwrite),
     "Replace outputs that are there already"},
    {"json", 'j', NULL, RT_FLAG(struct arguments, shared.json), "Print JSON instead of text"},
    {"quiet", 'q', NULL, RT_FLAG(struct arguments, shared.quiet), "No progress"},
};
/* clang-format on */

static void set_defaults(void *value)
{
    struct arguments *arguments = value;
    arguments->shared = (struct rt_plan_arguments){
        .predictor = "pretrained", .counts = {{8}, 1}, .confidence = 0.9, .link_gbs = NAN};
    rt_serving_arguments_init(&arguments->serving);
    rt_training_arguments_init(&arguments->training);
}

/* Options under headings of the other half, and its output. */
static int check_half(const struct rt_command_line *line)
{
    const struct arguments *arguments = line->options;
    const char *other = arguments->train ? "Serving" : "Training",
               *output = arguments->train ? "compose" : "trace",
               *given = rt_given(line, output) ? output : NULL, *heading = "";
    for (size_t i = 0; i < RT_COUNT(options) && given == NULL; i++) {
        if (options[i].name == NULL)
            heading = options[i].help;
        else if (strncmp(heading, other, strlen(other)) == 0 && strcmp(options[i].name, "train") != 0 &&
                 strcmp(options[i].name, "shard") != 0 && rt_given(line, options[i].name))
            given = options[i].name;
    }
    if (given != NULL)
        return rt_fail(RT_EUSAGE, "--%s is for plans of %s", given,
                       arguments->train ? "serving; leave out --train" : "training; add --train");
    if (rt_given(line, "risk") && rt_given(line, "interval"))
        return rt_fail(RT_EUSAGE, "--risk says how wide intervals are: leave out --interval");
    if (rt_given(line, "rate") && rt_given(line, "users"))
        return rt_fail(RT_EUSAGE, "--users and --rate exclude each other: requests that come at a rate are "
                                  "as many at once as they are");
    return RT_OK;
}

/* A shard of the work among what GPUs share out. */
static int take_part(struct arguments *arguments)
{
    struct rt_names *shards = &arguments->training.shards;
    size_t kept = 0;
    int status = RT_OK;
    for (size_t i = 0; i < shards->count; i++) {
        if (strchr(shards->name[i], '/') == NULL) {
            shards->name[kept++] = shards->name[i];
            continue;
        }
        if (status == RT_OK)
            status = rt_read_shard(NULL, "--shard", shards->name[i], &arguments->shared.shard);
        free((void *)shards->name[i]); /* rt_names owns it */
    }
    shards->count = kept;
    if (status == RT_OK && kept > 0 && !arguments->train)
        return rt_fail(RT_EUSAGE, "--shard %s is for plans of training; add --train", shards->name[0]);
    return status;
}

static int run(const struct rt_command_line *line)
{
    static const char *const of_all[] = {"report", "json", "compose", "trace", NULL};
    struct arguments *arguments = line->options;
    struct rt_model_source source;
    int status = rt_outputs_check(line);
    if (status == RT_OK)
        status = take_part(arguments);
    if (status == RT_OK)
        status = check_half(line);
    if (status == RT_OK)
        status = rt_point_shard_check(arguments->shared.shard, rt_plan_journal_of(&arguments->shared),
                                      "--csv", rt_given_of(line, of_all));
    if (status == RT_OK)
        status = rt_step_read_cluster(&arguments->training.step);
    arguments->shared.cluster = arguments->training.step.parallel.cluster;
    if (status == RT_OK)
        status = rt_model_source_find_as(arguments->shared.model, arguments->shared.as, &source);
    if (status != RT_OK)
        return status;
    return arguments->train ? rt_training_plan_run(&arguments->shared, &arguments->training, &source,
                                                   rt_given(line, "gpus"))
                            : rt_serving_plan_run(&arguments->shared, &arguments->serving, &source);
}

const struct rt_command rt_command_plan = {
    .name = "plan",
    .brief = "how many of which GPU, cut how, serve an LLM within a target, or train it",
    .about =
        "Searches all ways to serve a model: kinds and numbers of GPUs, tensor, pipeline, data and expert "
        "parallel degrees, quantisation, users at once, prefill and decode together or apart. Prints the "
        "best for the target, its price, the front of throughput against speed, and why the others fail. "
        "With --train it searches all ways to train it: degrees, micro batches, what is shared out and what "
        "runs again, and prints the fastest, the cheapest and the one of least energy, and how to launch it.",
    .details = "Memory and bounds rule most candidates out; the rest are simulated as `rooftile serve` does, "
               "or forecast as `rooftile predict` does. With --csv simulations are kept: after Ctrl-C or a "
               "crash the same command goes on. docs/guide/plan.md says what the figures mean.\n\n"
               "Example: Llama-3.1-70B on 8 H100 or 8 H200, first token in 2 s, then a token every 30 ms\n"
               "  rooftile plan --model config.json --gpu H100 --gpu H200 --gpus 8 --isl 4096 --osl 1024 \\\n"
               "    --ttft 2000 --tpot 30 --price H100=2.5 --price H200=3.5\n"
               "Example: how many GPUs serve 6 requests a second\n"
               "  rooftile plan --model config.json --gpu H100 --gpus 2,4,8,16 --isl 4096 --osl 1024 --rate "
               "6 --ttft 2000 --tpot 50\n"
               "Example: train it on 15e12 tokens, on 256 to 1024 H100\n"
               "  rooftile plan --train --model config.json --gpu H100 --gpus 256,512,1024 --batch 1024 "
               "--seq 4096 \\\n"
               "    --tokens 15e12 --price H100=2.5 --report plan.html",
    RT_RUNS(run, struct arguments, options),
    .set_defaults = set_defaults,
    .operands = RT_NO_OPERANDS("plan takes options only; name the model with --model"),
};
