/* ONNX models written by tests as text, a line each (or parted by ';'):
 *   input x 2x4x8      weight w 8x8 [int8|fp8]      number c 0.5      list s 2,4,-1      output y
 *   y = MatMul a b axis=-1 perm=0,2,1,3 axes=1,        the last is a list of one
 * Inputs and numbers are fp32, lists int64; weights have no elements in the file. Opset 17. */
#pragma once

#include "test.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct message {
    unsigned char bytes[1 << 15];
    size_t size;
};

static inline void put_bytes(struct message *out, const void *bytes, size_t size)
{
    CU_ASSERT_FATAL(out->size + size <= sizeof out->bytes);
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

static inline void put_varint(struct message *out, uint64_t value)
{
    do {
        unsigned char byte = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        put_bytes(out, &byte, 1);
        value >>= 7;
    } while (value > 0);
}

static inline void put_number(struct message *out, unsigned field, int64_t value)
{
    put_varint(out, field << 3);
    put_varint(out, (uint64_t)value);
}

static inline void put_part(struct message *out, unsigned field, const void *bytes, size_t size)
{
    put_varint(out, field << 3 | 2);
    put_varint(out, size);
    put_bytes(out, bytes, size);
}

static inline void put_text(struct message *out, unsigned field, const char *text)
{
    put_part(out, field, text, strlen(text));
}

static inline void put_message(struct message *out, unsigned field, const struct message *part)
{
    put_part(out, field, part->bytes, part->size);
}

/* "2x4x8", each number as a field or, in messages of one number, as a dim of a shape. */
static inline void put_dims(struct message *out, unsigned field, const char *dims, bool shape)
{
    for (const char *at = dims; *at != '\0'; at += *at == 'x') {
        char *end;
        int64_t size = strtoll(at, &end, 10);
        static struct message dim;
        dim.size = 0;
        put_number(&dim, 1, size);
        if (shape)
            put_message(out, field, &dim);
        else
            put_number(out, field, size);
        at = end;
    }
}

/* ValueInfoProto */
static inline void put_value(struct message *graph, unsigned field, const char *name, const char *dims)
{
    static struct message shape, tensor, type, value;
    shape.size = tensor.size = type.size = value.size = 0;
    put_number(&tensor, 1, 1);
    if (dims != NULL) {
        put_dims(&shape, 1, dims, true);
        put_message(&tensor, 2, &shape);
    }
    put_message(&type, 1, &tensor);
    put_text(&value, 1, name);
    put_message(&value, 2, &type);
    put_message(graph, field, &value);
}

/* TensorProto of a weight: its elements lie in a file that is not there. */
static inline void put_weight(struct message *graph, const char *name, const char *dims, const char *dtype)
{
    static struct message tensor, place;
    bool int8 = dtype != NULL && strcmp(dtype, "int8") == 0, fp8 = dtype != NULL && strcmp(dtype, "fp8") == 0;
    tensor.size = place.size = 0;
    put_dims(&tensor, 1, dims, false);
    put_number(&tensor, 2, int8 ? 3 : fp8 ? 17 : 1);
    put_text(&tensor, 8, name);
    put_text(&place, 1, "location");
    put_text(&place, 2, "missing.bin");
    put_message(&tensor, 13, &place);
    put_number(&tensor, 14, 1);
    put_message(graph, 5, &tensor);
}

static inline void put_constant(struct message *graph, const char *name, const char *number)
{
    static struct message tensor;
    float value = strtof(number, NULL);
    tensor.size = 0;
    put_number(&tensor, 2, 1);
    put_part(&tensor, 4, &value, sizeof value);
    put_text(&tensor, 8, name);
    put_message(graph, 5, &tensor);
}

/* "2,4,-1" as whole numbers of a field; how many. */
static inline int64_t put_list(struct message *out, unsigned field, const char *list)
{
    int64_t count = 0;
    for (char *end; *list != '\0'; list = end + (*end == ',')) {
        put_number(out, field, strtoll(list, &end, 10));
        count++;
    }
    return count;
}

static inline void put_numbers(struct message *graph, const char *name, const char *list)
{
    static struct message tensor, numbers;
    tensor.size = numbers.size = 0;
    int64_t count = put_list(&numbers, 7, list);
    put_number(&tensor, 1, count);
    put_number(&tensor, 2, 7);
    put_bytes(&tensor, numbers.bytes, numbers.size);
    put_text(&tensor, 8, name);
    put_message(graph, 5, &tensor);
}

static inline void put_attribute(struct message *node, char *word)
{
    static struct message attribute;
    char *value = strchr(word, '=');
    *value++ = '\0';
    attribute.size = 0;
    put_text(&attribute, 1, word);
    bool list = strchr(value, ',') != NULL;
    put_list(&attribute, list ? 8 : 3, value);
    put_number(&attribute, 20, list ? 7 : 2);
    put_message(node, 5, &attribute);
}

/* "y = Op a b axis=1", or "y z = ..." */
static inline void put_node(struct message *graph, char *line)
{
    static struct message node;
    char *at;
    node.size = 0;
    char *word = strtok_r(line, " ", &at);
    for (; word != NULL && strcmp(word, "=") != 0; word = strtok_r(NULL, " ", &at))
        put_text(&node, 2, word);
    const char *op = strtok_r(NULL, " ", &at);
    while ((word = strtok_r(NULL, " ", &at)) != NULL)
        if (strchr(word, '=') != NULL)
            put_attribute(&node, word);
        else
            put_text(&node, 1, word);
    put_text(&node, 4, op);
    put_message(graph, 1, &node);
}

static inline void put_line(struct message *graph, char *line)
{
    char name[32], rest[64], last[16];
    int words = sscanf(line, "%*s %31s %63s %15s", name, rest, last);
    if (strncmp(line, "input ", 6) == 0)
        put_value(graph, 11, name, rest);
    else if (strncmp(line, "output ", 7) == 0)
        put_value(graph, 12, name, NULL);
    else if (strncmp(line, "weight ", 7) == 0)
        put_weight(graph, name, rest, words == 3 ? last : NULL);
    else if (strncmp(line, "number ", 7) == 0)
        put_constant(graph, name, rest);
    else if (strncmp(line, "list ", 5) == 0)
        put_numbers(graph, name, rest);
    else
        put_node(graph, line);
}

/* Writes the model as `path`. */
static inline void write_onnx(const char *path, const char *text)
{
    static struct message graph, opset, model;
    char *copy = strdup(text), *at;
    graph.size = opset.size = model.size = 0;
    for (char *line = strtok_r(copy, ";\n", &at); line != NULL; line = strtok_r(NULL, ";\n", &at)) {
        line += strspn(line, " ");
        if (*line != '\0')
            put_line(&graph, line);
    }
    free(copy);
    put_number(&opset, 2, 17);
    put_number(&model, 1, 8);
    put_message(&model, 7, &graph);
    put_message(&model, 8, &opset);
    FILE *file = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(model.bytes, 1, model.size, file), model.size);
    fclose(file);
}
