/*
 * The options that say what a step is and what runs it, as commands share them: rows of their tables
 * (base/options.h) that fill a struct rt_step. Only the command line knows that a field is called --kv-cache.
 */
#pragma once

#include "base/options.h"
#include "models/networks/step.h"

/* A row beside --model. */
#define RT_STEP_AS_OPTION(type, member)                                                                      \
    {                                                                                                        \
        "as", 0, "TYPE", RT_TEXT(type, member),                                                              \
            "Reads the config.json as one of this model_type (`rooftile graph --types`), where its own is "  \
            "unknown, or as your FILE.json of an architecture says"                                          \
    }

/* Rows for `member`, a struct rt_step of struct `type`. */
#define RT_STEP_OPTIONS(type, member)                                                                        \
    {"mode", 0, "MODE", RT_OWN(type, member.mode, rt_read_mode, .suggests = rt_step_mode_suggest),           \
     "inference (or prefill), training, or decode: one token a sequence (default inference)"},               \
        {"dtype", 0, "NAME",                                                                                 \
         RT_OWN(type, member.dtype, rt_read_dtype, .suggests = rt_dtype_suggest,                             \
                .also = "precision torch-dtype"),                                                            \
         "Element type of weights and activations: fp32, tf32, fp16, bf16, fp64 (PyTorch's float16 and "     \
         "bfloat16, too), or a narrow one of the products, as --quant (default: the checkpoint's; of a "     \
         "model "                                                                                            \
         "without one, and for --runtime serving, 16 bits where the GPU has units for them)"},               \
        {"quant", 0, "NAME",                                                                                 \
         RT_OWN(type, member.quant, rt_read_dtype_or_none, .suggests = rt_dtype_suggest),                    \
         "Of the products with weights: fp8, fp8_block, fp4 (nvfp4), mxfp4, mxfp4_mxfp8, w4afp8, int8, "     \
         "int8_wo, int4; all else is in "                                                                    \
         "--dtype "                                                                                          \
         "(default: as the config.json has it; none: not)"},                                                 \
        {"kv-cache", 0, "NAME",                                                                              \
         RT_OWN(type, member.kv_cache, rt_read_dtype_or_none, .suggests = rt_dtype_suggest),                 \
         "Element type of cached keys and values: fp8, or that of --dtype (default: as the config.json has " \
         "it)"},                                                                                             \
        {"tf32", 0, "WHAT", RT_CHOICE(type, member.tf32, rt_tf32_uses),                                      \
         "fp32 on Ampere and newer: what matrix units multiply in TF32: conv, all or none (default: conv "   \
         "where "                                                                                            \
         "PyTorch runs a model of images or an ONNX file, as its own default is)"},                          \
        {"runtime", 0, "NAME", RT_CHOICE(type, member.runtime, rt_runtime_names),                            \
         "What runs it: eager-math, eager (on several GPUs DDP), eager-2.4 (PyTorch 2.0 to 2.4), "           \
         "eager-1.13, eager-1.4, graph "                                                                     \
         "(eager's kernels as one "                                                                          \
         "CUDA graph), compile (PyTorch), "                                                                  \
         "serving (vLLM, SGLang, TensorRT-LLM), or what trains at scale: megatron (Megatron-LM and "         \
         "Transformer Engine, NeMo), megatron-bridge, megatron-2021, fsdp, torchtitan, deepspeed, "          \
         "nanotron; "                                                                                        \
         "default: "                                                                                         \
         "serving for decode and prefill of the models that servers run, in 16 bits or fewer, eager for "    \
         "all else"},                                                                                        \
        {"lengths", 0, "N[+CACHED][xCOUNT],...", RT_TEXT(type, member.lengths),                              \
         "serving: prefill sequences that differ, by their new tokens and those cached before them"},        \
        {"contexts", 0, "N[xCOUNT],...", RT_TEXT(type, member.contexts),                                     \
         "serving: decode sequences that differ, by their cached tokens; with --lengths, both in one step"}, \
        {"fusion", 0, NULL, RT_FLAG(type, member.fusion),                                                    \
         "Chains of elementwise ops run as one kernel, as torch.compile does"},                              \
        {"layout", 0, "NAME", RT_CHOICE(type, member.layout, rt_layouts),                                    \
                                                                                                             \
         "images: how they are stored: nchw (default) or nhwc (channels last)"},                             \
        {"steps", 0, "N", RT_INTEGER(type, member.denoising_steps, 1, RT_MOST_STEPS),                        \
         "diffusion: denoising steps (default: the pipeline's)"},                                            \
        {"images", 0, "N", RT_INTEGER(type, member.images, 1, RT_MOST_PROMPT_IMAGES),                        \
         "models of text and images: images of each prompt, of --image pixels a side, whose tokens are "     \
         "added to --seq (default 1)"},                                                                      \
        {"frames", 0, "N", RT_INTEGER(type, member.frames, 1, RT_MOST_FRAMES),                               \
         "diffusion: frames of a video (default: the pipeline's)"},                                          \
        {"seconds", 0, "S", RT_NUMBER(type, member.seconds, 1e-3, RT_MOST_SECONDS),                          \
         "speech: seconds of sound, at 16 kHz (default 10; Whisper hears a window, of 30, and no more)"},    \
        {"autocast", 0, NULL, RT_FLAG(type, member.autocast),                                                \
         "torch.autocast in --dtype (default fp16): weights in fp32, cast in every step"},                   \
        {"fast-norms", 0, NULL, RT_FLAG(type, member.fast_norms),                                            \
         "--autocast: layer and group norms in --dtype too, as timm's --fast-norm and Apex have them"},      \
        {"recompute", 0, "WHAT", RT_CHOICE(type, member.recompute, rt_recomputes),                           \
         "training: layers keep only their input and run again before their backward pass: layers; only "    \
         "attention does: selective; norms and experts' activations: norms; these and experts: experts; "    \
         "what "                                                                                             \
         "makes heads of latent attention: latent; none (default none)"},                                    \
        {"cuda-graphs", 0, "WHAT", RT_CHOICE(type, member.cuda_graphs, rt_cuda_graphs),                      \
         "training by Megatron: what is captured: routers of experts: router; layers but what depends on "   \
         "the tokens of each expert: layers; all: step; none (default none)"},                               \
        {"attention", 0, "LIBRARY", RT_CHOICE(type, member.attention, rt_attention_libraries),               \
         "PyTorch and what trains at scale: whose kernels attention runs: math (written out), triton "       \
         "(FlashAttention's of 2022), flash2, flash3, cudnn (default: own, the runtime's)"},                 \
        {"lora", 0, "RANK", RT_INTEGER(type, member.lora, 1, 65536),                                         \
         "training: adapters of this rank beside the products of the layers, which alone are trained"},      \
        {"lora-on", 0, "WHAT", RT_CHOICE(type, member.lora_on, rt_lora_places),                              \
         "training: products with adapters: all, attention (of it the output's, too) or qkv (default all)"}, \
    {                                                                                                        \
        "optimizer", 0, "NAME", RT_CHOICE(type, member.optimizer, rt_optimizers),                            \
            "training: its step: none, sgd, adamw, momentum (SGD with it) or adamw-cpu (DeepSpeed's "        \
            "ZeRO-Offload: the host's cores step; default adamw)"                                            \
    }
