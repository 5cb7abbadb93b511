/*
 * ONNX models changed as messages, so that changes get past the wire format: a field is left out, doubled,
 * swapped with another, gets a wrong length or an extreme number, and parts go from model to model. Which
 * field holds what is known from the messages' own descriptors.
 *
 * The wire format is that of https://protobuf.dev/programming-guides/encoding.
 */
#include "targets.h"
#include "base/random.h"
#include "base/status.h"
#include "models/networks/onnx/operator.h"
#include "onnx.pb-c.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARINT, FIXED64, BYTES, FIXED32 = 5 };
enum { MOST_FIELDS = 1 << 16, DEEPEST = 24, EDITS = 4, TRIES = 64, NODE_BYTES = 512 };
#define NONE UINT32_MAX

struct field {
    uint32_t number, wire;                 /* number 0: an element of a packed list, which has no tag */
    uint64_t value;                        /* of a varint */
    const uint8_t *bytes;                  /* else */
    size_t size;                           /* of the bytes; of children once they are measured */
    const ProtobufCFieldDescriptor *known; /* NULL: no field of ONNX */
    bool parted;                           /* its children hold what it holds */
    int64_t lie;                           /* added to the length that is written */
    uint32_t parent, first, next;
};

struct tree {
    struct field fields[MOST_FIELDS]; /* the first stands for the whole model */
    size_t count;
};

struct editing {
    struct tree tree, other;
    struct rt_random random;
    uint8_t *made[EDITS]; /* bytes of new nodes and elements */
    size_t made_count;
};

static size_t below(struct editing *editing, size_t bound)
{
    return bound > 0 ? (size_t)rt_random_below(&editing->random, bound) : 0;
}

/* --- reading --- */

static bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool take_bytes(const uint8_t **at, const uint8_t *end, uint64_t size, struct field *field)
{
    if (size > (uint64_t)(end - *at))
        return false;
    field->bytes = *at;
    field->size = (size_t)size;
    *at += size;
    return true;
}

static bool take_content(const uint8_t **at, const uint8_t *end, struct field *field)
{
    uint64_t length;
    switch (field->wire) {
    case VARINT:
        return take_varint(at, end, &field->value);
    case BYTES:
        return take_varint(at, end, &length) && take_bytes(at, end, length, field);
    case FIXED32:
    case FIXED64:
        return take_bytes(at, end, field->wire == FIXED32 ? 4 : 8, field);
    default:
        return false;
    }
}

/* The wire type of a number in a packed list. */
static uint32_t packed_wire(const ProtobufCFieldDescriptor *known)
{
    return known->type == PROTOBUF_C_TYPE_FLOAT    ? FIXED32
           : known->type == PROTOBUF_C_TYPE_DOUBLE ? FIXED64
                                                   : VARINT;
}

static bool is_text(const ProtobufCFieldDescriptor *known)
{
    return known->type == PROTOBUF_C_TYPE_STRING || known->type == PROTOBUF_C_TYPE_BYTES;
}

static uint32_t add(struct tree *tree, const struct field *field, uint32_t parent)
{
    uint32_t number = (uint32_t)tree->count++;
    tree->fields[number] = *field;
    tree->fields[number].parent = parent;
    tree->fields[number].first = tree->fields[number].next = NONE;
    return number;
}

/* Parts a field into its children; false where it does not hold such. */
static bool part(struct tree *tree, uint32_t parent, const ProtobufCMessageDescriptor *message, int depth)
{
    const uint8_t *at = tree->fields[parent].bytes, *end = at + tree->fields[parent].size;
    uint32_t *link = &tree->fields[parent].first;
    while (at < end) {
        struct field field = {0};
        uint64_t tag = 0;
        if (tree->count == MOST_FIELDS || (message != NULL && !take_varint(&at, end, &tag)))
            return false;
        field.number = (uint32_t)(tag >> 3);
        field.wire = message != NULL ? tag & 7 : packed_wire(tree->fields[parent].known);
        field.known = message != NULL ? protobuf_c_message_descriptor_get_field(message, field.number) : NULL;
        if (!take_content(&at, end, &field))
            return false;
        uint32_t number = *link = add(tree, &field, parent);
        struct field *added = &tree->fields[number];
        link = &added->next;
        if (field.wire != BYTES || field.known == NULL || is_text(field.known) || depth == DEEPEST)
            continue;
        added->parted =
            part(tree, number, field.known->type == PROTOBUF_C_TYPE_MESSAGE ? field.known->descriptor : NULL,
                 depth + 1);
    }
    return true;
}

