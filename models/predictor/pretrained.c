/* Where the predictor lies that comes with rooftile. See predictor.h. */
#include "base/status.h"
#include "models/predictor/predictor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Beside the program: in a clone it lies in build/, installed in bin/. */
static const char *const places[] = {"../models/predictor/pretrained/rooftile.h5",
                                     "../share/rooftile/rooftile.h5"};

static char *program_folder(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0)
        return rt_strdup(".");
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    return rt_format("%.*s", slash != NULL ? (int)(slash - path) : 0, path);
}

int rt_pretrained_path(char **out)
{
    const char *chosen = getenv("ROOFTILE_PRETRAINED");
    if (chosen != NULL) {
        *out = rt_strdup(chosen);
        return RT_OK;
    }
    char *folder = program_folder();
    for (size_t i = 0; i < RT_COUNT(places); i++) {
        char *path = rt_format("%s/%s", folder, places[i]);
        if (access(path, R_OK) == 0) {
            free(folder);
            *out = path;
            return RT_OK;
        }
        free(path);
    }
    int status =
        rt_fail(RT_ENOTFOUND,
                "the predictor that comes with rooftile is not beside the program (%s/%s or %s); name "
                "one with --predictor, or say where it is in ROOFTILE_PRETRAINED",
                folder, places[0], places[1]);
    free(folder);
    return status;
}
