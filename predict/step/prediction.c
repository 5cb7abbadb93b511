/* A forecast as a report. See prediction.h. */
#include "predict/step/prediction.h"
#include "base/status.h"
#include "base/units.h"
#include "base/text.h"
#include "models/networks/sequences.h"
#include "predict/step/breakdown.h"
#include "predict/step/passes.h"
#include "predict/step/uncertainty.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_ROWS = RT_OP_COUNT * RT_TIME_SOURCE_COUNT };

char *rt_prediction_gpu(const struct rt_prediction *prediction)
{
    const char *changes = prediction->gpu_changes;
    return rt_format("%s%s%s", prediction->device.name, changes != NULL ? " with " : "",
                     changes != NULL ? changes : "");
}

static int64_t width_of(const struct rt_graph_options *options)
{
    return options->image_width > 0 ? options->image_width : options->image;
}

char *rt_prediction_case(const struct rt_prediction *prediction)
{
    const struct rt_graph_options *o = &prediction->graph.options;
    struct rt_text words = {0};
    char *gpu = rt_prediction_gpu(prediction);
    rt_text_add(&words, "%s, batch %" PRId64, gpu, prediction->batch);
    if (rt_prediction_of_images(prediction))
        rt_text_add(&words, ", %" PRId64 " x %" PRId64 " pixels", o->image, width_of(o));
    else if (o->step == RT_STEP_DECODE)
        rt_text_add(&words, ", %" PRId64 " cached tokens", o->context);
    else
        rt_text_add(&words, ", sequence %" PRId64, prediction->sequence);
    free(gpu);
    return rt_text_take(&words);
}

/* --- what is forecast, by what --- */

/* "bf16, fp8": in what else the predictor has seen the device. */
static char *seen_dtypes(const struct rt_prediction *prediction)
{
    const struct rt_graph *graph = &prediction->graph;
    bool seen[RT_DTYPE_COUNT];
    struct rt_text words = {0};
    rt_predictor_seen_dtypes(prediction->predictor, &prediction->device, seen);
    for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++)
        if (seen[dtype] && dtype != (int)graph->options.dtype && dtype != (int)graph->products)
            rt_text_item(&words, ", ", "%s", rt_dtypes[dtype].name);
    return rt_text_take(&words);
}

/* How the predictor knows the GPU. */
struct known {
    struct rt_known_part part[RT_KNOWN_PARTS];
    size_t count;
};

static void find_known(const struct rt_prediction *prediction, struct known *out)
{
    out->count = rt_forecast_known(&prediction->forecast, prediction->predictor, out->part);
}

static double known_share(const struct known *known, enum rt_knowledge by)
{
    double share = 0;
    for (size_t i = 0; i < known->count; i++)
        share += known->part[i].by == by ? known->part[i].share : 0;
    return share;
}

static void add_part_words(struct rt_text *words, const struct rt_known_part *part)
{
    if (part->share >= 1e-3)
        rt_text_item(words, ", ", "%s in %s", rt_families[part->family].name, rt_dtypes[part->dtype].name);
}

/* "linear in bf16, attention in fp8": what takes 0.1% of the time or more. */
static char *known_words(const struct known *known, enum rt_knowledge by)
{
    struct rt_text words = {0};
    for (size_t i = 0; i < known->count; i++)
        if (known->part[i].by == by)
            add_part_words(&words, &known->part[i]);
    return rt_text_take(&words);
}

/* The same of what is known by measurements in other dtypes. */
static char *other_dtypes_words(const struct known *known)
{
    struct rt_text words = {0};
    for (size_t i = 0; i < known->count; i++)
        if (!known->part[i].in_dtype)
            add_part_words(&words, &known->part[i]);
    return rt_text_take(&words);
}

/* What the predictor was fitted to of this GPU: all, a part or nothing of what the step runs. */
static char *predictor_words(const struct rt_prediction *prediction, const struct known *known)
{
    const struct rt_predictor *predictor = prediction->predictor;
    const struct rt_device *device = &prediction->device;
    bool calibrated = rt_predictor_calibrated_device(predictor, device->name) ||
                      rt_predictor_calibrated_device(predictor, rt_device_board(device));
    const char *verb = calibrated ? "calibrated" : "fitted",
               *gpu = device->whole[0] != '\0' ? "the whole GPU" : "this GPU";
    double seen = known_share(known, RT_KNOWN_MEASURED);
    char *dtypes = seen_dtypes(prediction), *words = NULL;
    if (!rt_predictor_is_fitted(predictor))
        words = rt_strdup("a lower bound, not a forecast");
    else if (seen >= 0.995)
        words = rt_format("%s to %s", verb, gpu);
    else if (seen >= 0.01)
        words =
            rt_format("%s to %s for %.0f%% of the time, to other GPUs for the rest", verb, gpu, 100 * seen);
    else if (device->boost_mhz > 0)
        words = rt_strdup("not fitted to GPUs below their boost clock");
    else if (device->altered)
        words = rt_strdup("not fitted to a GPU of these numbers");
    else if (dtypes[0] != '\0')
        words = rt_format("%s to %s only in %s", verb, gpu, dtypes);
    else
        words = rt_format("not fitted to %s", gpu);
    free(dtypes);
    return words;
}

