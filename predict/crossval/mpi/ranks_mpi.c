/* rooftile_mpi.so: the only user of MPI. See predict/crossval/ranks.h. */
#include "predict/crossval/ranks.h"

#include <mpi.h>
#include <stddef.h>
#include <time.h>

extern const struct rt_ranks_door rt_ranks_door;

static int start(int *rank, int *size)
{
    int code = MPI_Init(NULL, NULL);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_rank(MPI_COMM_WORLD, rank);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_size(MPI_COMM_WORLD, size);
    return code;
}

/* A plain MPI_Allreduce would spin on the processor that another rank's folds need. */
static int least(int value)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    MPI_Request request;
    int smallest = value, done = 0;
    MPI_Iallreduce(&value, &smallest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
    for (;;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done)
            return smallest;
        nanosleep(&pause, NULL);
    }
}

static void finish(void)
{
    MPI_Finalize();
}

const struct rt_ranks_door rt_ranks_door = {start, least, finish};
