/* Units in child processes of one thread, --jobs at a time. */
#ifndef ROOFTILE_TRAIN_CROSSVAL_JOBS_H
#define ROOFTILE_TRAIN_CROSSVAL_JOBS_H

#include "train/crossval/crossval.h"

/*
 * Makes the fold files of this shard that are not there yet. A unit that fails says why in its fold file and
 * the others go on; RT_OK then. RT_EINTERRUPTED after Ctrl-C. RT_EIO where the folder cannot be used, or
 * another run is at work in it.
 *
 * Children share the parent's data (copy on write), are a process group each, so that Ctrl-C reaches them
 * through the parent alone, and end with it, whatever ends it. Their messages go to FOLDER/log.txt.
 */
int rt_crossval_run(const struct rt_crossval *crossval);

#endif
