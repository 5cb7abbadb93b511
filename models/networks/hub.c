/* Ids, addresses and the local cache of the Hugging Face Hub. See hub.h. */
#include "models/networks/hub.h"
#include "base/file.h"
#include "base/status.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* What names on the Hub are made of. */
static size_t name_length(const char *text)
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || (text[n] != '\0' && strchr("-_.", text[n]) != NULL))
        n++;
    return n;
}

/* Behind "https://huggingface.co/"; NULL: no such address. */
static const char *path_of_address(const char *spec)
{
    static const char *const starts[] = {"https://", "http://", "www.", ""};
    static const char *const hosts[] = {"huggingface.co/", "hf.co/"};
    for (size_t i = 0; i < RT_COUNT(starts); i++)
        if (strncasecmp(spec, starts[i], strlen(starts[i])) == 0)
            spec += strlen(starts[i]);
    for (size_t i = 0; i < RT_COUNT(hosts); i++)
        if (strncasecmp(spec, hosts[i], strlen(hosts[i])) == 0)
            return spec + strlen(hosts[i]);
    return NULL;
}

/* Old models have no org in front: /gpt2/tree/main is of "gpt2". */
static bool is_view(const char *name, size_t length)
{
    static const char *const views[] = {"tree", "resolve", "blob", "raw", "discussions"};
    for (size_t i = 0; i < RT_COUNT(views); i++)
        if (strlen(views[i]) == length && strncmp(name, views[i], length) == 0)
            return true;
    return false;
}

static bool ends_in(const char *name, size_t length, const char *ending)
{
    size_t tail = strlen(ending);
    return length >= tail && strncasecmp(name + length - tail, ending, tail) == 0;
}

char *rt_hub_id(const char *spec)
{
    const char *path = path_of_address(spec), *org = path != NULL ? path : spec;
    size_t length = name_length(org);
    if (length == 0 || org[0] == '.')
        return NULL;
    const char *name = org + length;
    size_t rest = *name == '/' ? name_length(name + 1) : 0;
    if (rest > 0 && path != NULL && is_view(name + 1, rest))
        rest = 0;
    if (rest > 0)
        length += 1 + rest;
    if (path != NULL)
        return rt_format("%.*s", (int)length, org);
    bool file =
        ends_in(org, length, ".json") || ends_in(org, length, ".onnx") || ends_in(org, length, ".csv");
    name = org + length + (org[length] == '/');
    return rest > 0 && *name == '\0' && !file ? rt_format("%.*s", (int)length, org) : NULL;
}

char *rt_hub_folder(void)
{
    static const char *const folders[][2] = {{"HF_HUB_CACHE", ""},
                                             {"HUGGINGFACE_HUB_CACHE", ""},
                                             {"HF_HOME", "/hub"},
                                             {"XDG_CACHE_HOME", "/huggingface/hub"},
                                             {"HOME", "/.cache/huggingface/hub"}};
    for (size_t i = 0; i < RT_COUNT(folders); i++) {
        const char *value = getenv(folders[i][0]);
        if (value != NULL && value[0] != '\0')
            return rt_format("%s%s", value, folders[i][1]);
    }
    return rt_format("%s", ".");
}

/* The entry of a folder with that name in any case. NULL: none. Free it. */
static char *entry_of(const char *folder, const char *name)
{
    DIR *entries = opendir(folder);
    char *found = NULL;
    for (struct dirent *entry; entries != NULL && found == NULL && (entry = readdir(entries)) != NULL;)
        if (strcasecmp(entry->d_name, name) == 0)
            found = rt_format("%s/%s", folder, entry->d_name);
    if (entries != NULL)
        closedir(entries);
    return found;
}

/* "org/name" lies in models--org--name. */
static char *folder_name(const char *id)
{
    const char *slash = strchr(id, '/');
    if (slash == NULL)
        return rt_format("models--%s", id);
    return rt_format("models--%.*s--%s", (int)(slash - id), id, slash + 1);
}

static char *config_in(const char *model)
{
    char *main = rt_format("%s/refs/main", model), *revision = NULL, *config = NULL;
    struct stat file;
    size_t size;
    if (stat(main, &file) == 0 && rt_file_read(main, 256, &revision, &size) == RT_OK) {
        config = rt_format("%s/snapshots/%.*s/config.json", model, (int)name_length(revision), revision);
        if (stat(config, &file) != 0) {
            free(config);
            config = NULL;
        }
    }
    free(revision);
    free(main);
    return config;
}

char *rt_hub_cached(const char *id)
{
    char *folder = rt_hub_folder(), *name = folder_name(id), *model = entry_of(folder, name);
    char *config = model != NULL ? config_in(model) : NULL;
    free(model);
    free(name);
    free(folder);
    return config;
}
