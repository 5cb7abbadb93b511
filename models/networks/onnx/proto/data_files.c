/* Where a model's weights lie beside it (external_data of TensorProto, onnx.proto). See onnx.h. */
#include "base/options.h"
#include "base/status.h"
#include "models/networks/onnx/onnx.h"
#include "models/networks/onnx/proto/read.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>

struct finding {
    const char *folder; /* of the model: locations are relative to it */
    const char *last;   /* location: weights that follow one another mostly lie in one file */
    struct rt_names *paths;
};

static void take(struct finding *finding, const Onnx__StringStringEntryProto *entry)
{
    if (entry->key == NULL || entry->value == NULL || strcmp(entry->key, "location") != 0 ||
        (finding->last != NULL && strcmp(entry->value, finding->last) == 0))
        return;
    finding->last = entry->value;
    rt_names_add(finding->paths, rt_format("%s/%s", finding->folder, entry->value));
}

static void walk(struct finding *finding, const ProtobufCMessage *message);

/* The messages of one field: one, a list, or none. */
static void walk_field(struct finding *finding, const ProtobufCMessage *message,
                       const ProtobufCFieldDescriptor *field)
{
    const char *at = (const char *)message + field->offset;
    bool list = field->label == PROTOBUF_C_LABEL_REPEATED;
    size_t count = list ? *(const size_t *)((const char *)message + field->quantifier_offset) : 1;
    const ProtobufCMessage *const *parts =
        list ? *(const ProtobufCMessage *const *const *)at : (const ProtobufCMessage *const *)at;
    for (size_t i = 0; i < count; i++)
        if (parts[i] != NULL && field->descriptor == &onnx__string_string_entry_proto__descriptor)
            take(finding, (const Onnx__StringStringEntryProto *)parts[i]);
        else if (parts[i] != NULL)
            walk(finding, parts[i]);
}

static void walk(struct finding *finding, const ProtobufCMessage *message)
{
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        bool chosen = (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) == 0 ||
                      *(const uint32_t *)((const char *)message + field->quantifier_offset) == field->id;
        if (field->type == PROTOBUF_C_TYPE_MESSAGE && chosen)
            walk_field(finding, message, field);
    }
}

void rt_onnx_data_files(const char *path, struct rt_names *paths)
{
    uint8_t *bytes;
    size_t size;
    if (rt_slim_read(path, &bytes, &size) != RT_OK)
        return;
    Onnx__ModelProto *file = onnx__model_proto__unpack(NULL, size, bytes);
    char *copy = rt_strdup(path);
    free(bytes);
    if (file != NULL) {
        walk(&(struct finding){.folder = dirname(copy), .paths = paths}, &file->base);
        onnx__model_proto__free_unpacked(file, NULL);
    }
    free(copy);
}