static bool read_tree(struct tree *tree, const uint8_t *bytes, size_t size)
{
    struct field whole = {.wire = BYTES, .bytes = bytes, .size = size, .parted = true};
    tree->count = 0;
    add(tree, &whole, NONE);
    return part(tree, 0, &onnx__model_proto__descriptor, 0) && tree->count > 1;
}

/* --- writing --- */

static size_t varint_size(uint64_t value)
{
    size_t size = 1;
    for (; value >= 0x80; value >>= 7)
        size++;
    return size;
}

static uint64_t tag_of(const struct field *field)
{
    return (uint64_t)field->number << 3 | field->wire;
}

static uint64_t length_of(const struct field *field)
{
    return field->size + (uint64_t)field->lie;
}

/* Sizes of what fields hold, and of what they take with tag and length. */
static size_t measure(struct tree *tree, uint32_t number)
{
    struct field *field = &tree->fields[number];
    if (field->parted) {
        field->size = 0;
        for (uint32_t child = field->first; child != NONE; child = tree->fields[child].next)
            field->size += measure(tree, child);
    }
    size_t size = field->wire == VARINT ? varint_size(field->value) : field->size;
    if (field->number != 0)
        size += varint_size(tag_of(field)) + (field->wire == BYTES ? varint_size(length_of(field)) : 0);
    return size;
}

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

static uint8_t *put_field(const struct tree *tree, uint32_t number, uint8_t *at)
{
    const struct field *field = &tree->fields[number];
    if (field->number != 0)
        at = put_varint(at, tag_of(field));
    if (field->wire == VARINT)
        return put_varint(at, field->value);
    if (field->number != 0 && field->wire == BYTES)
        at = put_varint(at, length_of(field));
    for (uint32_t child = field->first; field->parted && child != NONE; child = tree->fields[child].next)
        at = put_field(tree, child, at);
    if (!field->parted && field->size > 0)
        memcpy(at, field->bytes, field->size);
    return at + (field->parted ? 0 : field->size);
}

/* --- which field --- */

static bool any(const struct field *field)
{
    (void)field;
    return true;
}

static bool holds_number(const struct field *field)
{
    return field->wire == VARINT;
}

static bool holds_real(const struct field *field)
{
    return field->wire == FIXED32 || field->wire == FIXED64;
}

static bool holds_text(const struct field *field)
{
    return field->wire == BYTES && field->known != NULL && is_text(field->known);
}

static bool has_length(const struct field *field)
{
    return field->wire == BYTES;
}

static bool is_message(const struct field *field)
{
    return field->known != NULL && field->known->type == PROTOBUF_C_TYPE_MESSAGE;
}

static bool is_named(const struct field *field, const char *name)
{
    return field->known != NULL && strcmp(field->known->name, name) == 0;
}

static bool is_op_type(const struct field *field)
{
    return is_named(field, "op_type");
}

static bool is_raw(const struct field *field)
{
    return is_named(field, "raw_data") && field->size >= 8;
}

static bool is_input_name(const struct field *field)
{
    return is_named(field, "input") && holds_text(field);
}

static bool is_graph(const struct field *field)
{
    return is_message(field) && field->known->descriptor == &onnx__graph_proto__descriptor;
}

/* One of the fields for which `fits` holds, any of them; NONE where few or none do. */
static uint32_t pick(struct editing *editing, const struct tree *tree, bool (*fits)(const struct field *))
{
    for (int try = 0; try < TRIES; try++) {
        uint32_t number = 1 + (uint32_t)below(editing, tree->count - 1);
        if (fits(&tree->fields[number]))
            return number;
    }
    return NONE;
}

