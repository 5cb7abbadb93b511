/* What the program needs of its surroundings before any command runs: memory, streams, the environment. */
#ifndef ROOFTILE_START_H
#define ROOFTILE_START_H

/* Standard streams that are closed become /dev/null, so that no file takes their numbers. Reading and writing
 * them fails as it did: what cannot be printed is an error. */
void rt_start_streams(void);

/* Takes out of the environment what was set for OpenBLAS alone: programs that this one starts get the user's. */
void rt_start_environment(void);

/* RT_EUSAGE where SOURCE_DATE_EPOCH is no time. */
int rt_start_check(void);

#endif
