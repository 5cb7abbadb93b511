/*
 * The scheduler: a worker process per lane. Lanes run in parallel; the devices of a lane share hardware and
 * take turns. A worker that dies, or is silent for too long, is replaced, and its kernel marked as failed; a
 * device whose workers keep dying is given up.
 */
#pragma once

#include "collect/collection.h"

#define RT_LANE_LOSSES 5    /* of workers in a row, after which a device is given up */
#define RT_PAUSE_SHARE 0.05 /* of the budget, and of the time so far, that a lane may pause to cool */

/* Measures what is not done, until the budget is spent. RT_EINTERRUPTED after Ctrl-C; RT_EIO where a device
 * was given up, once the others are done, or where nothing can be saved. All workers have ended then. */
int rt_scheduler_run(struct rt_collection *c);