/* The label of what --explain alone shows. */
static const char *explained(const struct rt_prediction *prediction, const char *label)
{
    return prediction->explain ? label : NULL;
}

static void add_predictor(struct rt_report *report, const struct rt_prediction *prediction,
                          const struct known *known)
{
    char *words = predictor_words(prediction, known);
    rt_report_add_words(report, "predictor", "%s (%s), %s", prediction->predictor_name,
                        prediction->predictor->kind, words);
    free(words);
}

/* " x 64 (data 2, tensor 8, pipeline 4 in 8 chunks)", without those of 1. */
static void add_degrees(struct rt_text *title, const struct rt_parallelism *p, int64_t gpus)
{
    const struct {
        const char *name;
        int64_t degree;
    } degrees[] = {{"data", p->data},     {"tensor", p->tensor},   {"attention", p->attention},
                   {"expert", p->expert}, {"context", p->context}, {"pipeline", p->pipeline}};
    struct rt_text words = {0};
    for (size_t d = 0; d < RT_COUNT(degrees); d++)
        if (degrees[d].degree > 1)
            rt_text_item(&words, ", ", "%s %" PRId64, degrees[d].name, degrees[d].degree);
    if (p->chunks > 1)
        rt_text_add(&words, " in %" PRId64 " chunks", p->chunks);
    rt_text_add(title, " x %" PRId64 " (%s)", gpus, words.text);
    rt_text_release(&words);
}

static void add_title(struct rt_report *report, const struct rt_prediction *prediction)
{
    const struct rt_graph_options *o = &prediction->graph.options;
    const struct rt_parallelism *p = &prediction->forecast.options.parallel;
    int64_t tokens = rt_parallelism_sequence(p), gpus = rt_parallelism_gpus(p);
    struct rt_text title = {0};
    rt_text_add(&title, "%s, %s", prediction->model, rt_steps[o->step]);
    if (o->groups != NULL) {
        char *words = rt_sequences_words(o->groups, o->group_count);
        rt_text_add(&title, ", %s", words);
        free(words);
    } else if (o->step == RT_STEP_DECODE)
        rt_text_add(&title, ", %" PRId64 " %s with %" PRId64 " cached tokens%s", prediction->batch,
                    prediction->batch == 1 ? "sequence" : "sequences", o->context,
                    prediction->batch == 1 ? "" : " each");
    else if (rt_prediction_of_images(prediction))
        rt_text_add(&title, ", %" PRId64 " x %" PRId64 " x %" PRId64 " pixels%s", prediction->batch, o->image,
                    width_of(o), o->channels_last ? ", channels last" : "");
    else
        rt_text_add(&title, ", %" PRId64 " x %" PRId64 " tokens", prediction->batch, prediction->sequence);
    if (o->prompt_images > 0)
        rt_text_add(&title, " and %" PRId64 " %s of %" PRId64 " pixels (%" PRId64 " tokens)",
                    o->prompt_images, o->prompt_images == 1 ? "image" : "images", o->prompt_image_side,
                    o->sequence - prediction->sequence);
    if (o->frames > 0)
        rt_text_add(&title, ", %" PRId64 " frames", o->frames);
    if (o->denoising_steps > 0)
        rt_text_add(&title, ", %" PRId64 " %s", o->denoising_steps,
                    o->denoising_steps == 1 ? "step" : "steps");
    if (o->seconds > 0)
        rt_text_add(&title, " and %g s of sound", o->seconds);
    rt_text_add(&title, ", %s%s%s", rt_graph_dtype_words(&prediction->graph).text,
                o->autocast ? " by autocast" : "", o->kv_bits > 0 ? ", keys and values in 8 bits" : "");
    rt_text_add(&title, ", by %s%s", rt_graph_runtime_words(&prediction->graph),
                o->fusion && !rt_runtimes[o->runtime].fusion ? ", fused" : "");
    if (o->step == RT_STEP_TRAINING && o->optimizer != RT_OPTIMIZER_NONE)
        rt_text_add(&title, ", %s", rt_optimizers[o->optimizer]);
    if (o->recompute == RT_RECOMPUTE_LAYERS)
        rt_text_add(&title, ", layers computed again");
    if (prediction->forecast.options.parallel.shard != RT_SHARD_NONE)
        rt_text_add(&title, ", %s sharded", rt_shard_kinds[prediction->forecast.options.parallel.shard]);
    char *gpu = rt_prediction_gpu(prediction);
    rt_text_add(&title, ", on %s", gpu);
    free(gpu);
    if (tokens > 1)
        rt_text_add(&title, " x %" PRId64 " (data %" PRId64 ", ulysses %" PRId64 ", ring %" PRId64 ")", gpus,
                    p->data, p->ulysses > 1 ? p->ulysses : 1, p->ring > 1 ? p->ring : 1);
    else if (gpus > 1)
        add_degrees(&title, p, gpus);
    if (p->microbatches > 1)
        rt_text_add(&title, ", %" PRId64 " microbatches, %s", p->microbatches,
                    rt_pipeline_schedules[p->schedule]);
    rt_report_add_title(report, "%s", title.text);
    rt_text_release(&title);
}

