/* Where the predictor lies that comes with rooftile. See predictor.h. */
#include "base/status.h"
#include "models/predictors/predictor/predictor.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From the folder of the program or of librooftile.so: in a clone that is build/, installed bin/, lib/ or
 * lib/x86_64-linux-gnu/. A build folder elsewhere has a link beside the program. */
static const char *const places[] = {"../models/predictors/pretrained/rooftile.h5",
                                     "../share/rooftile/rooftile.h5", "../../share/rooftile/rooftile.h5",
                                     "rooftile.h5"};

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? rt_format("%.*s", (int)(slash - path), path) : rt_strdup(".");
}

static char *program_folder(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length < 0 ? 0 : length] = '\0';
    return folder_of(path);
}

/* Of the library that this is part of; of a program that holds it, as that was called. */
static char *library_folder(void)
{
    Dl_info library;
    return folder_of(dladdr(places, &library) != 0 ? library.dli_fname : "");
}

/* NULL where it is in none of the places. */
static char *find_from(const char *folder)
{
    for (size_t i = 0; i < RT_COUNT(places); i++) {
        char *path = rt_format("%s/%s", folder, places[i]);
        if (access(path, R_OK) == 0)
            return path;
        free(path);
    }
    return NULL;
}

int rt_pretrained_path(char **out)
{
    const char *chosen = getenv("ROOFTILE_PRETRAINED");
    char *program = program_folder(), *library = library_folder();
    char *path = chosen != NULL ? rt_strdup(chosen) : find_from(program);
    if (path == NULL)
        path = find_from(library);
    int status = RT_OK;
    if (path != NULL)
        *out = path;
    else
        status =
            rt_fail(RT_ENOTFOUND,
                    "the predictor that comes with rooftile is not beside the program (%s/%s or %s); name "
                    "one with --predictor, or say where it is in ROOFTILE_PRETRAINED",
                    program, places[0], places[1]);
    free(program);
    free(library);
    return status;
}
