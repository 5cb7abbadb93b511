/*
 * Runtimes: what runs a model, and so which kernels it becomes. A row per runtime; the builders of
 * architectures/ ask the row for each choice.
 */
#ifndef ROOFTILE_MODELS_NETWORKS_RUNTIME_H
#define ROOFTILE_MODELS_NETWORKS_RUNTIME_H

#include <stdbool.h>

enum rt_runtime_id {
    RT_RUNTIME_EAGER_MATH, /* PyTorch, op by op, attention written out */
    RT_RUNTIME_EAGER,      /* PyTorch, op by op, attention by scaled_dot_product_attention */
    RT_RUNTIME_COMPILE, /* torch.compile: chains of elementwise ops as one kernel, replayed as CUDA graphs */
    RT_RUNTIME_SERVING, /* an LLM server: vLLM, SGLang, TensorRT-LLM */
    RT_RUNTIME_GRAPH,   /* the kernels of eager, captured once and replayed as a CUDA graph */
    RT_RUNTIME_EAGER_OLD, /* PyTorch before 1.5, op by op: elementwise kernels load element by element */
    RT_RUNTIME_COUNT
};

struct rt_runtime {
    const char *name;     /* as --runtime has it */
    const char *what;     /* for people */
    const char *unfused;  /* the same where no kernel fuses attention (fp32, T5) */
    const char *plain;    /* the same of models without attention */
    bool fused_attention; /* one kernel instead of products and softmax, where there is one */
    bool fusion;          /* chains of elementwise ops are one kernel */
    bool served;          /* the kernels of servers: docs/method.md */
    bool hosted;          /* its kernels may wait for a host that launches them, even where none is named */
    bool replayed;        /* the host launches a CUDA graph, not each kernel */
    bool scalar_loads;    /* its elementwise kernels move one element at a time */
};
extern const struct rt_runtime rt_runtimes[RT_RUNTIME_COUNT];
extern const char *const rt_runtime_names[RT_RUNTIME_COUNT];

#endif
