/*
 * A list of requests in CSV, a row each in the order of their arrival. Columns, in any order:
 *
 *   arrival_s       seconds from any zero, never less than in the row before
 *   input_tokens    of the prompt, at least 1
 *   output_tokens   at least 1
 *   prefix_group    may be missing, as may its cells: a number; prompts of one group begin alike
 *   prefix_tokens   may be missing: tokens of that beginning (default: all of the prompt)
 */
#ifndef ROOFTILE_PREDICT_SERVING_TRACE_H
#define ROOFTILE_PREDICT_SERVING_TRACE_H

#include "predict/serving/load.h"

/* Release with rt_serve_trace_release. RT_EIO; RT_EFORMAT naming file, line and column for cells that are
 * wrong, rows out of order, columns that do not exist and a file without requests. */
int rt_serve_trace_read(const char *path, struct rt_serve_trace *out);
void rt_serve_trace_release(struct rt_serve_trace *trace); /* accepts zeros */

#endif
