/*
 * Serving: what users of an LLM server wait for, and what it gives, on GPUs that nobody has. A discrete-event
 * simulation of continuous batching (Orca: Yu et al., OSDI 2022; vLLM: Kwon et al., SOSP 2023; chunked
 * prefill: Agrawal et al., OSDI 2024), each step of which takes what the predictor says.
 *
 * The files, in reading order:
 *   batch.h            what runs in one step, and what says how long it takes
 *   step_cost.[ch]     that, by forecasts: of a model on a device, cut in a way, by a server
 *   cost_table.[ch]    tables of times, monotone
 *   load.[ch]          who asks: requests, their lengths and when they come
 *   trace.[ch]         a list of requests in CSV
 *   deployment.[ch]    a model on GPUs, cut in a way: costs, and room for its cache
 *   simulate.[ch]      the events, and what comes out
 *   replica.[ch]       one server: its queue, its cache, and the step it is in
 *   decoding.[ch], prefix_cache.[ch], lives.[ch], tally.[ch]   its parts
 *   recorder.[ch], timeline.[ch], report.[ch], report_plots.[ch]   what is kept of a simulation, and printed
 *   cmd_serve.c        `rooftile serve`
 */
#ifndef ROOFTILE_PREDICT_SERVING_SERVE_H
#define ROOFTILE_PREDICT_SERVING_SERVE_H

#endif