/* A field of the same kind as `like`. */
static uint32_t pick_like(struct editing *editing, const struct tree *tree, const struct field *like)
{
    size_t start = below(editing, tree->count);
    for (size_t i = 0; i < tree->count && like->known != NULL; i++) {
        uint32_t number = (uint32_t)((start + i) % tree->count);
        if (tree->fields[number].known == like->known && tree->fields[number].wire == like->wire)
            return number;
    }
    return NONE;
}

/* What points to the field: its parent, or the one before. */
static uint32_t *link_to(struct tree *tree, uint32_t number)
{
    uint32_t *link = &tree->fields[tree->fields[number].parent].first;
    while (*link != NONE && *link != number)
        link = &tree->fields[*link].next;
    return *link == number ? link : NULL; /* NULL: it was left out before */
}

static void insert_after(struct tree *tree, uint32_t number, const struct field *field)
{
    if (tree->count == MOST_FIELDS)
        return;
    uint32_t added = add(tree, field, tree->fields[number].parent);
    tree->fields[added].next = tree->fields[number].next;
    tree->fields[number].next = added;
}

/* --- edits --- */

static void leave_out(struct editing *editing)
{
    uint32_t number = pick(editing, &editing->tree, any);
    uint32_t *link = number != NONE ? link_to(&editing->tree, number) : NULL;
    if (link != NULL)
        *link = editing->tree.fields[number].next;
}

/* A field as it stood in the file, once more. */
static struct field copy_of(const struct field *field)
{
    struct field copy = *field;
    copy.parted = false;
    return copy;
}

static bool can_copy(const struct field *field)
{
    return field->bytes != NULL || field->wire == VARINT;
}

static void put_twice(struct editing *editing)
{
    uint32_t number = pick(editing, &editing->tree, can_copy);
    for (size_t times = 1 + below(editing, 3) * below(editing, 20); number != NONE && times > 0; times--) {
        struct field copy = copy_of(&editing->tree.fields[number]);
        insert_after(&editing->tree, number, &copy);
    }
}

/* Contents of two fields change places; of the same kind half the time. */
static void swap(struct editing *editing)
{
    struct tree *tree = &editing->tree;
    uint32_t a = pick(editing, tree, can_copy), b;
    if (a == NONE)
        return;
    b = below(editing, 2) ? pick_like(editing, tree, &tree->fields[a]) : pick(editing, tree, can_copy);
    if (b == NONE || tree->fields[a].wire != tree->fields[b].wire)
        return;
    struct field one = tree->fields[a], two = tree->fields[b];
    tree->fields[a].bytes = two.bytes, tree->fields[a].size = two.size, tree->fields[a].value = two.value;
    tree->fields[b].bytes = one.bytes, tree->fields[b].size = one.size, tree->fields[b].value = one.value;
    tree->fields[a].parted = tree->fields[b].parted = false;
}

static uint64_t extreme(struct editing *editing, uint64_t before)
{
    static const int64_t edges[] = {0,         1,         2,          3,         -1,        -2,
                                    INT64_MIN, INT64_MAX, INT32_MAX,  INT32_MIN, 1LL << 40, (1LL << 40) + 1,
                                    1LL << 31, 1LL << 32, 1LL << 62,  4096,      4097,      16,
                                    17,        7,         1000000007, 65535};
    switch (below(editing, 4)) {
    case 0:
        return before + (below(editing, 2) ? 1 : UINT64_MAX);
    case 1:
        return below(editing, 32);
    default:
        return (uint64_t)edges[below(editing, RT_COUNT(edges))];
    }
}

static void change_number(struct editing *editing)
{
    uint32_t number = pick(editing, &editing->tree, holds_number);
    if (number != NONE)
        editing->tree.fields[number].value = extreme(editing, editing->tree.fields[number].value);
}

static void change_real(struct editing *editing)
{
    static const char *const edges[] = {"\0\0\0\0\0\0\xf0\x7f",     "\0\0\xc0\x7f\0\0\xf8\x7f",
                                        "\0\0\0\0\0\0\0\0",         "\0\0\x80\x7f\0\0\0\x80",
                                        "\0\0\x80\xbf\0\0\xf0\xbf", "\xff\xff\x7f\x7f\xff\xff\xef\x7f"};
    uint32_t number = pick(editing, &editing->tree, holds_real);
    if (number != NONE)
        editing->tree.fields[number].bytes = (const uint8_t *)edges[below(editing, RT_COUNT(edges))];
}

