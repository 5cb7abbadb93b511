/* What to type: the commands that launch a plan's servers, and a compose file of them. See plan.h. Flags are
 * those of
 *
 *   vllm           docs.vllm.ai: vllm serve, NixlConnector usage, parallelism and scaling, expert parallel
 *   sglang         docs.sglang.io: server arguments, PD disaggregation, multi-node deployment
 *   tensorrt-llm   nvidia.github.io/TensorRT-LLM: trtllm-serve, its --extra_llm_api_options, multi-node by Slurm
 *
 * and of public scripts that launch them, looked up in November 2026; none of the commands was run here. */
#include "base/file.h"
#include "base/status.h"
#include "base/text.h"
#include "datasets/cluster.h"
#include "predict/serving/plan/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* One kind of server of a plan. */
struct launch {
    const struct rt_serving_request *request;
    const struct rt_serving_engine *engine;
    const char *role;  /* "prefill", "decode"; NULL: both */
    int64_t sequences; /* that it runs at once */
};

static void add_degree(struct rt_text *text, const char *flag, int64_t degree)
{
    if (degree > 1)
        rt_text_add(text, " %s %" PRId64, flag, degree);
}

static struct rt_serving_quant quant_of(const struct launch *launch)
{
    return rt_serving_quant_on(&launch->request->gpu[launch->engine->gpu].device,
                               &launch->request->quant[launch->engine->quant]);
}

/* Servers make fp8 of a checkpoint in 16 bits when they load it; all else is a checkpoint of its own. */
static bool quantises(const struct launch *launch)
{
    enum rt_dtype own;
    return quant_of(launch).dtype == RT_FP8 && launch->request->server->project != RT_SERVER_TENSORRT &&
           rt_model_source_dtype(launch->request->source, &own) == RT_OK && !rt_dtype_is_narrow(own);
}

/* GPUs of a host, or of an NVLink domain over several. */
static int64_t host_gpus(const struct launch *launch)
{
    return rt_cluster_settled(&launch->request->cluster, &launch->request->gpu[launch->engine->gpu].device)
        .node_gpus;
}

static int64_t hosts_of(const struct launch *launch)
{
    int64_t host = host_gpus(launch);
    return (launch->engine->gpus + host - 1) / host;
}

/* Groups of attention that a host holds whole are given to hosts, all else by torch's ranks. */
static void add_vllm_hosts(struct rt_text *text, const struct launch *launch)
{
    const struct rt_parallelism *cut = &launch->engine->cut;
    int64_t hosts = hosts_of(launch), local = cut->attention / hosts;
    if (hosts > 1 && cut->attention > 1 && local * hosts == cut->attention)
        rt_text_add(text,
                    " --data-parallel-size-local %" PRId64 " --data-parallel-address $HEAD "
                    "--data-parallel-rpc-port 13345 $([ $RANK = 0 ] || echo --headless "
                    "--data-parallel-start-rank $((RANK * %" PRId64 ")))",
                    local, local);
    else if (hosts > 1)
        rt_text_add(text,
                    " --nnodes %" PRId64 " --node-rank $RANK --master-addr $HEAD "
                    "$([ $RANK = 0 ] || echo --headless)",
                    hosts);
}

static void add_vllm(struct rt_text *text, const struct launch *launch)
{
    const struct rt_parallelism *cut = &launch->engine->cut;
    const struct rt_scheduler *scheduler = &launch->engine->deployment.group.scheduler;
    rt_text_add(text, "%svllm serve %s",
                quant_of(launch).dtype == RT_MXFP4_MXFP8 ? "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8=1 " : "",
                launch->request->source->spec);
    add_degree(text, "--tensor-parallel-size", cut->tensor);
    add_degree(text, "--pipeline-parallel-size", cut->pipeline);
    add_degree(text, "--data-parallel-size", cut->attention);
    add_vllm_hosts(text, launch);
    rt_text_add(text, "%s%s%s", cut->expert > 1 ? " --enable-expert-parallel" : "",
                quantises(launch) ? " --quantization fp8" : "",
                quant_of(launch).kv_bits == 8 ? " --kv-cache-dtype fp8" : "");
    rt_text_add(text,
                " --max-model-len %" PRId64 " --max-num-seqs %" PRId64 " --max-num-batched-tokens %" PRId64,
                launch->request->traffic.longest, launch->sequences, scheduler->budget);
    const struct rt_draft *draft = launch->request->draft;
    if (draft != NULL)
        rt_text_add(text, " --speculative-config '{%s%s%s\"num_speculative_tokens\":%" PRId64 "}'",
                    rt_draft_is_own(draft->name) ? "\"method\":\"" : "\"model\":\"", draft->name, "\",",
                    draft->drafted);
    if (launch->role != NULL)
        rt_text_add(text,
                    " --kv-transfer-config '{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_both\"}'");
}