double rt_prediction_seen_pct(const struct rt_prediction *prediction)
{
    struct known known;
    find_known(prediction, &known);
    return 100 * known_share(&known, RT_KNOWN_MEASURED);
}

static void add_subject(struct rt_report *report, const struct rt_prediction *prediction)
{
    const struct rt_graph_options *o = &prediction->graph.options;
    const struct rt_parallelism *p = &prediction->forecast.options.parallel;
    const struct rt_link own = rt_device_link(&prediction->device);
    const bool images = rt_prediction_of_images(prediction);
    const struct rt_link link = isnan(p->link_gbs) ? own : (struct rt_link){p->link_gbs, 1};
    const struct {
        const char *key;
        json_t *value;
    } members[] = {
        {"model", rt_json_text(prediction->model)},
        {"gpu", rt_json_text(prediction->device.name)},
        {"predictor", rt_json_text(prediction->predictor_name)},
        {"kind", rt_json_text(prediction->predictor->kind)},
        {"gpu_changes", rt_json_text(prediction->gpu_changes)},
        {"gpu_seen_pct", rt_json_number(rt_prediction_seen_pct(prediction))},
        {"mode", json_string(rt_steps[o->step])},
        {"batch", json_integer(prediction->batch)},
        {"sequence", images ? json_null() : json_integer(prediction->sequence)},
        {"image", images ? json_integer(o->image) : json_null()},
        {"image_width", images ? json_integer(width_of(o)) : json_null()},
        {"frames", o->frames > 0 ? json_integer(o->frames) : json_null()},
        {"steps", o->denoising_steps > 0 ? json_integer(o->denoising_steps) : json_null()},
        {"seconds", o->seconds > 0 ? json_real(o->seconds) : json_null()},
        {"layout", images ? json_string(o->channels_last ? "nhwc" : "nchw") : json_null()},
        {"autocast", json_boolean(o->autocast)},
        {"context", o->step == RT_STEP_DECODE ? json_integer(o->context) : json_null()},
        {"dtype", json_string(rt_dtypes[prediction->graph.products].name)},
        {"dtype_beside", json_string(rt_dtypes[o->dtype].name)},
        {"runtime", json_string(rt_runtimes[o->runtime].name)},
        {"kv_bits", o->kv_bits > 0 ? json_integer(o->kv_bits) : json_null()},
        {"sequence_groups", rt_sequences_json(o->groups, o->group_count)},
        {"parallel.experts", json_integer(o->expert_parallel > 1 ? o->expert_parallel : 1)},
        {"parallel.attention_data",
         json_integer(o->attention_data_parallel > 1 ? o->attention_data_parallel : 1)},
        {"fusion", json_boolean(o->fusion)},
        {"optimizer", json_string(rt_optimizers[o->optimizer])},
        {"recompute", json_string(rt_recomputes[o->recompute])},
        {"parallel.data", json_integer(p->data)},
        {"parallel.shard", json_string(rt_shard_kinds[p->shard])},
        {"parallel.tensor", json_integer(o->tensor_parallel)},
        {"parallel.ulysses", json_integer(p->ulysses > 1 ? p->ulysses : 1)},
        {"parallel.ring", json_integer(p->ring > 1 ? p->ring : 1)},
        {"parallel.pipeline", json_integer(p->pipeline)},
        {"parallel.microbatches", json_integer(p->microbatches)},
        {"parallel.schedule", json_string(rt_pipeline_schedules[p->schedule])},
        {"parallel.overlap", json_boolean(!p->no_overlap)},
        {"parallel.link_gbs", rt_json_number(link.gbs)},
        {"parallel.link_peers", rt_json_number(link.peers)},
        {"parallel.fabric", json_string(rt_fabrics[p->fabric])},
        {"parallel.node_gpus", p->cluster.node_gpus > 0 ? json_integer(p->cluster.node_gpus) : json_null()},
        {"parallel.node_gbs", rt_json_number(p->cluster.node_gbs)},
        {"parallel.network", json_string(rt_networks[p->cluster.network])},
        {"parallel.oversubscription",
         p->cluster.oversubscription >= 1 ? json_real(p->cluster.oversubscription) : json_null()},
    };
    for (size_t i = 0; i < RT_COUNT(members); i++)
        rt_report_add_json(report, members[i].key, members[i].value);
}

