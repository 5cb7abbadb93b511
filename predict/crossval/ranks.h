/*
 * Ranks: the processes that `mpirun` started to share one piece of work. MPI is behind a door: a module,
 * rooftile_mpi.so, which is opened only where the environment says that mpirun is at work, so that the
 * program neither needs MPI nor waits for it to start otherwise.
 */
#ifndef ROOFTILE_PREDICT_CROSSVAL_RANKS_H
#define ROOFTILE_PREDICT_CROSSVAL_RANKS_H

/* What the module offers, under the name "rt_ranks_door". */
struct rt_ranks_door {
    int (*start)(int *rank, int *size); /* 0, or else MPI's error code */
    int (*least)(int value);            /* of all ranks' values; waits for all */
    void (*finish)(void);
};

struct rt_ranks {
    int rank, size;
    const struct rt_ranks_door *door; /* NULL: alone */
};

/* {0, 1} where this process was not started by mpirun. RT_EUSAGE where it was and the module is not there. */
int rt_ranks_start(struct rt_ranks *out);

/* Waits for all ranks; the worst of their statuses, with a sentence of its own where this rank had none. */
int rt_ranks_agree(const struct rt_ranks *ranks, int status);

void rt_ranks_finish(struct rt_ranks *ranks);

/* How many ranks share this machine; 1 where it is alone. */
int rt_ranks_local(void);

#endif