static void add_sglang(struct rt_text *text, const struct launch *launch)
{
    const struct rt_parallelism *cut = &launch->engine->cut;
    const struct rt_scheduler *scheduler = &launch->engine->deployment.group.scheduler;
    rt_text_add(text, "python3 -m sglang.launch_server --model-path %s", launch->request->source->spec);
    add_degree(text, "--tp-size", cut->tensor * cut->attention);
    add_degree(text, "--pp-size", cut->pipeline);
    add_degree(text, "--enable-dp-attention --dp-size", cut->attention);
    add_degree(text, "--ep-size", cut->expert);
    if (hosts_of(launch) > 1)
        rt_text_add(text, " --nnodes %" PRId64 " --node-rank $RANK --dist-init-addr $HEAD:20000",
                    hosts_of(launch));
    rt_text_add(text, "%s%s", quantises(launch) ? " --quantization fp8" : "",
                quant_of(launch).kv_bits == 8 ? " --kv-cache-dtype fp8_e4m3" : "");
    rt_text_add(text, " --max-running-requests %" PRId64 " --chunked-prefill-size %" PRId64,
                launch->sequences, scheduler->budget);
    const struct rt_draft *draft = launch->request->draft;
    if (draft != NULL && rt_draft_is_own(draft->name))
        rt_text_add(text, " --speculative-algorithm NEXTN");
    else if (draft != NULL)
        rt_text_add(text, " --speculative-algorithm STANDALONE --speculative-draft-model-path %s",
                    draft->name);
    if (draft != NULL)
        rt_text_add(text,
                    " --speculative-num-steps %" PRId64 " --speculative-eagle-topk 1 "
                    "--speculative-num-draft-tokens %" PRId64,
                    draft->drafted, draft->drafted + 1);
    if (launch->role != NULL)
        rt_text_add(text, " --disaggregation-mode %s", launch->role);
}

/* Options that trtllm-serve takes in a file alone. */
static bool add_options(struct rt_text *text, const struct launch *launch)
{
    struct rt_text options = {0};
    if (quant_of(launch).kv_bits == 8)
        rt_text_item(&options, ", ", "kv_cache_config: {dtype: fp8}");
    if (launch->engine->cut.attention > 1)
        rt_text_item(&options, ", ", "enable_attention_dp: true");
    const struct rt_draft *draft = launch->request->draft;
    if (draft != NULL && rt_draft_is_own(draft->name))
        rt_text_item(&options, ", ",
                     "speculative_config: {decoding_type: MTP, num_nextn_predict_layers: %" PRId64 "}",
                     draft->drafted);
    else if (draft != NULL)
        rt_text_item(&options, ", ",
                     "speculative_config: {decoding_type: DraftTarget, max_draft_len: %" PRId64
                     ", speculative_model: %s}",
                     draft->drafted, draft->name);
    bool any = options.length > 0;
    if (any)
        rt_text_add(text, "echo '{%s}' >options.yaml && ", options.text);
    rt_text_release(&options);
    return any;
}

static void add_tensorrt(struct rt_text *text, const struct launch *launch)
{
    const struct rt_parallelism *cut = &launch->engine->cut;
    int64_t budget = launch->engine->deployment.group.scheduler.budget,
            isl = launch->request->traffic.longest_input;
    bool options = add_options(text, launch);
    if (hosts_of(launch) > 1)
        rt_text_add(text,
                    "srun -N %" PRId64 " --ntasks %" PRId64 " --ntasks-per-node %" PRId64
                    " --mpi=pmix trtllm-llmapi-launch ",
                    hosts_of(launch), launch->engine->gpus, launch->engine->gpus / hosts_of(launch));
    rt_text_add(text, "trtllm-serve %s", launch->request->source->spec);
    add_degree(text, "--tp_size", cut->tensor * cut->attention);
    add_degree(text, "--pp_size", cut->pipeline);
    add_degree(text, "--ep_size", cut->expert);
    rt_text_add(text,
                " --max_batch_size %" PRId64 " --max_num_tokens %" PRId64 " --max_seq_len %" PRId64 "%s",
                launch->sequences, budget > isl ? budget : isl, launch->request->traffic.longest,
                options ? " --extra_llm_api_options options.yaml" : "");
}