/* --- the time of the step --- */

/* " (73.3 .. 108.0, 90%)", "" where the interval is unknown; to three digits or so, as it is not known to
 * more. Free with free(). */
static char *interval_words(const struct rt_forecast *f)
{
    double ms = f->interval_low_us / 1e3;
    int digits = ms >= 100 ? 0 : ms >= 10 ? 1 : ms >= 1 ? 2 : 3;
    if (isnan(ms))
        return rt_strdup("");
    return rt_format(" (%.*f .. %.*f, %g%%)", digits, ms, digits, f->interval_high_us / 1e3,
                     100 * f->interval_level);
}

static json_t *interval_json(const struct rt_forecast *f)
{
    if (isnan(f->interval_low_us))
        return json_null();
    return json_pack("{s:f, s:f, s:f}", "level", f->interval_level, "low_ms", f->interval_low_us / 1e3,
                     "high_ms", f->interval_high_us / 1e3);
}

/* A part of the step in ms, with `words` after it; for programs only where not `shown`. */
static void add_part(struct rt_report *report, const char *key, double time_us, const char *label, bool shown,
                     const char *words)
{
    rt_report_add_fact(report, key, rt_json_number(time_us / 1e3), shown ? label : NULL, "%9.3f ms%s",
                       time_us / 1e3, words);
}

static void add_time(struct rt_report *report, const struct rt_prediction *prediction)
{
    const struct rt_forecast *f = &prediction->forecast;
    const struct rt_graph_options *o = &prediction->graph.options;
    bool passes = o->step == RT_STEP_TRAINING && !isnan(f->forward_us);
    bool images = rt_prediction_of_images(prediction);
    bool waits = f->host_us > 0.5e-3 * f->total_us;
    bool phases = f->before_us + f->after_us > 0.5e-3 * f->total_us;
    bool links = f->communication_us > 0.5e-3 * f->total_us;
    char *interval = interval_words(f);
    double rate =
        images ? rt_prediction_items_per_second(prediction) : rt_prediction_tokens_per_second(prediction);
    rt_report_add_fact(report, "total_ms", rt_json_number(f->total_us / 1e3), "total",
                       "%*.3f ms%s, %.*f %s/s", passes || links || waits || phases ? 9 : 0, f->total_us / 1e3,
                       interval,
                       rate >= 10    ? 0
                       : rate >= 0.1 ? 2
                                     : 5,
                       rate,
                       !images         ? "tokens"
                       : o->frames > 0 ? "videos"
                                       : "images");
    free(interval);
    add_part(report, "before_ms", f->before_us, f->options.input != RT_TRANSFER_NONE ? "input copy" : "start",
             phases, " until its first kernel starts");
    add_part(report, "on_ms", f->on_us, "GPU", phases, "");
    add_part(report, "after_ms", f->after_us, "result copy", phases, " until the result is with the host");
    add_part(report, "forward_ms", f->forward_us, "forward", passes, "");
    add_part(report, "backward_ms", f->backward_us, "backward", passes,
             o->optimizer != RT_OPTIMIZER_NONE ? " with accumulation and optimizer" : " with accumulation");
    add_part(report, "kernels_ms", f->compute_us, "kernels", links || waits, " of the busiest GPU");
    add_part(report, "communication_ms", f->communication_us, "communication", links,
             " for links and waiting, not hidden");
    char *words = rt_sentence(" that kernels wait to be launched ({host}, {host_us})");
    add_part(report, "host_ms", f->host_us, "host", waits, words);
    free(words);
    add_part(report, "copy_ms", f->copy_us, "copies", f->copy_us > 0.5e-3 * f->total_us,
             " of input and result, not hidden");
    rt_report_add_json(report, "tokens_per_s", rt_json_number(rt_prediction_tokens_per_second(prediction)));
    rt_report_add_json(report, "images_per_s",
                       rt_json_number(images ? rt_prediction_items_per_second(prediction) : NAN));
    rt_report_add_json(report, "interval", interval_json(f));
}