/* Elements of a small tensor: sizes and axes, where it is an input of shape arithmetic. */
static void change_elements(struct editing *editing)
{
    uint32_t number = pick(editing, &editing->tree, is_raw);
    if (number == NONE || editing->made_count == EDITS)
        return;
    struct field *field = &editing->tree.fields[number];
    uint8_t *bytes = editing->made[editing->made_count++] = rt_malloc(field->size);
    memcpy(bytes, field->bytes, field->size);
    uint64_t value;
    size_t at = below(editing, field->size / 8) * 8;
    memcpy(&value, bytes + at, sizeof value);
    value = extreme(editing, value);
    memcpy(bytes + at, &value, sizeof value);
    field->bytes = bytes;
    field->size -= below(editing, 8) == 0 ? below(editing, field->size) : 0;
}

static void change_length(struct editing *editing)
{
    static const int64_t lies[] = {1, -1, 2, -2, 127, 1LL << 20, 1LL << 31, 1LL << 40, INT64_MAX};
    uint32_t number = pick(editing, &editing->tree, has_length);
    if (number != NONE)
        editing->tree.fields[number].lie = lies[below(editing, RT_COUNT(lies))];
}

/* Another number or another wire type of the same content. */
static void change_tag(struct editing *editing)
{
    uint32_t number = pick(editing, &editing->tree, any);
    if (number == NONE || editing->tree.fields[number].number == 0)
        return;
    editing->tree.fields[number].number =
        below(editing, 8) ? 1 + (uint32_t)below(editing, 40) : (uint32_t)extreme(editing, 5) >> 3;
}

/* A text becomes another of this model or of the other, an empty or a long one. */
static void change_text(struct editing *editing)
{
    static const uint8_t names[400] = "batch/../\xff\xfe\x1b[2J%s%n";
    uint32_t number = pick(editing, &editing->tree, holds_text);
    if (number == NONE)
        return;
    struct field *field = &editing->tree.fields[number];
    size_t way = below(editing, 8);
    const struct tree *from = way < 5 ? &editing->tree : &editing->other;
    uint32_t text = from->count > 1 ? pick(editing, from, holds_text) : NONE;
    field->bytes = way < 7 && text != NONE ? from->fields[text].bytes : names;
    field->size = way < 7 && text != NONE ? from->fields[text].size : below(editing, sizeof names);
}

static const struct rt_onnx_operator *any_op(struct editing *editing)
{
    const struct rt_onnx_operator *rows = rt_onnx_operators[below(editing, RT_ONNX_KINDS)];
    size_t count = 0;
    while (rows[count].name != NULL)
        count++;
    return &rows[below(editing, count)];
}

static void change_op(struct editing *editing)
{
    uint32_t number = pick(editing, &editing->tree, is_op_type);
    if (number == NONE)
        return;
    struct field *field = &editing->tree.fields[number];
    field->bytes = (const uint8_t *)any_op(editing)->name;
    field->size = strlen((const char *)field->bytes);
}

/* A part of the other model, or of another place in this one, in the place of one of its kind or behind it.
 */
static void graft(struct editing *editing)
{
    const struct tree *from =
        below(editing, 2) && editing->other.count > 1 ? &editing->other : &editing->tree;
    uint32_t number = pick(editing, &editing->tree, is_message);
    uint32_t part = number != NONE ? pick_like(editing, from, &editing->tree.fields[number]) : NONE;
    if (part == NONE || from->fields[part].bytes == NULL)
        return;
    struct field copy = copy_of(&from->fields[part]);
    if (below(editing, 2)) {
        insert_after(&editing->tree, number, &copy);
        return;
    }
    struct field *field = &editing->tree.fields[number];
    field->parted = false;
    field->bytes = copy.bytes;
    field->size = copy.size;
}

/* The model's graph, or one of its bodies, as a body of its own node. */
static void nest(struct editing *editing)
{
    uint32_t body = pick(editing, &editing->tree, is_graph), graph = NONE;
    for (uint32_t i = 1; i < editing->tree.count && graph == NONE; i++)
        if (is_graph(&editing->tree.fields[i]))
            graph = i;
    if (body == NONE || body == graph || editing->tree.fields[graph].bytes == NULL)
        return;
    struct field *field = &editing->tree.fields[body];
    field->parted = false;
    field->bytes = editing->tree.fields[graph].bytes;
    field->size = editing->tree.fields[graph].size;
}

