/* The table of runtimes. See runtime.h. */
#include "models/graph/runtime.h"

/* Hugging Face's models on an AMD EPYC 7742, PyTorch 2.1, transformers 4.35: decode steps of one sequence on
 * an A100 take 26.1 to 26.4 ms (Llama-2-7B, 1,320 launches), 28.3 (Mistral-7B, 1,384), 30.0 to 33.2
 * (Llama-2-13B, 1,648), and as much at batch 8: 18.2 to 20.4 us a launch (optimum-benchmark,
 * examples/running-*). Other hosts differ by a factor. */
#define PYTORCH_HOST_US 20

const struct rt_runtime rt_runtimes[RT_RUNTIME_COUNT] = {
    [RT_RUNTIME_EAGER_MATH] = {.name = "eager-math",
                               .what = "PyTorch op by op, attention written out",
                               .unfused = "PyTorch op by op, attention written out"},
    [RT_RUNTIME_EAGER] = {.name = "eager",
                          .what = "PyTorch op by op, attention in one kernel",
                          .unfused = "PyTorch op by op, attention written out",
                          .fused_attention = true,
                          .host_us = PYTORCH_HOST_US},
    [RT_RUNTIME_COMPILE] = {.name = "compile",
                            .what = "torch.compile, attention in one kernel",
                            .unfused = "torch.compile, attention written out",
                            .fused_attention = true,
                            .fusion = true},
    [RT_RUNTIME_SERVING] = {.name = "serving",
                            .what = "an LLM server (vLLM, SGLang, TensorRT-LLM)",
                            .unfused = "an LLM server (vLLM, SGLang, TensorRT-LLM)",
                            .fused_attention = true,
                            .served = true},
};

const char *const rt_runtime_names[RT_RUNTIME_COUNT] = {"eager-math", "eager", "compile", "serving"};