/* Training: how much of the GPUs is used, and what of communication nothing hides, by group. */
static void add_use(struct rt_report *report, const struct rt_prediction *prediction)
{
    static const char *const groups[RT_GROUPS] = {[RT_GROUP_TENSOR] = "tensor",
                                                  [RT_GROUP_CONTEXT] = "context",
                                                  [RT_GROUP_EXPERT] = "expert",
                                                  [RT_GROUP_DATA] = "data",
                                                  [RT_GROUP_PIPELINE] = "pipeline"};
    const struct rt_forecast *f = &prediction->forecast;
    double mfu, hfu, gpus = (double)rt_parallelism_gpus(&f->options.parallel);
    struct rt_text words = {0};
    if (!rt_graph_trains(f->graph))
        return;
    rt_forecast_use(f, &mfu, &hfu);
    for (int group = 0; group < RT_GROUPS; group++) {
        if (groups[group] == NULL)
            continue;
        char *key = rt_format("exposed.%s_ms", groups[group]);
        rt_report_add_json(report, key, rt_json_number(f->exposed_us[group] / 1e3));
        free(key);
        if (f->exposed_us[group] > 0.5e-3 * f->total_us)
            rt_text_item(&words, ", ", "%s %.3f ms", groups[group], f->exposed_us[group] / 1e3);
    }
    if (f->bubble_us > 0.5e-3 * f->total_us)
        rt_text_item(&words, ", ", "bubble %.3f ms (%.1f%%)", f->bubble_us / 1e3,
                     100 * f->bubble_us / f->total_us);
    if (f->slowest_us > 0.5e-3 * f->total_us)
        rt_text_item(&words, ", ", "the slowest GPU %.3f ms", f->slowest_us / 1e3);
    rt_report_add_json(report, "exposed.bubble_ms", rt_json_number(f->bubble_us / 1e3));
    rt_report_add_json(report, "exposed.slowest_gpu_ms", rt_json_number(f->slowest_us / 1e3));
    rt_report_add_fact(report, "exposed.all_ms", rt_json_number(f->communication_us / 1e3),
                       words.length > 0 ? "exposed" : NULL, "%s", words.length > 0 ? words.text : "");
    rt_text_release(&words);
    rt_report_add_json(report, "tokens_per_s_gpu",
                       rt_json_number(rt_prediction_tokens_per_second(prediction) / gpus));
    rt_report_add_json(report, "hfu_pct", rt_json_number(100 * hfu));
    rt_report_add_fact(report, "mfu_pct", rt_json_number(100 * mfu), "use", "MFU %.1f%%, HFU %.1f%%",
                       100 * mfu, 100 * hfu);
}

/* Of a diffusion pipeline: text encoders, all denoising steps, decoder. */
static void add_parts(struct rt_report *report, const struct rt_prediction *prediction)
{
    static const char *const labels[RT_DIFFUSION_PARTS] = {"text", "denoising", "decoding"},
                             *const keys[RT_DIFFUSION_PARTS] = {"parts.text_ms", "parts.denoise_ms",
                                                                "parts.decode_ms"};
    const struct rt_forecast *f = &prediction->forecast;
    double us[RT_DIFFUSION_PARTS], steps = (double)f->graph->options.denoising_steps;
    if (!rt_forecast_parts(f, prediction->predictor, us))
        return;
    for (int part = 0; part < RT_DIFFUSION_PARTS; part++) {
        bool none = part == RT_DIFFUSION_DECODE && rt_graph_trains(f->graph);
        char *words = part == RT_DIFFUSION_DENOISE ? rt_format(", %.3f ms a step", us[part] / steps / 1e3)
                                                   : rt_strdup("");
        add_part(report, keys[part], us[part], labels[part], !none, words);
        free(words);
    }
}

/* What nobody said, and so is as usual. */
static void add_assumed(struct rt_report *report, const struct rt_prediction *prediction)
{
    char *words = rt_settled_step_assumed_words(&prediction->settled);
    rt_report_add_fact(report, "assumed", rt_settled_step_assumed(&prediction->settled),
                       words != NULL && words[0] != '\0' ? "assumed" : NULL, "%s",
                       words != NULL ? words : "");
    free(words);
}

static void add_epoch(struct rt_report *report, const struct rt_prediction *prediction)
{
    if (prediction->dataset_size == 0)
        return;
    int64_t steps = rt_prediction_epoch_steps(prediction);
    double seconds = rt_prediction_epoch_s(prediction);
    rt_report_add_json(report, "epoch.dataset_size", json_integer(prediction->dataset_size));
    rt_report_add_json(report, "epoch.steps", json_integer(steps));
    rt_report_add_fact(report, "epoch.time_s", rt_json_number(seconds), "epoch",
                       "%.1f s of %" PRId64 " steps over %" PRId64 " %s", seconds, steps,
                       prediction->dataset_size,
                       rt_prediction_of_images(prediction) ? "images" : "sequences");
}