#define RT_STEP_GPU_OPTIONS(type, member)                                                                    \
    {"tp", 0, "N", RT_INTEGER(type, member.parallel.tensor, 1, 65536, .also = "tensor"),                     \
     "Tensor parallel: every layer on N GPUs"},                                                              \
        {"ep", 0, "N", RT_INTEGER(type, member.parallel.expert, 1, 65536, .also = "expert-parallel"),        \
         "Whole experts shared out over N GPUs: serving, of the --tp x --attention-dp, training, of the "    \
         "--tp x --cp x --dp"},                                                                              \
        {"ulysses", 0, "N", RT_INTEGER(type, member.parallel.ulysses, 1, RT_MOST_SEQUENCE_GPUS),             \
         "diffusion: tokens of an image on N GPUs, exchanged for heads around attention"},                   \
        {"ring", 0, "N", RT_INTEGER(type, member.parallel.ring, 1, RT_MOST_SEQUENCE_GPUS),                   \
         "diffusion: tokens of an image on N (x --ulysses) GPUs, which pass keys and values round"},         \
    {                                                                                                        \
        "attention-dp", 0, "N", RT_INTEGER(type, member.parallel.attention, 1, 65536),                       \
            "serving: attention of N parts of the batch on GPUs of their own, experts over all of them"      \
    }
