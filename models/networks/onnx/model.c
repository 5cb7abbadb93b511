/* Room for a model; what is given of its dims. See onnx.h. */
#include "models/networks/onnx/model.h"
#include "base/array.h"
#include "base/status.h"
#include "base/strings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* clang-format off */
const struct rt_onnx_dtype_row rt_onnx_dtypes[RT_ONNX_DTYPES] = {
    [RT_ONNX_UNDEFINED] = {"?", 0, false, false}, [RT_ONNX_FLOAT] = {"float", 32, true, true},
    [RT_ONNX_UINT8] = {"uint8", 8, false, true}, [RT_ONNX_INT8] = {"int8", 8, false, true},
    [RT_ONNX_UINT16] = {"uint16", 16, false, true}, [RT_ONNX_INT16] = {"int16", 16, false, true},
    [RT_ONNX_INT32] = {"int32", 32, false, true}, [RT_ONNX_INT64] = {"int64", 64, false, true},
    [RT_ONNX_STRING] = {"string", 0, false, false}, [RT_ONNX_BOOL] = {"bool", 8, false, true},
    [RT_ONNX_FLOAT16] = {"float16", 16, true, true}, [RT_ONNX_DOUBLE] = {"double", 64, true, true},
    [RT_ONNX_UINT32] = {"uint32", 32, false, true}, [RT_ONNX_UINT64] = {"uint64", 64, false, false},
    [RT_ONNX_COMPLEX64] = {"complex64", 64, false, false},
    [RT_ONNX_COMPLEX128] = {"complex128", 128, false, false},
    [RT_ONNX_BFLOAT16] = {"bfloat16", 16, true, true},
    [RT_ONNX_FLOAT8E4M3FN] = {"float8e4m3fn", 8, true, false},
    [RT_ONNX_FLOAT8E4M3FNUZ] = {"float8e4m3fnuz", 8, true, false},
    [RT_ONNX_FLOAT8E5M2] = {"float8e5m2", 8, true, false},
    [RT_ONNX_FLOAT8E5M2FNUZ] = {"float8e5m2fnuz", 8, true, false},
    [RT_ONNX_UINT4] = {"uint4", 4, false, false}, [RT_ONNX_INT4] = {"int4", 4, false, false},
    [RT_ONNX_FLOAT4E2M1] = {"float4e2m1", 4, true, false},
    [RT_ONNX_FLOAT8E8M0] = {"float8e8m0", 8, true, false}, [RT_ONNX_UINT2] = {"uint2", 2, false, false},
    [RT_ONNX_INT2] = {"int2", 2, false, false},
};
/* clang-format on */

/* --- room --- */

#define BLOCK ((size_t)1 << 16)

struct rt_onnx_block {
    struct rt_onnx_block *next;
    size_t used, size;
    _Alignas(16) unsigned char bytes[];
};

size_t rt_onnx_most(const struct rt_onnx_model *model, size_t limit)
{
    size_t share = model->bytes + 16384;
    return share < RT_ONNX_MOST_NODES ? limit / RT_ONNX_MOST_NODES * share : limit;
}

void *rt_onnx_room(struct rt_onnx_model *model, size_t count, size_t size)
{
    size_t bytes = (count * size + 15) / 16 * 16;
    struct rt_onnx_block *block = model->blocks;
    if (block == NULL || block->size - block->used < bytes) {
        size_t room = bytes > BLOCK ? bytes : BLOCK;
        block = rt_calloc(1, sizeof *block + room);
        block->size = room;
        block->next = model->blocks;
        model->blocks = block;
    }
    void *room = block->bytes + block->used;
    block->used += bytes;
    return room;
}

const char *rt_onnx_copy(struct rt_onnx_model *model, const char *text, size_t length)
{
    char *copy = rt_onnx_room(model, length + 1, 1);
    if (length > 0) /* an empty text may be NULL */
        memcpy(copy, text, length);
    return copy;
}

