/*
 * One request: everything that can be asked of one step of a model. The command line, the C library, Python,
 * lists of jobs, serve, plan, explore, advise, pack, collections and measured runs fill a struct rt_step and
 * leave out what nobody said; rt_step_settle() fills in the rest, by one table of defaults, and remembers
 * what it assumed:
 *
 *   mode         inference
 *   dtype        the checkpoint's: of the config.json, of a model by name the published one's; where none is
 *                known, 16 bits where the GPU has units for them (bf16, else fp16), else fp32. A bf16
 *                checkpoint is fp16 on a GPU without bf16, and what a server runs is in 16 bits, as vLLM's
 *                --dtype auto has it
 *   runtime      a server for decode and prefill of the language models that servers run, in 16 bits or
 *                fewer, and for lists of sequences; PyTorch's eager mode for training, images, sound,
 *                encoders and all else
 *   quant        as the config.json has it; kv_cache likewise
 *   tf32         of models of images and files in fp32 by PyTorch, on GPUs that have units for it: convolutions,
 *                as torch.backends.cudnn.allow_tf32 has it; products not, as since PyTorch 1.12
 *   optimizer    training: adamw
 *   batch        1 for each part that it is divided into
 *   seq          1024, or the model's positions where those are fewer
 *   context      decode: the same, less the token that is made
 *   image        the model's own, and so seconds, frames and steps; language models with a tower: none
 *   images       one, where a language model is given their side
 *   attention    the runtime's own kernels
 *
 * Of training (cuts.h): {ep} lies within tp x cp x dp, and experts that it shares out are not cut by {tp}
 * (Megatron-LM's expert-tensor-parallel-size 1); without it they are.
 *
 * Errors name the fields of struct rt_step as users know them: {kv_cache} (base/status.h).
 */
#pragma once

#include "datasets/device.h"
#include "datasets/run_attributes.h"
#include "models/networks/source.h"
#include "models/networks/parallelism.h"
#include "models/networks/sequences.h"

/* Beside the values of an enum: nobody said; and of dtypes that may be none: said to be that of all else. */
enum { RT_NOT_GIVEN = -1, RT_DTYPE_NONE = -2 };

/* What is to be computed of a step beside its time. */
enum rt_want { RT_WANT_MEMORY = 1, RT_WANT_ENERGY = 2 };

enum { RT_MOST_SEQUENCE_GPUS = 256, RT_MOST_PROMPT_IMAGES = 4096 };

enum rt_layout { RT_LAYOUT_NCHW, RT_LAYOUT_NHWC, RT_LAYOUT_COUNT };
extern const char *const rt_layouts[RT_LAYOUT_COUNT]; /* "nchw", "nhwc" */

/* The run that a step of training is one of (predict/step/run.h has what it comes to). 0: not given. */
struct rt_training_run {
    double tokens, steps;      /* of the whole of it: one of the two */
    double gpu_price;          /* of an hour of a GPU, in any currency */
    double loader_rate;        /* sequences or images a second that a server's data loaders give */
    double checkpoint_gbs;     /* that storage takes from all GPUs together, 10^9 bytes/s */
    double checkpoint_minutes; /* from one checkpoint to the next; 0: the best */
    double node_mtbf_hours;    /* mean time between failures of a server */
    double restart_minutes;    /* from a failure until checkpoints are read again */
};