static void add_run(struct rt_report *report, const struct rt_prediction *prediction)
{
    struct rt_run_totals totals;
    if (!rt_graph_trains(&prediction->graph))
        return;
    rt_prediction_run(prediction, &totals);
    char *words = rt_run_words(&prediction->settled.step.run, &totals);
    rt_report_add_fact(report, "run", rt_run_json(&totals), words[0] != '\0' ? "run" : NULL, "%s", words);
    free(words);
}

/* The host by name, and what is copied. */
static void add_host(struct rt_report *report, const struct rt_prediction *prediction)
{
    const struct rt_forecast_options *options = &prediction->forecast.options;
    const struct rt_host *host = rt_forecast_host(&prediction->forecast);
    rt_report_add_json(report, "host.name", rt_json_text(host->name));
    rt_report_add_json(report, "host.input", json_string(rt_transfers[options->input]));
    rt_report_add_json(report, "host.result", json_string(rt_transfers[options->result]));
    rt_report_add_json(report, "host.overlap", json_boolean(options->overlap));
    rt_report_add_json(report, "host.link_gbs", rt_json_number(rt_device_host_link_gbs(&prediction->device)));
}

/* --- where it comes from --- */

/* Ops without a trained network of their own, with their share of the time: "where 2.1%, copy 0.8%". */
static void add_coverage(struct rt_report *report, const struct rt_prediction *prediction,
                         const struct rt_forecast_row *rows, size_t count)
{
    const struct rt_forecast *f = &prediction->forecast;
    struct rt_text words = {0};
    json_t *fallbacks = json_array();
    for (size_t r = 0; r < count; r++) {
        if (rows[r].source == RT_TIME_TRAINED || rows[r].source == RT_TIME_LINK)
            continue;
        const char *separator = words.length > 0                     ? ", "
                                : f->source_us[RT_TIME_ROOFLINE] > 0 ? "; by bandwidth or roofline: "
                                                                     : "; by bandwidth: ";
        rt_text_add(&words, "%s%s %.1f%%", separator, rt_ops[rows[r].op].name, 100 * rows[r].share);
        json_array_append_new(fallbacks,
                              json_pack("{s:s, s:s, s:f}", "op", rt_ops[rows[r].op].name, "source",
                                        rt_time_sources[rows[r].source], "share_pct", 100 * rows[r].share));
    }
    rt_report_add_fact(report, "coverage_pct", rt_json_number(100 * f->coverage),
                       rt_predictor_is_fitted(prediction->predictor) ? explained(prediction, "coverage")
                                                                     : NULL,
                       "%.1f%% of the kernels' time by trained networks%s", 100 * f->coverage,
                       words.length > 0 ? words.text : "");
    rt_report_add_json(report, "fallbacks", fallbacks);
    rt_text_release(&words);
}

static json_t *known_json(const struct known *known)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < known->count; i++) {
        const struct rt_known_part *part = &known->part[i];
        json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:b, s:f}", "by", rt_knowledge_words[part->by],
                                              "family", rt_families[part->family].name, "dtype",
                                              rt_dtypes[part->dtype].name, "in_dtype", part->in_dtype,
                                              "share_pct", 100 * part->share));
    }
    return rows;
}

/* What decides, in one row of a page. */
static void add_tiles(struct rt_report *report, const struct rt_prediction *prediction,
                      const struct rt_trust *trust)
{
    const struct rt_forecast *f = &prediction->forecast;
    const bool images = rt_prediction_of_images(prediction);
    double rate =
        images ? rt_prediction_items_per_second(prediction) : rt_prediction_tokens_per_second(prediction);
    double joules = rt_prediction_joules(prediction);
    char *interval = interval_words(f);
    rt_report_add_tile(report, "time of a step", NAN, "%s ms\n%s", rt_number_text(f->total_us / 1e3).text,
                       interval);
    rt_report_add_tile(report, images ? "images" : "tokens", NAN, "%s/s", rt_number_text(rate).text);
    if (f->memory_bytes > 0)
        rt_report_add_tile(report, "memory", f->taken.used / f->memory_bytes, "%s\n%.1f of %.1f GiB",
                           rt_forecast_fits(f) ? "fits" : "does not fit", f->taken.used / RT_GIB,
                           f->memory_bytes / RT_GIB);
    if (!isnan(joules))
        rt_report_add_tile(report, "energy of a step", NAN, "%s J\n%.0f W on average",
                           rt_number_text(joules).text, f->energy.watts);
    if (!isnan(trust->ln_error))
        rt_report_add_tile(report, "trust", NAN, "%s\nabout %.0f%% off", rt_grades[rt_trust_grade(trust)],
                           rt_trust_error_pct(trust));
    free(interval);
}