/* Beside them, of training. */
#define RT_STEP_TRAINING_OPTIONS(type, member)                                                               \
    {"sp", 0, NULL, RT_FLAG(type, member.parallel.sequence),                                                 \
     "training: --tp GPUs share out norms, dropout and residuals by tokens (sequence parallel)"},            \
    {                                                                                                        \
        "cp", 0, "N", RT_INTEGER(type, member.parallel.context, 1, 65536),                                   \
            "training: the tokens of each sequence on N GPUs (context parallel)"                             \
    }
/* Of the run that the step is one of. */
#define RT_STEP_RUN_OPTIONS(type, member)                                                                    \
    {"tokens", 0, "X", RT_NUMBER(type, member.run.tokens, 1, 1e18),                                          \
     "Tokens of the whole run, 15e12: also its steps, days, GPU hours, money and energy"},                   \
        {"run-steps", 0, "N", RT_NUMBER(type, member.run.steps, 1, 1e12),                                    \
         "The same by its steps, also of images"},                                                           \
        {"loader-rate", 0, "X", RT_NUMBER(type, member.run.loader_rate, 1e-6, 1e9),                          \
         "Sequences or images a second that a server's data loaders give, beside the step"},                 \
        {"checkpoint-gbs", 0, "X", RT_NUMBER(type, member.run.checkpoint_gbs, 1e-3, 1e6),                    \
         "What storage takes of a checkpoint from all GPUs together, 10^9 bytes/s, while they wait"},        \
        {"checkpoint-minutes", 0, "X", RT_NUMBER(type, member.run.checkpoint_minutes, 1e-3, 1e6),            \
         "Minutes from one checkpoint to the next (default: what --node-mtbf-hours makes best)"},            \
        {"node-mtbf-hours", 0, "X", RT_NUMBER(type, member.run.node_mtbf_hours, 1e-3, 1e9),                  \
         "Mean time between failures of a server, in hours: a failure ends the step of all"},                \
    {                                                                                                        \
        "restart-minutes", 0, "X", RT_NUMBER(type, member.run.restart_minutes, 1e-3, 1e5),                   \
            "Minutes from a failure until checkpoints are read again"                                        \
    }
/* Rows that say what servers are beside each other. */
#define RT_STEP_CLUSTER_OPTIONS(type, member)                                                                \
    {"node-gpus", 0, "N", RT_INTEGER(type, member.parallel.cluster.node_gpus, 1, 65536),                     \
     "GPUs of a server, or of an NVLink domain over several (default: 8; as the GPU's, 72 of GB200)"},       \
        {"node-gbs", 0, "X", RT_NUMBER(type, member.parallel.cluster.node_gbs, 0.01, 1e5),                   \
         "What each GPU sends to other servers, one direction, GB/s: 50 is a card of 400 Gb/s for each "     \
         "(default: as the GPU's usual servers)"},                                                           \
        {"network", 0, "NAME", RT_CHOICE(type, member.parallel.cluster.network, rt_networks),                \
         "What joins servers: infiniband (default), roce, efa, slingshot, tcp"},                             \
        {"oversubscription", 0, "X", RT_NUMBER(type, member.parallel.cluster.oversubscription, 1, 1e3),      \
         "How much less the network's core carries than its servers send (default 1)"},                      \
    {                                                                                                        \
        "cluster", 0, "FILE", RT_TEXT(type, member.cluster, .reads = rt_reads_path),                         \
            "The servers from a file of JSON (docs/guide/predict.md); options beside it hold"                \
    }
