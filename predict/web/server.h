/*
 * `rooftile web`: an HTTP server on libmicrohttpd (https://www.gnu.org/software/libmicrohttpd), which is
 * opened at run time: its TLS brings libraries whose loading takes longer than a forecast, and this server
 * has none.
 *
 *   GET  /                            the form (form.html)
 *   GET, POST  /forecast /serve /plan     the page that --report x.html writes
 *   GET, POST  /v1/predict /v1/serve /v1/plan     the JSON of --json (docs/schema)
 *   POST /v1/forecast                 jobs as lines of JSON, forecasts as lines (docs/schema/job.json)
 *
 * Fields are options of the command with underscores, as the query of the URL, a form or an object of JSON.
 */
#pragma once

#include "predict/web/child.h"

#include <stdint.h>

struct rt_web_options {
    const char *address; /* IPv4 or IPv6, as numbers; "127.0.0.1" */
    int64_t port;        /* 0: any that is free */
    const char *predictor;
    struct rt_web_limits limits;
    int64_t body_kib; /* of a request */
};

/* Serves until Ctrl-C or SIGTERM. RT_ENOTFOUND without the library, RT_EIO where the port cannot be had. */
int rt_web_serve(const struct rt_web_options *options);
