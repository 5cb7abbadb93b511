/* Names of the parts of a step. See batch.h. */
#include "predict/serving/batch.h"

const char *const rt_serve_parts[RT_SERVE_PARTS] = {"products", "attention", "other kernels", "collectives",
                                                    "host"};
