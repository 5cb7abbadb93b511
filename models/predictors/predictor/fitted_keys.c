/* Fitted keys. See fitted_keys.h. */
#include "base/h5.h"
#include "models/predictors/predictor/fitted_keys.h"
#include "base/status.h"
#include "datasets/run_attributes.h"

#include <stdlib.h>
#include <string.h>

void rt_fitted_keys_release(struct rt_fitted_keys *keys)
{
    free(keys->key);
    *keys = (struct rt_fitted_keys){0};
}

/* Where the key is, or would be. */
static size_t place_of(const struct rt_fitted_keys *keys, int64_t key)
{
    size_t low = 0, high = keys->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (keys->key[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool rt_fitted_keys_has(const struct rt_fitted_keys *keys, int64_t key)
{
    size_t at = place_of(keys, key);
    return at < keys->count && keys->key[at] == key;
}

void rt_fitted_keys_add(struct rt_fitted_keys *keys, int64_t key)
{
    size_t at = place_of(keys, key);
    if (at < keys->count && keys->key[at] == key)
        return;
    keys->key = rt_realloc(keys->key, keys->count + 1, sizeof *keys->key);
    memmove(keys->key + at + 1, keys->key + at, (keys->count - at) * sizeof *keys->key);
    keys->key[at] = key;
    keys->count++;
}

struct rt_fitted_keys rt_fitted_keys_copy(const struct rt_fitted_keys *keys)
{
    struct rt_fitted_keys copy = {0};
    if (keys->count == 0)
        return copy;
    copy = (struct rt_fitted_keys){rt_malloc(keys->count * sizeof *copy.key), keys->count};
    memcpy(copy.key, keys->key, keys->count * sizeof *copy.key);
    return copy;
}

/* --- keys --- */

/* With the NUL, so that "a", "bc" is not "ab", "c". */
static uint64_t hash_text(uint64_t hash, const char *text)
{
    return rt_hash(hash, text, strlen(text) + 1);
}

/* Names and not numbers of enums, and only the op's own dims: builds may number and hold others. Gradients
 * that are phases of their op are kernels of their own. */
int64_t rt_kernel_key(const struct rt_sample *sample)
{
    uint64_t hash = hash_text(RT_HASH_START, "kernel");
    hash = hash_text(hash, rt_ops[sample->call.op].name);
    hash = hash_text(hash, rt_dtypes[sample->call.dtype].name);
    if (rt_op_has_phases(sample->call.op) && sample->call.phase != RT_FORWARD)
        hash = hash_text(hash, rt_phases[sample->call.phase]);
    return (int64_t)rt_hash(hash, sample->call.dim,
                            (size_t)rt_op_ndims((enum rt_op_id)sample->call.op) * sizeof *sample->call.dim);
}

int64_t rt_run_key(const struct rt_dataset *dataset, const struct rt_workload *workload)
{
    const int64_t number[] = {workload->batch, workload->sequence, workload->layers};
    uint64_t hash = hash_text(RT_HASH_START, "run");
    hash = hash_text(hash, rt_strings_get(&dataset->texts, workload->model));
    hash = hash_text(hash, rt_strings_get(&dataset->texts, workload->option));
    hash = hash_text(hash, rt_modes[workload->mode]);
    hash = hash_text(hash, rt_dtypes[workload->dtype].name);
    for (size_t i = 0; i < rt_run_attribute_count; i++) {
        const char *value = rt_dataset_attribute(dataset, workload->group, rt_run_attribute_names[i]);
        if (value != NULL)
            hash = hash_text(hash_text(hash, rt_run_attribute_names[i]), value);
    }
    return (int64_t)rt_hash(hash, number, sizeof number);
}

/* --- files --- */

static struct rt_h5_array array_of(const char *path)
{
    return (struct rt_h5_array){.path = path,
                                .type = RT_H5_I64,
                                .units = "1",
                                .long_name =
                                    "hashes of the kernels and runs it was calibrated to, ascending"};
}

int rt_fitted_keys_write(const struct rt_fitted_keys *keys, struct rt_h5 *file, const char *path)
{
    struct rt_h5_array array = array_of(path);
    return keys->count == 0 ? RT_OK : rt_h5_write(file, &array, keys->key, sizeof *keys->key, keys->count);
}

int rt_fitted_keys_read(struct rt_h5 *file, const char *path, struct rt_fitted_keys *keys)
{
    struct rt_h5_array array = array_of(path);
    size_t count;
    int status;
    if (!rt_h5_exists(file, path))
        return RT_OK;
    if ((status = rt_h5_count(file, &array, &count)) != RT_OK)
        return status;
    struct rt_fitted_keys read = {rt_calloc(count + 1, sizeof *read.key), count};
    status = rt_h5_read(file, &array, read.key, sizeof *read.key, count);
    for (size_t i = 1; status == RT_OK && i < count; i++)
        if (read.key[i] <= read.key[i - 1])
            status =
                rt_fail(RT_EFORMAT, "%s: %s is not in ascending order: the file is damaged; calibrate again",
                        rt_h5_path(file), path);
    if (status == RT_OK)
        *keys = read;
    else
        rt_fitted_keys_release(&read);
    return status;
}