static const struct {
    void (*add)(struct rt_text *text, const struct launch *launch);
    const char *image;  /* a container that has it */
    const char *router; /* what goes before servers that prefill and servers that decode */
} projects[RT_SERVER_PROJECTS] = {
    [RT_SERVER_VLLM] = {add_vllm, "vllm/vllm-openai:latest",
                        "a proxy that sends each request to a prefill and then a decode server (vLLM's docs, "
                        "NixlConnector)"},
    [RT_SERVER_SGLANG] =
        {add_sglang, "lmsysorg/sglang:latest",
         "python3 -m sglang_router.launch_router --pd-disaggregation --prefill URL --decode URL"},
    [RT_SERVER_TENSORRT] = {add_tensorrt, "nvcr.io/nvidia/tensorrt-llm/release:1.2.0rc6",
                            "trtllm-serve disaggregated -c servers.yaml"},
};

static struct launch launch_of(const struct rt_serving_plan *plan, size_t candidate, bool prefills)
{
    const struct rt_serving_candidate *c = &plan->candidate[candidate];
    const struct rt_serving_engine *engine = &plan->engine[prefills ? c->prefill : c->engine];
    int64_t groups = engine->cut.attention, all = c->users > 0 && !prefills
                                                      ? c->users
                                                      : engine->deployment.group.scheduler.sequences * groups;
    return (struct launch){.request = plan->request,
                           .engine = engine,
                           .role = c->prefills == 0 ? NULL
                                   : prefills       ? "prefill"
                                                    : "decode",
                           .sequences = (all + groups - 1) / groups};
}

int64_t rt_serving_hosts(const struct rt_serving_plan *plan, size_t candidate)
{
    struct launch decodes = launch_of(plan, candidate, false), prefills = launch_of(plan, candidate, true);
    int64_t ours = hosts_of(&decodes), theirs = decodes.role != NULL ? hosts_of(&prefills) : 1;
    return ours > theirs ? ours : theirs;
}

char *rt_serving_launch(const struct rt_serving_plan *plan, size_t candidate, bool prefills)
{
    struct rt_text text = {0};
    struct launch launch = launch_of(plan, candidate, prefills);
    projects[plan->request->server->project].add(&text, &launch);
    return rt_text_take(&text);
}

/* Differ servers that prefill from those that decode in more than their tensor-parallel degree? */
static bool differ(const struct rt_parallelism *a, const struct rt_parallelism *b)
{
    return a->pipeline != b->pipeline || a->attention != b->attention || a->expert != b->expert;
}

const char *rt_serving_checkpoint(const struct rt_serving_plan *plan, size_t candidate)
{
    struct launch launch = launch_of(plan, candidate, false);
    enum rt_dtype own, dtype = quant_of(&launch).dtype;
    bool is_own = rt_model_source_dtype(plan->request->source, &own) == RT_OK &&
                  (own == dtype || (own == RT_MXFP4 && dtype == RT_MXFP4_MXFP8));
    return quantises(&launch) || is_own || !rt_dtype_is_narrow(dtype) ? NULL : rt_dtypes[dtype].name;
}

static void add_lengths(struct rt_text *text, const char *option, const struct rt_serve_lengths *lengths,
                        int64_t less)
{
    rt_text_add(text, " %s %" PRId64, option, lengths->least - less);
    if (lengths->least < lengths->most)
        rt_text_add(text, ":%" PRId64, lengths->most - less);
}

/* Who asks, as options of `simulate`. */
static void add_load(struct rt_text *text, const struct rt_serving_plan *plan, size_t candidate)
{
    const struct rt_serving_request *request = plan->request;
    const struct rt_serve_load *load = &request->load;
    if (request->draft != NULL)
        rt_text_add(text, " --draft %s --draft-tokens %" PRId64 " --accepted %g", request->draft->name,
                    request->draft->drafted, request->draft->accepted);
    if (load->trace != NULL) {
        rt_text_add(text, " --trace %s", request->trace);
        add_degree(text, "-n", request->requests);
        return;
    }
    add_lengths(text, "--isl", &load->input, request->image_tokens);
    add_lengths(text, "--osl", &load->output, 0);
    if (request->images > 0)
        rt_text_add(text, " --image %" PRId64 " --images %" PRId64, request->image, request->images);
    if (load->prefix_share > 0)
        rt_text_add(text, " --prefix-share %g", 100 * load->prefix_share);
    if (plan->candidate[candidate].users == 0)
        rt_text_add(text, " --rate %g", request->rate);
    else
        rt_text_add(text, " -c %" PRId64, rt_serving_users(plan, candidate));
    if (plan->candidate[candidate].users > 0 && load->think_us != RT_SERVE_THINK_US)
        rt_text_add(text, " --think %gs", load->think_us / 1e6);
    if (plan->candidate[candidate].users > 0 && !isnan(load->ramp_us))
        rt_text_add(text, " --ramp %gs", load->ramp_us / 1e6);
}

