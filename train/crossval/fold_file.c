/* Fold files in JSON. See fold_file.h. */
#include "train/crossval/fold_file.h"
#include "base/file.h"
#include "base/status.h"
#include "base/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_LIMIT ((size_t)1 << 28)

void rt_fold_row_add(json_t *rows, const struct rt_fold_row *row)
{
    json_t *json = json_object();
    json_object_set_new(json, "protocol", json_string(rt_protocols[row->protocol].name));
    json_object_set_new(json, "predictor", rt_json_text(row->predictor));
    json_object_set_new(json, "level", json_string(row->level));
    json_object_set_new(json, "row", json_string(row->row));
    json_object_set_new(json, "of", rt_json_text(row->of));
    json_object_set_new(json, "device", rt_json_text(row->device));
    json_object_set_new(json, "n", json_integer((json_int_t)row->n));
    json_object_set_new(json, "calibrated_to", json_integer((json_int_t)row->calibrated_to));
    json_object_set_new(json, "mape", rt_json_number(row->mape));
    json_object_set_new(json, "bias", rt_json_number(row->bias));
    json_object_set_new(json, "coverage90", rt_json_number(row->coverage90));
    json_object_set_new(json, "width90", rt_json_number(row->width90));
    json_array_append_new(rows, json);
}

static double number_of(const json_t *json)
{
    return json_is_number(json) ? json_number_value(json) : NAN;
}

int rt_fold_row_read(const json_t *json, struct rt_fold_row *out)
{
    struct rt_fold_row row = {.protocol = RT_PROTOCOL_COUNT};
    const char *protocol;
    json_int_t n, calibrated_to;
    json_t *mape, *bias, *mutable = (json_t *)(uintptr_t)json;
    if (json_unpack(mutable, "{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:o, s:o}", "protocol", &protocol,
                    "predictor", &row.predictor, "level", &row.level, "row", &row.row, "of", &row.of,
                    "device", &row.device, "n", &n, "calibrated_to", &calibrated_to, "mape", &mape, "bias",
                    &bias) != 0)
        return rt_fail(RT_EFORMAT, "has a row that is none");
    for (int p = 0; p < RT_PROTOCOL_COUNT; p++)
        if (strcmp(protocol, rt_protocols[p].name) == 0)
            row.protocol = (enum rt_protocol)p;
    if (row.protocol == RT_PROTOCOL_COUNT || n < 0 || calibrated_to < 0)
        return rt_fail(RT_EFORMAT, "has a row of an unknown protocol or count");
    row.n = (size_t)n;
    row.calibrated_to = (size_t)calibrated_to;
    row.mape = number_of(mape);
    row.bias = number_of(bias);
    row.coverage90 = number_of(json_object_get(json, "coverage90"));
    row.width90 = number_of(json_object_get(json, "width90"));
    *out = row;
    return RT_OK;
}

/* Of what a unit found: an error that a person changed, or a disk, is no result. */
static json_t *hash_of(const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    json_t *hash = json_sprintf("%016" PRIx64, rt_hash(RT_HASH_START, text, text != NULL ? strlen(text) : 0));
    free(text);
    return hash;
}

static int write_file(const struct rt_crossval *crossval, const struct rt_unit *unit, const char *what,
                      json_t *value)
{
    char *path = rt_unit_path(unit, "fold.json"), *key = rt_unit_key(crossval, unit);
    json_t *json = json_object();
    struct rt_new_file file;
    json_object_set_new(json, "made_from", rt_json_text(key));
    json_object_set(json, what, value);
    json_object_set_new(json, "hash", hash_of(value));
    int status = rt_file_create(path, &file);
    if (status == RT_OK) {
        rt_json_print(json_incref(json), file.stream);
        status = rt_file_finish(&file);
    }
    json_decref(json);
    free(path);
    free(key);
    return status;
}

int rt_fold_file_write(const struct rt_crossval *crossval, const struct rt_unit *unit, json_t *rows)
{
    return write_file(crossval, unit, "rows", rows);
}

int rt_fold_file_write_failure(const struct rt_crossval *crossval, const struct rt_unit *unit,
                               const char *why)
{
    json_t *text = rt_json_text(why);
    int status = write_file(crossval, unit, "failed", text);
    json_decref(text);
    return status;
}

static bool is_as_written(const json_t *file)
{
    const json_t *rows = json_object_get(file, "rows");
    json_t *hash = hash_of(rows != NULL ? rows : json_object_get(file, "failed"));
    bool same = json_equal(hash, json_object_get(file, "hash"));
    json_decref(hash);
    return same;
}

int rt_fold_file_read(const struct rt_crossval *crossval, const struct rt_unit *unit, json_t **out)
{
    char *path = rt_unit_path(unit, "fold.json"), *text = NULL, *key = NULL;
    json_error_t error;
    json_t *json = NULL;
    size_t size = 0;
    int status = RT_OK;
    *out = NULL;
    if (access(path, F_OK) != 0 || (status = rt_file_read(path, FILE_LIMIT, &text, &size)) != RT_OK)
        goto done;
    json = json_loadb(text, size, 0, &error);
    if (json == NULL) {
        status = rt_fail(RT_EFORMAT, "%s:%d: is damaged: %s; {overwrite} makes it again", path, error.line,
                         error.text);
        goto done;
    }
    const char *made_from = json_string_value(json_object_get(json, "made_from"));
    key = rt_unit_key(crossval, unit);
    bool mine = made_from != NULL && strcmp(made_from, key) == 0;
    if (mine && !is_as_written(json))
        status = rt_fail(RT_EFORMAT, "%s: is not as it was written; {overwrite} makes it again", path);
    else if (mine)
        *out = json_incref(json);
done:
    json_decref(json);
    free(path);
    free(text);
    free(key);
    return status;
}

const char *rt_fold_file_failure(const json_t *file)
{
    const char *failed = json_string_value(json_object_get(file, "failed"));
    return file == NULL     ? "was not run"
           : failed != NULL ? failed
           : json_is_array(json_object_get(file, "rows"))
               ? NULL
               : "its fold.json has no rows; `rooftile crossval --overwrite` makes it again";
}