uint32_t rt_onnx_add_value(struct rt_onnx_model *model, const char *name)
{
    RT_GROW(model->values, model->value_count, 1, model->value_capacity);
    model->values[model->value_count] = (struct rt_onnx_value){
        .name = name, .shape.rank = RT_ONNX_UNKNOWN, .length = RT_ONNX_UNKNOWN, .cause = RT_ONNX_NO_VALUE};
    return (uint32_t)model->value_count++;
}

struct rt_onnx_data *rt_onnx_new_data(struct rt_onnx_model *model, size_t count, bool real)
{
    size_t bytes = sizeof(struct rt_onnx_data) + count * sizeof(union rt_onnx_element);
    if (count > RT_ONNX_HELD || model->data_bytes + bytes > rt_onnx_most(model, RT_ONNX_MOST_DATA))
        return NULL;
    model->data_bytes += bytes;
    struct rt_onnx_data *data = rt_onnx_room(model, bytes, 1);
    data->count = count;
    data->real = real;
    return data;
}

void rt_onnx_release(struct rt_onnx_model *model)
{
    for (struct rt_onnx_block *block = model->blocks, *next; block != NULL; block = next) {
        next = block->next;
        free(block);
    }
    free(model->values);
    if (model->release_source != NULL)
        model->release_source(model->source);
    *model = (struct rt_onnx_model){0};
}

/* --- shapes --- */

int64_t rt_onnx_count(const struct rt_onnx_shape *shape)
{
    int64_t count = 1;
    bool large = false;
    if (!rt_onnx_shape_known(shape))
        return RT_ONNX_UNKNOWN;
    for (int i = 0; i < shape->rank; i++)
        if (shape->dim[i] == 0)
            return 0;
    for (int i = 0; i < shape->rank && !large; i++)
        large = __builtin_mul_overflow(count, shape->dim[i], &count);
    return large ? INT64_MAX : count;
}

bool rt_onnx_shape_known(const struct rt_onnx_shape *shape)
{
    bool known = shape->rank != RT_ONNX_UNKNOWN;
    for (int i = 0; i < shape->rank && known; i++)
        known = shape->dim[i] != RT_ONNX_UNKNOWN;
    return known;
}

struct rt_onnx_shape_words rt_onnx_shape_words(const struct rt_onnx_shape *shape)
{
    struct rt_onnx_shape_words words = {""};
    size_t length = 0;
    if (shape->rank <= 0)
        strcpy(words.text, shape->rank == 0 ? "scalar" : "?");
    for (int i = 0; i < shape->rank; i++) {
        char *at = words.text + length;
        size_t room = sizeof words.text - length;
        int count = shape->dim[i] == RT_ONNX_UNKNOWN
                        ? snprintf(at, room, "%s?", i > 0 ? "x" : "")
                        : snprintf(at, room, "%s%" PRId64, i > 0 ? "x" : "", shape->dim[i]);
        length += (size_t)count;
    }
    return words;
}

/* --- what is given beside the file --- */

static int bad_dim(const char *text)
{
    return rt_fail(RT_EUSAGE, "{dim} %s: write NAME=N, a name of the file and a whole number from 1", text);
}

static int take_dim(struct rt_onnx_model *model, const char *text)
{
    const char *sign = strrchr(text, '=');
    int64_t size;
    if (sign == NULL || sign == text || rt_parse_integer(sign + 1, strlen(sign + 1), &size) != 0)
        return bad_dim(text);
    if (size < 1 || size > RT_ONNX_LARGEST)
        return bad_dim(text);
    const char *name = rt_onnx_copy(model, text, (size_t)(sign - text));
    for (size_t i = 0; i < model->dim_count; i++)
        if (strcmp(model->dims[i].name, name) == 0)
            return rt_fail(RT_EUSAGE, "{dim} %s: the dim was given before; give it once", text);
    model->dims[model->dim_count++] = (struct rt_onnx_dim){name, size, false};
    return RT_OK;
}

