/*
 * Lanes: devices that share hardware take turns, lanes work side by side, a worker process each. A worker
 * that dies, or says nothing for too long, marks its kernel as failed and is replaced; a device whose workers
 * keep dying is given up.
 */
#ifndef ROOFTILE_COLLECT_SCHEDULER_H
#define ROOFTILE_COLLECT_SCHEDULER_H

#include "collect/collection.h"

#define RT_LANE_DEATHS 5    /* workers in a row that die before a device is given up */
#define RT_PAUSE_SHARE 0.05 /* of the budget, and of the time so far, that a lane pauses to cool */

/* Measures what is not done, until the budget is spent. RT_EINTERRUPTED after Ctrl-C; RT_EIO where devices
 * were given up, once the others are done, or where nothing can be saved. No worker is left behind. */
int rt_scheduler_run(struct rt_collection *c);

#endif