static void add_trust(struct rt_report *report, const struct rt_trust *trust)
{
    char *words = rt_trust_words(trust);
    rt_report_add_fact(report, "trust", rt_trust_json(trust), "trust", "%s", words);
    free(words);
}

/* "measured 72% (linear in bf16), same design 28% (layernorm in bf16); by other dtypes: layernorm in bf16".
 */
static void add_known(struct rt_report *report, const struct rt_prediction *prediction)
{
    struct known known;
    struct rt_text text = {0};
    find_known(prediction, &known);
    if (prediction->explain)
        add_predictor(report, prediction, &known);
    for (int by = 0; by < RT_KNOWLEDGE_COUNT; by++) {
        double share = known_share(&known, by);
        char *words = known_words(&known, by);
        if (share >= 0.995)
            rt_text_item(&text, ", ", "%s", rt_knowledge_words[by]);
        else if (share >= 0.005)
            rt_text_item(&text, ", ", "%s %.0f%% (%s)", rt_knowledge_words[by], 100 * share, words);
        free(words);
    }
    char *others = other_dtypes_words(&known);
    if (others[0] != '\0')
        rt_text_add(&text, "; by other dtypes: %s", others);
    free(others);
    rt_report_add_fact(report, "gpu_known", known_json(&known),
                       rt_predictor_is_fitted(prediction->predictor) ? explained(prediction, "known") : NULL,
                       "%s", text.length > 0 ? text.text : "");
    rt_text_release(&text);
}

static void add_memory(struct rt_report *report, const struct rt_forecast *f)
{
    const struct rt_graph_memory *m = &f->memory;
    const struct {
        const char *name;
        double bytes;
    } parts[] = {{"weights", m->weights},         {"gradients", m->gradients}, {"optimizer", m->optimizer},
                 {"activations", m->activations}, {"cache", m->cache},         {"workspace", m->workspace}};
    bool fits = rt_forecast_fits(f), trains = f->graph->options.step == RT_STEP_TRAINING;
    const char *optimizer = trains ? rt_optimizers[f->graph->options.optimizer] : NULL;
    struct rt_text words = {0};
    for (size_t i = 0; i < RT_COUNT(parts); i++) {
        char *key = rt_format("memory.%s_gib", parts[i].name);
        rt_report_add_json(report, key, rt_json_number(parts[i].bytes / RT_GIB));
        free(key);
        if (parts[i].bytes > 0)
            rt_text_item(&words, ", ", "%s %.2f", parts[i].name, parts[i].bytes / RT_GIB);
    }
    rt_text_item(&words, "; ", "allocator %.2f", (f->taken.reserved - m->total) / RT_GIB);
    rt_text_item(&words, ", ", "context %.2f", (f->taken.used - f->taken.reserved) / RT_GIB);
    rt_report_add_json(report, "memory.allocated_gib", rt_json_number(f->taken.allocated / RT_GIB));
    rt_report_add_json(report, "memory.reserved_gib", rt_json_number(f->taken.reserved / RT_GIB));
    rt_report_add_json(report, "memory.used_gib", rt_json_number(f->taken.used / RT_GIB));
    rt_report_add_fact(report, "memory.total_gib", rt_json_number(m->total / RT_GIB), "memory",
                       "%s%s%s: %.2f of %.2f GiB: %s",
                       isnan(f->memory_bytes) ? "unknown"
                       : fits                 ? "fits"
                                              : "does not fit",
                       optimizer != NULL ? " with optimizer " : "", optimizer != NULL ? optimizer : "",
                       f->taken.used / RT_GIB, f->memory_bytes / RT_GIB, words.text);
    rt_report_add_json(report, "memory.device_gib", rt_json_number(f->memory_bytes / RT_GIB));
    rt_report_add_json(report, "memory.fits", json_boolean(rt_forecast_fits(f)));
    rt_text_release(&words);
}

static const char *bound_words(const struct rt_forecast_row *row)
{
    return row->source == RT_TIME_LINK ? "link" : row->compute_bound ? "compute" : "memory";
}

static const struct rt_column op_columns[] = {
    {"op", NULL, 's', 0},
    {"launches", NULL, 'd', 0},
    {"time_ms", "ms", 'f', 3},
    {"share_pct", "share %", 'f', 1},
    {"tflops", "TFLOP/s", 'g', 3},
    {"gbs", "GB/s", 'g', 4},
    {"roofline_pct", "of peak %", 'f', 1},
    {"bound", "bound by", 's', 0},
    {"source", "forecast by", 's', 0},
};