int rt_onnx_take_dims(struct rt_onnx_model *model)
{
    int status = RT_OK;
    if (model->given == NULL)
        return RT_OK;
    model->dims = rt_onnx_room(model, model->given->dims.count, sizeof *model->dims);
    for (size_t i = 0; i < model->given->dims.count && status == RT_OK; i++)
        status = take_dim(model, model->given->dims.name[i]);
    return status;
}

/* "batch", "batch_size"; "seq", "seq_len", "sequence_length" */
const char *rt_onnx_size_field(const char *name)
{
    return strncasecmp(name, "batch", 5) == 0 ? "batch" : strncasecmp(name, "seq", 3) == 0 ? "seq" : NULL;
}

static int64_t size_by_field(struct rt_onnx_model *model, const char *name)
{
    const char *field = rt_onnx_size_field(name);
    if (model->given == NULL || field == NULL)
        return RT_ONNX_UNKNOWN;
    bool batch = strcmp(field, "batch") == 0;
    int64_t size = batch ? model->given->batch : model->given->sequence;
    *(batch ? &model->has_batch : &model->has_sequence) |= size > 0;
    return size > 0 ? size : RT_ONNX_UNKNOWN;
}

int64_t rt_onnx_dim_size(struct rt_onnx_model *model, const char *name)
{
    for (size_t i = 0; i < model->dim_count; i++)
        if (strcmp(model->dims[i].name, name) == 0) {
            model->dims[i].used = true;
            return model->dims[i].size;
        }
    return size_by_field(model, name);
}

static int bad_shape(const char *text)
{
    return rt_fail(RT_EUSAGE, "{shape} %s: write VALUE=2x3x4, VALUE=scalar or VALUE=2x?x4", text);
}

static int parse_shape(const char *text, const char *at, struct rt_onnx_shape *out)
{
    *out = (struct rt_onnx_shape){.rank = 0};
    if (strcmp(at, "scalar") == 0)
        return RT_OK;
    for (;;) {
        size_t length = strcspn(at, "x");
        int64_t dim = RT_ONNX_UNKNOWN;
        bool open = length == 1 && at[0] == '?';
        if (out->rank == RT_ONNX_RANK || (!open && rt_parse_integer(at, length, &dim) != 0))
            return bad_shape(text);
        if (!open && (dim < 0 || dim > RT_ONNX_LARGEST))
            return bad_shape(text);
        out->dim[out->rank++] = dim;
        if (at[length] == '\0')
            return RT_OK;
        at += length + 1;
    }
}

static int take_shape(struct rt_onnx_model *model, const char *text)
{
    const char *sign = strrchr(text, '=');
    struct rt_onnx_shape shape;
    bool found = false;
    int status = sign == NULL || sign == text ? bad_shape(text) : parse_shape(text, sign + 1, &shape);
    if (status != RT_OK)
        return status;
    struct rt_onnx_shape *kept = rt_onnx_room(model, 1, sizeof *kept);
    size_t length = (size_t)(sign - text);
    *kept = shape;
    for (size_t i = 0; i < model->value_count; i++) {
        struct rt_onnx_value *value = &model->values[i];
        if (strlen(value->name) != length || memcmp(value->name, text, length) != 0)
            continue;
        value->written = kept;
        value->dim_names = NULL;
        value->given = found = true;
    }
    return found ? RT_OK
                 : rt_fail(RT_EUSAGE, "{shape} %s: %s has no value of that name; {shapes} prints them", text,
                           model->path);
}

int rt_onnx_take_shapes(struct rt_onnx_model *model)
{
    int status = RT_OK;
    for (size_t i = 0; model->given != NULL && i < model->given->shapes.count && status == RT_OK; i++)
        status = take_shape(model, model->given->shapes.name[i]);
    for (size_t i = 0; i < model->dim_count && status == RT_OK; i++)
        if (!model->dims[i].used)
            status = rt_fail(RT_EUSAGE,
                             "{dim} %s=%" PRId64 ": %s has no dim of that name; {shapes} prints "
                             "those that it has",
                             model->dims[i].name, model->dims[i].size, model->path);
    return status;
}
