/* The door to MPI. See ranks.h. */
#include "predict/crossval/ranks.h"
#include "base/status.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the module lies as seen from the program's folder: beside it in a build folder, else installed. */
static const char *const places[] = {"rooftile_mpi.so", ROOFTILE_MPI_INSTALLED "/rooftile_mpi.so"};

/* Open MPI's mpirun and Hydra tell by their environment that they started a process, and how many. */
static int number_in_environment(const char *const *names, size_t count, int otherwise)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = getenv(names[i]);
        if (text != NULL && atoi(text) > 0)
            return atoi(text);
    }
    return otherwise;
}

static int ranks_started(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    return number_in_environment(names, RT_COUNT(names), 1);
}

int rt_ranks_local(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
    return number_in_environment(names, RT_COUNT(names), 1);
}

static const struct rt_ranks_door *open_door(void)
{
    char folder[4096];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length <= 0)
        return NULL;
    folder[length] = '\0';
    *strrchr(folder, '/') = '\0';
    for (size_t i = 0; i < RT_COUNT(places); i++) {
        char *path = rt_format("%s/%s", folder, places[i]);
        void *module = dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* MPI's own plugins look for MPI's names */
        free(path);
        if (module != NULL)
            return dlsym(module, "rt_ranks_door");
    }
    return NULL;
}

int rt_ranks_start(struct rt_ranks *out)
{
    *out = (struct rt_ranks){.rank = 0, .size = 1};
    int count = ranks_started();
    if (count == 1)
        return RT_OK;
    const struct rt_ranks_door *door = open_door();
    if (door == NULL)
        return rt_fail(
            RT_EUSAGE,
            "mpirun started %d of this program, which has no MPI (rooftile_mpi.so): build it where "
            "libopenmpi-dev is installed, or leave mpirun out and use --jobs",
            count);
    int code = door->start(&out->rank, &out->size);
    if (code != 0)
        return rt_fail(RT_EIO, "MPI cannot be started: its error code is %d", code);
    out->door = door;
    return RT_OK;
}

int rt_ranks_agree(const struct rt_ranks *ranks, int status)
{
    int worst = ranks->door != NULL ? ranks->door->least(status) : status;
    if (worst != RT_OK && status == RT_OK)
        return rt_fail(worst, "rank %d did its part, another rank did not: see what that one said",
                       ranks->rank);
    return status;
}

void rt_ranks_finish(struct rt_ranks *ranks)
{
    if (ranks->door != NULL)
        ranks->door->finish();
    ranks->door = NULL;
}
