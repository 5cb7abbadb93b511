/* The walk over a file's messages. See read.h. */
#include "models/networks/onnx/proto/read.h"
#include "base/status.h"
#include "onnx.pb-c.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW      32768
#define LENGTH_ROOM 5 /* bytes of a length that is written before it is known: 35 bits */

enum wire { VARINT, FIXED64, BYTES, GROUP_BEGIN, GROUP_END, FIXED32 };

struct slim {
    const char *path;
    int file;
    uint64_t size;        /* of the file */
    uint64_t begin, held; /* of the file, in the window */
    uint8_t window[WINDOW];
    uint8_t *out;
    size_t used, capacity;
    uint64_t unpacked, most; /* bytes that protobuf-c will take */
};

/* --- the file --- */

static int fill(struct slim *slim, uint64_t at)
{
    ssize_t got = pread(slim->file, slim->window, WINDOW, (off_t)at);
    if (got < 0)
        return rt_fail(RT_EIO, "%s: byte %" PRIu64 ": %s", slim->path, at, strerror(errno));
    if (got == 0)
        return rt_fail(RT_EIO,
                       "%s: the file became shorter while it was read; read it again when it is whole",
                       slim->path);
    slim->begin = at;
    slim->held = (uint64_t)got;
    return RT_OK;
}

static bool holds(const struct slim *slim, uint64_t at)
{
    return at >= slim->begin && at - slim->begin < slim->held;
}

static int corrupt(const struct slim *slim, uint64_t at, const char *what)
{
    return rt_fail(RT_EFORMAT, "%s: byte %" PRIu64 ": %s; the file is truncated or is not an ONNX model",
                   slim->path, at, what);
}

static int read_varint(struct slim *slim, uint64_t *at, uint64_t end, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (*at >= end)
            return corrupt(slim, *at, "a number ends with its message");
        int status = holds(slim, *at) ? RT_OK : fill(slim, *at);
        if (status != RT_OK)
            return status;
        uint8_t byte = slim->window[(*at)++ - slim->begin];
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return RT_OK;
    }
    return corrupt(slim, *at, "a number has more than ten bytes");
}

/* --- what is kept --- */

static void reserve(struct slim *slim, size_t more)
{
    if (slim->capacity - slim->used >= more)
        return;
    slim->capacity = 2 * slim->capacity > slim->used + more ? 2 * slim->capacity : slim->used + more;
    slim->out = rt_realloc(slim->out, slim->capacity, 1);
}

static int copy(struct slim *slim, uint64_t at, uint64_t end)
{
    reserve(slim, (size_t)(end - at));
    while (at < end) {
        int status = holds(slim, at) ? RT_OK : fill(slim, at);
        if (status != RT_OK)
            return status;
        uint64_t there = slim->begin + slim->held - at, count = there < end - at ? there : end - at;
        memcpy(slim->out + slim->used, slim->window + (at - slim->begin), (size_t)count);
        slim->used += (size_t)count;
        at += count;
    }
    return RT_OK;
}

static void put_varint(struct slim *slim, uint64_t value)
{
    reserve(slim, 10);
    for (; value >= 0x80; value >>= 7)
        slim->out[slim->used++] = (uint8_t)(value | 0x80);
    slim->out[slim->used++] = (uint8_t)value;
}

/* A length of always LENGTH_ROOM bytes, into the room that was left for it. */
static void put_length(struct slim *slim, size_t at, uint64_t length)
{
    for (int i = 0; i < LENGTH_ROOM; i++, length >>= 7)
        slim->out[at + (size_t)i] = (uint8_t)((length & 0x7f) | (i + 1 < LENGTH_ROOM ? 0x80 : 0));
}

static int take(struct slim *slim, uint64_t at, uint64_t bytes)
{
    slim->unpacked += bytes;
    if (slim->unpacked <= slim->most)
        return RT_OK;
    return rt_fail(RT_EFORMAT,
                   "%s: byte %" PRIu64 ": what the file holds beside weights takes more than %" PRIu64
                   " MiB; it is too large to be the graph of a network, or corrupt",
                   slim->path, at, slim->most >> 20);
}

/* --- the walk --- */

struct field {
    uint64_t tag, begin, end; /* in the file; begin: of what the field holds */
    uint32_t number, wire;
};

static int read_field(struct slim *slim, uint64_t at, uint64_t end, struct field *out)
{
    uint64_t key, length = 0;
    *out = (struct field){.tag = at, .begin = at, .end = end};
    int status = read_varint(slim, &at, end, &key);
    if (status != RT_OK)
        return status;
    out->wire = key & 7;
    out->number = (uint32_t)(key >> 3);
    if (key >> 3 == 0 || key >> 32 != 0)
        return corrupt(slim, out->tag, "no field of a message has that number");
    out->begin = at;
    if (out->wire == VARINT)
        status = read_varint(slim, &at, end, &length), length = 0;
    else if (out->wire == BYTES)
        status = read_varint(slim, &at, end, &length), out->begin = at;
    else if (out->wire == FIXED32 || out->wire == FIXED64)
        length = out->wire == FIXED32 ? 4 : 8;
    else
        return corrupt(slim, out->tag, "a field is of no kind that ONNX has");
    if (status == RT_OK && length > end - at)
        return corrupt(slim, out->tag, "a field is longer than the message around it");
    out->end = at + length;
    return status;
}