struct rt_step {
    int mode;      /* enum rt_step_kind */
    int64_t batch; /* sequences or images of the step, over all GPUs; 0: not given, as of the numbers below */
    int64_t sequence;                          /* tokens of each */
    int64_t image, image_width;                /* sides of images in pixels; width 0: a square */
    int64_t images;                            /* of each prompt, beside its tokens (tower.h) */
    int64_t frames, denoising_steps;           /* diffusion pipelines: of videos; steps */
    int64_t context;                           /* decode: tokens cached already */
    double seconds;                            /* of sound, at 16 kHz */
    int64_t layers;                            /* of an operator graph that holds one layer */
    const char *lengths, *contexts;            /* sequences that differ (sequences.h); NULL: all are alike */
    int dtype, quant, kv_cache;                /* enum rt_dtype; quant and kv_cache also RT_DTYPE_NONE */
    int tf32;                                  /* enum rt_tf32_use */
    int runtime, optimizer, recompute, layout; /* their enums */
    int attention;                             /* enum rt_attention_library */
    int cuda_graphs;                           /* enum rt_cuda_graphs */
    int64_t lora;                              /* rank of the adapters that alone are trained; 0: all is */
    int lora_on;                               /* enum rt_lora_place */
    bool fusion, autocast, fast_norms;
    int64_t nodes;       /* full servers, which {dp} follows from; 0: not given */
    const char *cluster; /* a file (datasets/cluster.h) that parallel.cluster's fields are read from */
    struct rt_parallelism parallel;
    /* Beside the GPU; names and files of predict/step/host.h and server.h. */
    const char *host, *server;
    double host_us;    /* to launch any kernel; NaN: as the host has it */
    int input, result; /* enum rt_transfer */
    bool overlap;
    double power_limit_w; /* of each GPU; NaN: the board's */
    struct rt_training_run run;
    double level;   /* of the interval, above 0 and below 1; 0: none */
    unsigned wants; /* enum rt_want, or-ed */
};
#define RT_STEP_NOT_GIVEN                                                                                    \
    {                                                                                                        \
        .mode = RT_NOT_GIVEN, .dtype = RT_NOT_GIVEN, .quant = RT_NOT_GIVEN, .kv_cache = RT_NOT_GIVEN,        \
        .runtime = RT_NOT_GIVEN, .optimizer = RT_NOT_GIVEN, .recompute = RT_NOT_GIVEN,                       \
        .layout = RT_NOT_GIVEN, .tf32 = RT_NOT_GIVEN, .parallel = RT_PARALLELISM_NONE, .host_us = NAN,       \
        .power_limit_w = NAN                                                                                 \
    }

/* The fields that have a name, as texts of "name=value" fill them: options of the command line with
 * underscores. */
enum rt_step_field {
    RT_STEP_MODE,
    RT_STEP_BATCH,
    RT_STEP_SEQ,
    RT_STEP_IMAGE,
    RT_STEP_IMAGES,
    RT_STEP_FRAMES,
    RT_STEP_STEPS,
    RT_STEP_CONTEXT,
    RT_STEP_SECONDS,
    RT_STEP_LAYERS,
    RT_STEP_LENGTHS,
    RT_STEP_CONTEXTS,
    RT_STEP_DTYPE,
    RT_STEP_QUANT,
    RT_STEP_KV_CACHE,
    RT_STEP_TF32,
    RT_STEP_RUNTIME,
    RT_STEP_OPTIMIZER,
    RT_STEP_RECOMPUTE,
    RT_STEP_ATTENTION,
    RT_STEP_CUDA_GRAPHS,
    RT_STEP_LORA,
    RT_STEP_LORA_ON,
    RT_STEP_LAYOUT,
    RT_STEP_FUSION,
    RT_STEP_AUTOCAST,
    RT_STEP_FAST_NORMS,
    RT_STEP_DP,
    RT_STEP_TP,
    RT_STEP_PP,
    RT_STEP_MICROBATCHES,
    RT_STEP_EP,
    RT_STEP_ATTENTION_DP,
    RT_STEP_ULYSSES,
    RT_STEP_RING,
    RT_STEP_CP,
    RT_STEP_VP,
    RT_STEP_SP,
    RT_STEP_TP_OVERLAP,
    RT_STEP_EXPERT_EXCHANGE,
    RT_STEP_EXPERT_OVERLAP,
    RT_STEP_SCHEDULE,
    RT_STEP_SHARD,
    RT_STEP_SHARD_GPUS,
    RT_STEP_FABRIC,
    RT_STEP_LINK_GBS,
    RT_STEP_NODES,
    RT_STEP_NODE_GPUS,
    RT_STEP_NODE_GBS,
    RT_STEP_NETWORK,
    RT_STEP_OVERSUBSCRIPTION,
    RT_STEP_CLUSTER,
    RT_STEP_NO_OVERLAP,
    RT_STEP_HOST,
    RT_STEP_HOST_US,
    RT_STEP_SERVER,
    RT_STEP_INPUT,
    RT_STEP_RESULT,
    RT_STEP_OVERLAP,
    RT_STEP_POWER_LIMIT,
    RT_STEP_INTERVAL,
    RT_STEP_TOKENS,
    RT_STEP_RUN_STEPS,
    RT_STEP_GPU_PRICE,
    RT_STEP_LOADER_RATE,
    RT_STEP_CHECKPOINT_GBS,
    RT_STEP_CHECKPOINT_MINUTES,
    RT_STEP_NODE_MTBF_HOURS,
    RT_STEP_RESTART_MINUTES,
    RT_STEP_FIELDS
};
extern const char *const rt_step_field_names[RT_STEP_FIELDS]; /* "mode", "batch", "seq", "kv_cache" ... */