static uint8_t *put_text(uint8_t *at, uint32_t number, const void *text, size_t size)
{
    at = put_varint(at, (uint64_t)number << 3 | BYTES);
    at = put_varint(at, size);
    memcpy(at, text, size);
    return at + size;
}

static uint32_t number_of(const char *name)
{
    return protobuf_c_message_descriptor_get_field_by_name(&onnx__node_proto__descriptor, name)->id;
}

/* A new node of any operator: it reads `input` and perhaps other values, and makes `output`. */
static size_t make_node(struct editing *editing, const struct field *input, const char *output,
                        uint8_t *bytes)
{
    const struct rt_onnx_operator *op = any_op(editing);
    uint8_t *at = put_text(bytes, number_of("input"), input->bytes, input->size);
    for (size_t more = below(editing, 4); more > 0; more--) {
        uint32_t number = pick(editing, &editing->tree, is_input_name);
        if (number != NONE && editing->tree.fields[number].size < NODE_BYTES / 8)
            at = put_text(at, number_of("input"), editing->tree.fields[number].bytes,
                          editing->tree.fields[number].size);
    }
    at = put_text(at, number_of("output"), output, strlen(output));
    at = put_text(at, number_of("op_type"), op->name, strlen(op->name));
    if (op->domain != NULL)
        at = put_text(at, number_of("domain"), op->domain, strlen(op->domain));
    return (size_t)(at - bytes);
}

/* A new node between a value and a node that reads it. */
static void put_between(struct editing *editing)
{
    struct tree *tree = &editing->tree;
    uint32_t input = pick(editing, tree, is_input_name);
    if (input == NONE || tree->fields[input].size >= NODE_BYTES / 8 || editing->made_count == EDITS)
        return;
    uint32_t reader = tree->fields[input].parent, *link = link_to(tree, reader);
    if (link == NULL || tree->count == MOST_FIELDS)
        return;
    uint8_t *bytes = editing->made[editing->made_count++] = rt_calloc(1, 2 * NODE_BYTES);
    char *output = (char *)bytes + NODE_BYTES;
    snprintf(output, NODE_BYTES, "new%zu", below(editing, 1000000000));
    struct field node = copy_of(&tree->fields[reader]);
    node.size = make_node(editing, &tree->fields[input], output, bytes);
    node.bytes = bytes;
    uint32_t added = add(tree, &node, tree->fields[reader].parent);
    tree->fields[added].next = reader;
    *link = added;
    tree->fields[input].bytes = (const uint8_t *)output;
    tree->fields[input].size = strlen(output);
}

static void edit(struct editing *editing)
{
    static void (*const edits[])(struct editing *) = {
        leave_out,   put_twice,     swap,       change_number, change_number, change_number, change_elements,
        change_real, change_length, change_tag, change_text,   change_text,   change_op,     change_op,
        graft,       graft,         nest,       put_between,   put_between,   put_between};
    edits[below(editing, RT_COUNT(edits))](editing);
}

size_t fuzz_onnx_change(uint8_t *bytes, size_t size, size_t most, const uint8_t *other, size_t other_size,
                        uint64_t seed)
{
    static struct editing editing; /* ten megabytes */
    size_t total = 0;
    rt_random_seed(&editing.random, seed, 0);
    editing.made_count = 0;
    if (!read_tree(&editing.other, other, other_size))
        editing.other.count = 0;
    if (read_tree(&editing.tree, bytes, size)) {
        for (size_t i = 1 + below(&editing, EDITS); i > 0; i--)
            edit(&editing);
        total = measure(&editing.tree, 0);
    }
    if (total > 0 && total <= most) {
        uint8_t *out = rt_malloc(total);
        put_field(&editing.tree, 0, out);
        memcpy(bytes, out, total);
        free(out);
    }
    for (size_t i = 0; i < editing.made_count; i++)
        free(editing.made[i]);
    return total <= most ? total : 0;
}