static struct rt_table *op_table(const struct rt_forecast_row *rows, size_t count)
{
    struct rt_table *table = rt_table_new(op_columns, RT_COUNT(op_columns));
    for (size_t r = 0; r < count; r++) {
        const struct rt_forecast_row *row = &rows[r];
        rt_table_row(table, rt_ops[row->op].name, (long long)row->launches, row->time_us / 1e3,
                     100 * row->share, row->flops > 0 ? row->flops / row->time_us / 1e6 : NAN,
                     row->bytes / row->time_us / 1e3, 100 * row->roofline_us / row->time_us, bound_words(row),
                     rt_time_sources[row->source]);
    }
    return table;
}

static const struct rt_column node_columns[] = {
    {"node", NULL, 's', 0},    {"block", NULL, 's', 0},          {"repeat", "x", 'd', 0},
    {"time_ms", "ms", 'f', 3}, {"share_pct", "share %", 'f', 1},
};

static struct rt_table *node_table(const struct rt_prediction *prediction)
{
    const size_t all = prediction->graph.node_count, asked = prediction->nodes > 0 ? prediction->nodes : 10;
    const size_t most = asked < all ? asked : all;
    struct rt_forecast_node *heaviest = rt_calloc(most + 1, sizeof *heaviest);
    struct rt_table *table = rt_table_new(node_columns, RT_COUNT(node_columns));
    size_t count = rt_forecast_heaviest(&prediction->forecast, heaviest, most);
    for (size_t i = 0; i < count; i++) {
        const struct rt_node *node = &prediction->graph.nodes[heaviest[i].node];
        const struct rt_block *block = &prediction->graph.blocks[node->block];
        rt_table_row(table, node->name, block->name, (long long)block->repeat, heaviest[i].time_us / 1e3,
                     100 * heaviest[i].share);
        if (prediction->nodes > 0)
            rt_table_row_json(table, "of", rt_json_text(node->of));
    }
    free(heaviest);
    return table;
}

static json_t *warnings_json(const struct rt_prediction *prediction)
{
    json_t *array = json_array();
    for (int w = 0; w < RT_WARNING_COUNT; w++) {
        char *sentence = rt_prediction_warning(prediction, (enum rt_warning)w);
        if (sentence != NULL)
            json_array_append_new(array, rt_json_text(sentence));
        free(sentence);
    }
    return array;
}

struct rt_report *rt_prediction_report(const struct rt_prediction *prediction, bool pictures)
{
    struct rt_report *report = rt_report_new();
    rt_report_list(report, "forecasts");
    struct rt_forecast_row rows[MAX_ROWS];
    size_t count = rt_forecast_rows(&prediction->forecast, rows);
    add_title(report, prediction);
    add_subject(report, prediction);
    struct rt_trust trust = rt_forecast_trust(&prediction->forecast, prediction->predictor);
    add_tiles(report, prediction, &trust);
    add_time(report, prediction);
    add_trust(report, &trust);
    add_use(report, prediction);
    add_parts(report, prediction);
    add_epoch(report, prediction);
    add_run(report, prediction);
    rt_prediction_add_energy(report, prediction);
    rt_prediction_add_electricity(report, prediction);
    add_host(report, prediction);
    add_memory(report, &prediction->forecast);
    add_assumed(report, prediction);
    add_known(report, prediction);
    add_coverage(report, prediction, rows, count);
    rt_fit_report(report, &prediction->advice);
    if (pictures)
        rt_prediction_add_plots(report, prediction);
    rt_report_add_table(report, "ops",
                        rt_graph_trains(&prediction->graph)
                            ? "By op, all launches of a step on the busiest GPU"
                            : "By op, all launches of one pass on one GPU",
                        op_table(rows, count));
    bool transforms = false;
    for (size_t i = 0; i < count; i++)
        transforms |= rows[i].roofline_us > rows[i].time_us;
    rt_report_add_note(report, NULL,
                       "of peak %%: FLOP/s or memory bandwidth that the op reaches, whichever is nearer to "
                       "the data sheet's peak%s",
                       transforms
                           ? "; more than 100 where operands come out of the L2, which is faster than the "
                             "memory, where transforms save a convolution multiplications, or where a "
                             "GeForce board runs above its sheet: no forecast is below the bounds of those"
                           : "");
    rt_report_add_table(report, "heaviest", "The heaviest nodes", node_table(prediction));
    rt_report_add_json(report, "warnings", warnings_json(prediction));
    return report;
}