/* Is the field of the kind that onnx.proto gives it? Repeated numbers may be packed into bytes. */
static bool fits(const ProtobufCFieldDescriptor *known, const struct field *field)
{
    switch (known->type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return field->wire == BYTES;
    case PROTOBUF_C_TYPE_FLOAT:
        return field->wire == FIXED32 || (field->wire == BYTES && known->label == PROTOBUF_C_LABEL_REPEATED);
    case PROTOBUF_C_TYPE_DOUBLE:
        return field->wire == FIXED64 || (field->wire == BYTES && known->label == PROTOBUF_C_LABEL_REPEATED);
    default:
        return field->wire == VARINT || (field->wire == BYTES && known->label == PROTOBUF_C_LABEL_REPEATED);
    }
}

static bool wanted(const ProtobufCMessageDescriptor *type, const ProtobufCFieldDescriptor *known,
                   const struct field *field)
{
    static const char *const people[] = {"doc_string", "metadata_props", "training_info",
                                         "quantization_annotation"};
    if (known == NULL)
        return false;
    for (size_t i = 0; i < RT_COUNT(people); i++)
        if (strcmp(known->name, people[i]) == 0)
            return false;
    bool elements = type == &onnx__tensor_proto__descriptor && strstr(known->name, "_data") != NULL &&
                    strcmp(known->name, "external_data") != 0;
    return !elements || field->end - field->begin <= RT_SLIM_TENSOR;
}

/* Bytes that protobuf-c takes for a field: texts and messages are allocations of their own, and lists grow
 * by pointers or numbers; a packed number is at least one byte and becomes at most eight. */
static uint64_t unpacked_bytes(const ProtobufCFieldDescriptor *known, const struct field *field)
{
    uint64_t length = field->end - field->begin, each = known->label == PROTOBUF_C_LABEL_REPEATED ? 16 : 0;
    if (known->type == PROTOBUF_C_TYPE_MESSAGE)
        return ((const ProtobufCMessageDescriptor *)known->descriptor)->sizeof_message + 16 + each;
    if (known->type == PROTOBUF_C_TYPE_STRING || known->type == PROTOBUF_C_TYPE_BYTES)
        return length + 32 + each;
    return field->wire == BYTES ? 8 * length : each;
}

static int walk(struct slim *slim, const ProtobufCMessageDescriptor *type, uint64_t at, uint64_t end,
                int depth);

static int walk_message(struct slim *slim, const ProtobufCFieldDescriptor *known, const struct field *field,
                        int depth)
{
    if (depth >= RT_SLIM_DEPTH)
        return rt_fail(RT_EFORMAT, "%s: byte %" PRIu64 ": messages stand in one another more than %d deep",
                       slim->path, field->tag, RT_SLIM_DEPTH);
    put_varint(slim, (uint64_t)field->number << 3 | BYTES);
    reserve(slim, LENGTH_ROOM);
    size_t length = slim->used;
    slim->used += LENGTH_ROOM;
    int status = walk(slim, known->descriptor, field->begin, field->end, depth + 1);
    if (status == RT_OK)
        put_length(slim, length, slim->used - length - LENGTH_ROOM);
    return status;
}

static int walk(struct slim *slim, const ProtobufCMessageDescriptor *type, uint64_t at, uint64_t end,
                int depth)
{
    for (struct field field; at < end; at = field.end) {
        int status = read_field(slim, at, end, &field);
        if (status != RT_OK)
            return status;
        const ProtobufCFieldDescriptor *known = protobuf_c_message_descriptor_get_field(type, field.number);
        if (!wanted(type, known, &field))
            continue;
        if (!fits(known, &field))
            return rt_fail(RT_EFORMAT,
                           "%s: byte %" PRIu64
                           ": the field \"%s\" of %s is of another kind than in ONNX; the "
                           "file is corrupt or not an ONNX model",
                           slim->path, field.tag, known->name, type->short_name);
        status = take(slim, field.tag, unpacked_bytes(known, &field));
        if (status == RT_OK && known->type == PROTOBUF_C_TYPE_MESSAGE)
            status = walk_message(slim, known, &field, depth);
        else if (status == RT_OK)
            status = copy(slim, field.tag, field.end);
        if (status != RT_OK)
            return status;
    }
    return RT_OK;
}

static int open_file(struct slim *slim)
{
    struct stat facts;
    slim->file = open(slim->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (slim->file < 0 || fstat(slim->file, &facts) != 0) {
        rt_fail(RT_EIO, "%s: cannot be read: %s", slim->path, strerror(errno));
        return rt_fail_remedy(RT_EIO, "`rooftile graph --list` lists the models that have a name");
    }
    if (!S_ISREG(facts.st_mode))
        return rt_fail(RT_EIO, "%s is not a regular file; ONNX models are read from files", slim->path);
    slim->size = (uint64_t)facts.st_size;
    slim->most =
        slim->size > RT_SLIM_MOST / RT_SLIM_TIMES ? RT_SLIM_MOST : RT_SLIM_MORE + RT_SLIM_TIMES * slim->size;
    if (slim->most > RT_SLIM_MOST)
        slim->most = RT_SLIM_MOST;
    return slim->size > 0 ? RT_OK : rt_fail(RT_EFORMAT, "%s: the file is empty", slim->path);
}

int rt_slim_read(const char *path, uint8_t **bytes, size_t *size)
{
    struct slim *slim = rt_calloc(1, sizeof *slim);
    slim->path = path;
    int status = open_file(slim);
    if (status == RT_OK)
        status = walk(slim, &onnx__model_proto__descriptor, 0, slim->size, 0);
    if (slim->file >= 0)
        close(slim->file);
    *bytes = slim->out;
    *size = slim->used;
    if (status != RT_OK) {
        free(slim->out);
        *bytes = NULL;
    }
    free(slim);
    return status;
}
