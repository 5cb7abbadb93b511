/*
 * The options that say what a step is and what runs it, as `graph` and `predict` share them: rows of their
 * tables (base/options.h), and what follows from them once the model is known.
 */
#ifndef ROOFTILE_MODELS_NETWORKS_STEP_OPTIONS_H
#define ROOFTILE_MODELS_NETWORKS_STEP_OPTIONS_H

#include "base/options.h"
#include "models/networks/source.h"
#include "models/networks/sequences.h"

enum { RT_DTYPE_NOT_GIVEN = -1, RT_DTYPE_NONE = -2 }; /* beside an enum rt_dtype */

struct rt_step_options {
    struct rt_graph_options graph;
    const char *lengths, *contexts;
    const char *as;               /* model_type that a config.json is read as; NULL: its own */
    struct rt_sequence_list list; /* of both; graph.groups are in it */
    int quant, cache;             /* enum rt_dtype, or as above */
    bool half;                    /* 16 bits that nobody named: fp16 on GPUs without bf16 */
};
#define RT_STEP_DEFAULTS                                                                                     \
    {                                                                                                        \
        .graph = {.step = RT_STEP_PREFILL, .batch = 1, .dtype = RT_FP32, .tensor_parallel = 1},              \
        .quant = RT_DTYPE_NOT_GIVEN, .cache = RT_DTYPE_NOT_GIVEN                                             \
    }

int rt_read_dtype_or_none(const char *option, const char *text, void *value); /* of an int */
int rt_read_layout(const char *option, const char *text, void *value);        /* of a bool: channels last */
void rt_layout_suggest(struct rt_text *list);

/* A row beside --model. */
#define RT_STEP_AS_OPTION(type, member)                                                                      \
    {                                                                                                        \
        "as", 0, "TYPE", RT_TEXT(type, member.as),                                                           \
            "Reads the config.json as one of this model_type (`rooftile graph --types`), where its own is "  \
            "unknown, or as your FILE.json of an architecture says"                                          \
    }

/* Rows for `member`, a struct rt_step_options of struct `type`. */
#define RT_STEP_OPTIONS(type, member)                                                                        \
    {"mode", 0, "MODE", RT_CHOICE(type, member.graph.step, rt_steps),                                        \
     "inference, training or decode: one token a sequence"},                                                 \
        {"dtype", 0, "NAME",                                                                                 \
         RT_OWN(type, member.graph.dtype, rt_dtype_argument, .suggests = rt_dtype_suggest),                  \
         "Element type of weights and activations: fp32, tf32, fp16, bf16, fp64 (PyTorch's float16 and "     \
         "bfloat16, too), or a narrow one of the products, as --quant (default: that of the config.json, "   \
         "or of its "                                                                                        \
         "quantisation; else "                                                                               \
         "fp32, and for --runtime serving bf16, or fp16 on GPUs without it)"},                               \
        {"quant", 0, "NAME",                                                                                 \
         RT_OWN(type, member.quant, rt_read_dtype_or_none, .suggests = rt_dtype_suggest),                    \
         "Of the products with weights: fp8, fp8_block, fp4 (nvfp4), mxfp4, mxfp4_mxfp8, w4afp8, int8, "     \
         "int8_wo, int4; all else is in "                                                                    \
         "--dtype "                                                                                          \
         "(default: as the config.json has it; none: not)"},                                                 \
        {"kv-cache", 0, "NAME",                                                                              \
         RT_OWN(type, member.cache, rt_read_dtype_or_none, .suggests = rt_dtype_suggest),                    \
         "Element type of cached keys and values: fp8, or that of --dtype (default: as the config.json has " \
         "it)"},                                                                                             \
        {"runtime", 0, "NAME", RT_CHOICE(type, member.graph.runtime, rt_runtime_names),                      \
         "What runs it: eager-math, eager, eager-1.4 (before PyTorch 1.5), graph (eager's kernels as one "   \
         "CUDA graph), compile (PyTorch) or "                                                                \
         "serving (vLLM, SGLang, TensorRT-LLM); "                                                            \
         "default: "                                                                                         \
         "serving for decode and lists of sequences, eager for all else"},                                   \
        {"lengths", 0, "N[+CACHED][xCOUNT],...", RT_TEXT(type, member.lengths),                              \
         "serving: prefill sequences that differ, by their new tokens and those cached before them"},        \
        {"contexts", 0, "N[xCOUNT],...", RT_TEXT(type, member.contexts),                                     \
         "serving: decode sequences that differ, by their cached tokens; with --lengths, both in one step"}, \
        {"fusion", 0, NULL, RT_FLAG(type, member.graph.fusion),                                              \
         "Chains of elementwise ops run as one kernel, as torch.compile does"},                              \
        {"layout", 0, "NAME",                                                                                \
         RT_OWN(type, member.graph.channels_last, rt_read_layout, .suggests = rt_layout_suggest),            \
         "images: how they are stored: nchw (default) or nhwc (channels last)"},                             \
        {"seconds", 0, "S", RT_NUMBER(type, member.graph.seconds, 1e-3, RT_MOST_SECONDS),                    \
         "speech: seconds of sound, at 16 kHz (default 10; Whisper hears a window, of 30, and no more)"},    \
        {"autocast", 0, NULL, RT_FLAG(type, member.graph.autocast),                                          \
         "torch.autocast in --dtype (default fp16): weights in fp32, cast in every step"},                   \
        {"recompute", 0, "WHAT", RT_CHOICE(type, member.graph.recompute, rt_recomputes),                     \
         "training: layers keep only their input and run again before their backward pass: none or layers"}, \
    {                                                                                                        \
        "optimizer", 0, "NAME", RT_CHOICE(type, member.graph.optimizer, rt_optimizers),                      \
            "training: add its step: none, sgd, adamw or momentum (SGD with it)"                             \
    }
#define RT_STEP_GPU_OPTIONS(type, member)                                                                    \
    {"tp", 0, "N", RT_INTEGER(type, member.graph.tensor_parallel, 1, 65536),                                 \
     "Tensor parallel: every layer on N GPUs"},                                                              \
        {"ep", 0, "N", RT_INTEGER(type, member.graph.expert_parallel, 1, 65536),                             \
         "serving: whole experts shared out over N of the --tp x --attention-dp GPUs"},                      \
    {                                                                                                        \
        "attention-dp", 0, "N", RT_INTEGER(type, member.graph.attention_data_parallel, 1, 65536),            \
            "serving: attention of N parts of the batch on GPUs of their own, experts over all of them"      \
    }

/* Sets dtype, runtime, cache and groups of options->graph. Lists say what the step is: lengths prefill,
 * contexts decode, both are one mixed step; none of `alike` (names of options, NULL-terminated) may be given
 * with them. RT_EUSAGE where options do not fit together, RT_EFORMAT where the config's dtype is unknown.
 * Release `options` in both cases. */
int rt_step_options_settle(const struct rt_command_line *line, const struct rt_model_source *source,
                           const char *const *alike, struct rt_step_options *options);
void rt_step_options_release(struct rt_step_options *options);

#endif