char *rt_serving_simulate_words(const struct rt_serving_plan *plan, size_t candidate)
{
    const struct rt_serving_request *request = plan->request;
    const struct rt_serving_candidate *c = &plan->candidate[candidate];
    const struct rt_serving_engine *engine = &plan->engine[c->engine];
    struct rt_serving_quant quant =
        rt_serving_quant_on(&request->gpu[engine->gpu].device, &request->quant[engine->quant]);
    bool narrow = rt_dtype_is_narrow(quant.dtype);
    struct rt_text text = {0};
    if ((c->prefills > 0 &&
         differ(&engine->cut, &plan->engine[c->prefill].cut)) || /* a list has its own times */
        (request->load.trace != NULL && request->headroom > 0))
        return NULL;
    rt_text_add(&text, "rooftile simulate -m %s --gpu \"%s\" --server %s --dtype %s --quant %s --kv-cache %s",
                request->source->spec, request->gpu[engine->gpu].device.name, request->server->name,
                rt_dtypes[quant.fp16_beside || quant.dtype == RT_FP16 ? RT_FP16 : RT_BF16].name,
                narrow ? rt_dtypes[quant.dtype].name : "none", rt_serving_cache_dtype(&quant));
    add_degree(&text, "--tp", engine->cut.tensor);
    add_degree(&text, "--pp", engine->cut.pipeline);
    add_degree(&text, "--attention-dp", engine->cut.attention);
    add_degree(&text, "--ep", engine->cut.expert);
    int64_t spare = c->users > 0 ? 0 : request->spare;
    add_degree(&text, "--replicas", c->engines - spare);
    if (c->prefills > 0)
        rt_text_add(&text, " --prefill-replicas %" PRId64 " --prefill-tp %" PRId64 " --transfer-overlap",
                    c->prefills - spare, plan->engine[c->prefill].cut.tensor);
    add_load(&text, plan, candidate);
    return rt_text_take(&text);
}

/* ---- a compose file ---- */

#define COMPOSE_BEGINS "# Servers of a plan of rooftile"
const struct rt_output_kind rt_serving_compose_kind = {"a compose file", NULL, COMPOSE_BEGINS};

struct compose {
    const struct rt_serving_plan *plan;
    size_t candidate;
    FILE *file;
    int64_t gpu, port; /* of the next server */
};

static void write_servers(struct compose *compose, int64_t count, bool prefills)
{
    struct launch launch = launch_of(compose->plan, compose->candidate, prefills);
    char *command = rt_serving_launch(compose->plan, compose->candidate, prefills);
    for (int64_t s = 0; s < count; s++) {
        fprintf(compose->file,
                "  %s-%" PRId64 ":\n    image: %s\n    ipc: host\n    network_mode: host\n    entrypoint: "
                "[\"/bin/sh\", \"-c\"]\n    command:\n      - >-\n        %s --port %" PRId64 "\n",
                launch.role != NULL ? launch.role : "server", s,
                projects[compose->plan->request->server->project].image, command, compose->port++);
        fputs(
            "    deploy:\n      resources:\n        reservations:\n          devices:\n            - driver: "
            "nvidia\n              capabilities: [gpu]\n              device_ids: [",
            compose->file);
        for (int64_t g = 0; g < launch.engine->gpus; g++)
            fprintf(compose->file, "%s\"%" PRId64 "\"", g > 0 ? ", " : "", compose->gpu++);
        fputs("]\n", compose->file);
    }
    free(command);
}

int rt_serving_write_compose(const struct rt_serving_plan *plan, size_t candidate, const char *path)
{
    const struct rt_serving_candidate *c = &plan->candidate[candidate];
    struct launch launch = launch_of(plan, candidate, false);
    struct rt_new_file file;
    if (c->gpus > host_gpus(&launch))
        return rt_fail(RT_EUSAGE,
                       "%s: a compose file is of one machine, the best plan's %d GPUs take more than one of "
                       "%" PRId64 "; the plan without it says what to launch on each",
                       path, c->gpus, host_gpus(&launch));
    int status = rt_file_create(path, &file);
    if (status != RT_OK)
        return status;
    char *servers = rt_serving_servers_words(plan, candidate, 1);
    struct compose compose = {plan, candidate, file.stream, 0, 8000};
    fprintf(file.stream, COMPOSE_BEGINS ": %s on %d %s\n", servers, c->gpus,
            plan->request->gpu[plan->engine[c->engine].gpu].device.name);
    if (c->prefills > 0)
        fprintf(file.stream, "# Before them: %s\n", projects[plan->request->server->project].router);
    fputs("services:\n", file.stream);
    if (c->prefills > 0)
        write_servers(&compose, c->prefills, true);
    write_servers(&compose, c->engines, false);
    free(servers);
    return rt_file_finish(&file);
}