/* Reads the text of a field into the step; texts are borrowed. RT_EUSAGE: there is no such field (the
 * sentence names the near one), or its text is none of its values. */
int rt_step_set(struct rt_step *step, const char *field, const char *text);

/* A step with nothing left to say. */
struct rt_settled_step {
    struct rt_step step; /* dtype is of all but the layers' products where quant is not RT_DTYPE_NONE */
    struct rt_graph_options graph; /* of one GPU in one pass; its groups are `list`'s */
    struct rt_sequence_list list;
    bool assumed[RT_STEP_FIELDS]; /* what nobody said */
};

/* The mode (enum rt_step_kind) that a word stands for, case aside: "decode", "prefill" (inference), "train";
 * -1: none. rt_step_mode_suggest() lists the modes' own names for the completion of a command line. */
int rt_step_mode_find(const char *text);
void rt_step_mode_suggest(struct rt_text *list);
void rt_shard_suggest(struct rt_text *list); /* likewise rt_shard_kinds */

/* Readers of texts (base/options.h): a mode; "720x1280", height and width, or one side; a dtype; a dtype or
 * "none". */
int rt_read_mode(const char *option, const char *text, void *value); /* of an int */
/* Of image and image_width, two int64_t. */
int rt_read_image(const char *option, const char *text, void *value);
int rt_read_dtype(const char *option, const char *text, void *value);         /* of an int */
int rt_read_dtype_or_none(const char *option, const char *text, void *value); /* of an int */

/* Settles a step of `source` on `device` (NULL: any GPU of today). Release `out` in any case. RT_EUSAGE where
 * fields do not go together or not with the model, RT_EFORMAT where the config's dtype or quantisation cannot
 * be forecast. */
int rt_step_settle(const struct rt_step *step, const struct rt_model_source *source,
                   const struct rt_device *device, struct rt_settled_step *out);
/* For who asks for many steps: the file of the servers, if any, becomes fields; what was given
 * beside it holds. The errors of rt_cluster_read. */
int rt_step_read_cluster(struct rt_step *step);
/* A part of it: the servers, and of `nodes` the data-parallel degree. RT_EUSAGE where they do not divide;
 * the errors of rt_cluster_read. */
int rt_step_settle_cluster(struct rt_settled_step *settled, const struct rt_device *device);
void rt_settled_step_release(struct rt_settled_step *settled);

/* Its graph, of one GPU in one pass; the errors of rt_model_source_graph. Of a file, the sizes that it has
 * and nobody asked for become the step's: batch, sequence, image. */
int rt_settled_step_graph(struct rt_settled_step *settled, const struct rt_model_source *source,
                          struct rt_graph *out);

/* Both: the graph of a step of `source` on `device`. Lists of sequences are gone from its options. */
int rt_step_graph(const struct rt_step *step, const struct rt_model_source *source,
                  const struct rt_device *device, struct rt_graph *out);

/* What was assumed, as {"dtype": "bf16", "seq": 1024 ...}: a new reference. */
json_t *rt_settled_step_assumed(const struct rt_settled_step *settled);
/* The same for people, "bf16, by a server, 1024 tokens"; NULL: nothing that bears on the time. Free with
 * free(). */
char *rt_settled_step_assumed_words(const struct rt_settled_step *settled);
