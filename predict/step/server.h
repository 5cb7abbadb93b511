/*
 * LLM servers as rows: what a step takes beside the GPU's kernels. Kernels of all of them are those of the
 * runtime "serving"; what differs is the host, which schedules, samples and hands out texts between steps,
 * and when prompts are prefilled. Times of the host are of the machines that were measured; a faster one
 * takes less.
 */
#ifndef ROOFTILE_PREDICT_STEP_SERVER_H
#define ROOFTILE_PREDICT_STEP_SERVER_H

#include <stdbool.h>
#include <stdint.h>

struct rt_text;

struct rt_server {
    const char *name;   /* as the attribute `backend` of runs has it */
    double step_us;     /* of the host in every step, not hidden behind the GPU */
    double sequence_us; /* for each sequence of it */
    double parallel_us; /* more where several GPUs share a model */
    double gpu_us;      /* more for each GPU beside the first of a stage */
    double launch_us;   /* of a kernel, one by one: rt_forecast_options.host_us; 0: as CUDA graphs */
    double
        request_us; /* of a request, beside the steps: HTTP, tokenizer, the way to the scheduler and back */
    /* Prompts of all waiting sequences are prefilled before the next decode step. Sequences of one length
     * then begin and end together, and the mean of them waits for half of the others' prompts while it
     * decodes. */
    bool prompts_first;
};

/* The row of a name, case and separators ignored; the first row, of a server whose host is hidden behind the
 * GPU, where there is none of that name or it is NULL or "". */
const struct rt_server *rt_server_find(const char *name);

/* The same, NULL where there is no such row. */
const struct rt_server *rt_server_named(const char *name);
void rt_server_suggest(struct rt_text *list); /* .suggests of rows: base/options.h */

/* What the host adds to a step of so many sequences on so many GPUs, in a pipeline of so many stages. */
double rt_server_step_us(const struct rt_server *server, int64_t sequences, int64_t gpus, int64_t stages);

/* Part of a GPU's memory that servers use for weights, activations and cache: vLLM's gpu_memory_utilization
 * is 0.9 by default, TensorRT-LLM takes 0.9 of what weights leave. */
#define RT_SERVER_MEMORY 0.9
/* Beside them lie CUDA's context, NCCL's buffers and captured graphs; as many GiB make the batches of
 * Llama-2-70B on four A100-40 wait that did so in LLM-Inference-Bench. */
#define RT_SERVER_BESIDE_GIB 2.0

/* Of it, the time in which a GPU is busy all the same, with what graphs do not have (sampling, copies,
 * launches one by one): 0.4 of all but what further GPUs add. ML.ENERGY's servers draw 200 to 300 W on an
 * H100 whose kernels fill a tenth of the time; 0.3, 0.4 and 0.5 were judged with each GPU left out
 * (docs/log/energy.md). */
double rt_server_busy_us(const struct rt_server *server, int64_t sequences);

#endif
