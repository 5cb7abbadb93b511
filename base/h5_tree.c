/* HDF5 files of our own layout, read without the library. See h5_tree.h. */
#include "base/h5_tree.h"
#include "base/array.h"
#include "base/h5_chunks.h"
#include "base/printable.h"
#include "base/text.h"

#include <endian.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* Larger files are datasets, whose arrays are most of what is read. A predictor has a few hundred objects. */
enum { MOST_BYTES = 16 << 20, MOST_OBJECTS = 20000, MOST_DEPTH = 8, MOST_BLOCKS = 64, MOST_PARTS = 64 };

#define UNDEFINED UINT64_MAX /* an address of nothing */

struct bytes {
    const unsigned char *at;
    size_t size;
};

struct attribute {
    const char *name;
    struct bytes type, value; /* value: empty where it is no scalar */
};

struct child {
    char *name;
    struct rt_h5_object *object;
};

struct rt_h5_object {
    struct attribute *attributes; /* sorted by name */
    size_t attribute_count, attribute_room;
    struct child *children; /* sorted by name */
    size_t child_count, child_room;
    struct bytes type; /* of an array; at NULL: a group */
    uint64_t extent;
    uint64_t chunk;   /* values in each */
    uint64_t element; /* bytes of a value in a chunk */
    uint64_t index;   /* address of the extensible array of chunks */
    uint8_t filters[3];
    size_t filter_count;
};

struct rt_h5_tree {
    unsigned char *file;
    size_t size, objects;
    struct rt_h5_object root;
    z_stream inflate;
    bool inflates;
};

/* ---- numbers of a file, little-endian ---- */

/* A part that is read from its beginning; `bad` where it was too short or held what is not known. */
struct cursor {
    struct bytes rest;
    bool bad;
};

static const unsigned char *take(struct cursor *from, uint64_t size)
{
    static const unsigned char nothing[64];
    if (from->bad || size > from->rest.size) {
        from->bad = true;
        return nothing;
    }
    const unsigned char *at = from->rest.at;
    from->rest.at += size;
    from->rest.size -= size;
    return at;
}

static uint64_t number(struct cursor *from, size_t bytes)
{
    uint64_t value = 0;
    const unsigned char *at = bytes <= 8 ? take(from, bytes) : (from->bad = true, NULL);
    for (size_t i = 0; !from->bad && i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static void expect(struct cursor *from, size_t bytes, uint64_t value)
{
    if (number(from, bytes) != value)
        from->bad = true;
}

static struct cursor part(const struct rt_h5_tree *tree, uint64_t address, uint64_t size)
{
    if (address > tree->size || size > tree->size - address)
        return (struct cursor){.bad = true};
    return (struct cursor){{tree->file + address, (size_t)size}, false};
}

/* ---- checksums of metadata ---- */

static uint32_t rotated(uint32_t x, int bits)
{
    return x << bits | x >> (32 - bits);
}

static uint32_t word(const unsigned char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* Bob Jenkins' lookup3 (hashlittle), which HDF5 takes for all metadata. */
static uint32_t lookup3(const unsigned char *at, size_t size)
{
    uint32_t a = 0xdeadbeef + (uint32_t)size, b = a, c = a;
    unsigned char last[12] = {0};
    for (; size > 12; size -= 12, at += 12) {
        a += word(at), b += word(at + 4), c += word(at + 8);
        a = (a - c) ^ rotated(c, 4), c += b;
        b = (b - a) ^ rotated(a, 6), a += c;
        c = (c - b) ^ rotated(b, 8), b += a;
        a = (a - c) ^ rotated(c, 16), c += b;
        b = (b - a) ^ rotated(a, 19), a += c;
        c = (c - b) ^ rotated(b, 4), b += a;
    }
    if (size == 0)
        return c;
    memcpy(last, at, size);
    a += word(last), b += word(last + 4), c += word(last + 8);
    c = (c ^ b) - rotated(b, 14);
    a = (a ^ c) - rotated(c, 11);
    b = (b ^ a) - rotated(a, 25);
    c = (c ^ b) - rotated(b, 16);
    a = (a ^ c) - rotated(c, 4);
    b = (b ^ a) - rotated(a, 14);
    return (c ^ b) - rotated(b, 24);
}

/* What stands between a signature and the checksum at the end of the part, which must be right. */
static struct cursor checked(const struct rt_h5_tree *tree, uint64_t address, uint64_t size,
                             const char *signature)
{
    struct cursor whole = part(tree, address, size), inner = whole;
    if (whole.bad || size < 8 || memcmp(whole.rest.at, signature, 4) != 0 ||
        lookup3(whole.rest.at, (size_t)size - 4) != word(whole.rest.at + size - 4))
        return (struct cursor){.bad = true};
    inner.rest.at += 4;
    inner.rest.size -= 8;
    return inner;
}

/* ---- what is kept in fractal heaps: links and attributes of objects that have many ---- */

struct heap {
    size_t offset_bytes, length_bytes;
    size_t header; /* bytes of a block before its objects */
    size_t count;
    struct {
        uint64_t offset, address, size;
    } blocks[MOST_BLOCKS];
};

/* The checksum of a block of objects stands in its header, and is of the block with zeros there. */
static bool block_is_sound(struct rt_h5_tree *tree, const struct heap *heap, uint64_t address, uint64_t size)
{
    struct cursor block = part(tree, address, size);
    if (block.bad || size < heap->header || memcmp(block.rest.at, "FHDB", 5) != 0)
        return false;
    unsigned char *stored = tree->file + address + heap->header - 4;
    uint32_t sum = word(stored);
    memset(stored, 0, 4);
    bool sound = lookup3(block.rest.at, block.rest.size) == sum;
    memcpy(stored, &sum, 4);
    return sound;
}

static bool add_block(struct rt_h5_tree *tree, struct heap *heap, uint64_t offset, uint64_t address,
                      uint64_t size)
{
    if (address == UNDEFINED)
        return true;
    if (heap->count == MOST_BLOCKS || !block_is_sound(tree, heap, address, size))
        return false;
    heap->blocks[heap->count].offset = offset;
    heap->blocks[heap->count].address = address;
    heap->blocks[heap->count++].size = size;
    return true;
}

/* Rows of blocks: two of blocks of the least size, then each twice as large as the one before. */
static bool add_rows(struct rt_h5_tree *tree, struct heap *heap, uint64_t root, uint64_t rows, uint64_t width,
                     uint64_t least, uint64_t most)
{
    uint64_t blocks = rows * width, offset = 0, size = least;
    if (rows > 16 || width > 16)
        return false;
    struct cursor node = checked(tree, root, 4 + 1 + 8 + heap->offset_bytes + 8 * blocks + 4, "FHIB");
    expect(&node, 1, 0);
    take(&node, 8 + heap->offset_bytes);
    for (uint64_t row = 0; row < rows; row++) {
        if (row > 1)
            size *= 2;
        for (uint64_t i = 0; i < width; i++, offset += size) {
            uint64_t address = number(&node, 8);
            if (node.bad || size > most || !add_block(tree, heap, offset, address, size))
                return false;
        }
    }
    return true;
}

static size_t bytes_of(uint64_t value)
{
    size_t bytes = 1;
    while ((value >>= 8) > 0)
        bytes++;
    return bytes;
}

static bool open_heap(struct rt_h5_tree *tree, uint64_t address, struct heap *heap)
{
    struct cursor header = checked(tree, address, 146, "FRHP");
    expect(&header, 1, 0);
    take(&header, 2);
    expect(&header, 2, 0); /* no filters */
    uint64_t flags = number(&header, 1), most_managed = number(&header, 4);
    take(&header, 12 * 8);
    uint64_t width = number(&header, 2), least = number(&header, 8), most = number(&header, 8);
    uint64_t bits = number(&header, 2);
    take(&header, 2);
    uint64_t root = number(&header, 8), rows = number(&header, 2);
    if (header.bad || (flags & 2) == 0 || bits > 64 || root == UNDEFINED || least > most)
        return false;
    size_t of_block = bytes_of(most - 1), of_object = bytes_of(most_managed);
    *heap = (struct heap){.offset_bytes = (size_t)(bits + 7) / 8,
                          .length_bytes = of_block < of_object ? of_block : of_object};
    heap->header = 4 + 1 + 8 + heap->offset_bytes + 4;
    return rows == 0 ? add_block(tree, heap, 0, root, least)
                     : add_rows(tree, heap, root, rows, width, least, most);
}

/* The object of an id, which says where it lies among all objects of the heap. */
static struct cursor heap_object(const struct rt_h5_tree *tree, const struct heap *heap, struct cursor *id)
{
    uint64_t kind = number(id, 1), offset = number(id, heap->offset_bytes),
             length = number(id, heap->length_bytes);
    for (size_t b = 0; !id->bad && kind == 0 && b < heap->count; b++)
        if (offset >= heap->blocks[b].offset && offset - heap->blocks[b].offset < heap->blocks[b].size &&
            length <= heap->blocks[b].size - (offset - heap->blocks[b].offset))
            return part(tree, heap->blocks[b].address + (offset - heap->blocks[b].offset), length);
    return (struct cursor){.bad = true};
}

typedef bool (*take_object)(struct rt_h5_tree *tree, struct rt_h5_object *object, struct cursor message,
                            int depth);

/* Every object that a B-tree of one leaf lists; ids stand `before` bytes into its records. */
static bool each_listed(struct rt_h5_tree *tree, uint64_t heap_address, uint64_t names, unsigned type,
                        size_t before, take_object visit, struct rt_h5_object *object, int depth)
{
    struct heap heap;
    struct cursor header = checked(tree, names, 38, "BTHD");
    expect(&header, 1, 0);
    expect(&header, 1, type);
    take(&header, 4);
    uint64_t record = number(&header, 2);
    expect(&header, 2, 0); /* depth */
    take(&header, 2);
    uint64_t root = number(&header, 8), count = number(&header, 2);
    if (header.bad || !open_heap(tree, heap_address, &heap) || record < before)
        return false;
    struct cursor leaf = checked(tree, root, 6 + count * record + 4, "BTLF");
    expect(&leaf, 1, 0);
    expect(&leaf, 1, type);
    for (uint64_t i = 0; i < count; i++) {
        struct cursor id = {{take(&leaf, record), (size_t)record}, leaf.bad};
        take(&id, before);
        if (id.bad || !visit(tree, object, heap_object(tree, &heap, &id), depth))
            return false;
    }
    return true;
}

/* ---- messages of an object's header ---- */

/* A shape of `rank` 0 or 1; false: others. */
static bool take_space(struct cursor message, uint64_t *rank, uint64_t *extent)
{
    expect(&message, 1, 2);
    *rank = number(&message, 1);
    take(&message, 1);
    expect(&message, 1, *rank); /* kind: 0 scalar, 1 simple */
    *extent = *rank == 1 ? number(&message, 8) : 1;
    return !message.bad && *rank <= 1;
}

static bool take_attribute(struct rt_h5_tree *tree, struct rt_h5_object *object, struct cursor message,
                           int depth)
{
    uint64_t rank = 1, extent = 0;
    (void)tree, (void)depth;
    expect(&message, 1, 3);
    expect(&message, 1, 0); /* neither type nor shape is shared */
    uint64_t name_size = number(&message, 2), type_size = number(&message, 2),
             space_size = number(&message, 2);
    take(&message, 1);
    const char *name = (const char *)take(&message, name_size);
    struct attribute attribute = {.name = name, .type = {take(&message, type_size), (size_t)type_size}};
    struct cursor space = {{take(&message, space_size), (size_t)space_size}, message.bad};
    if (message.bad || name_size < 2 || strnlen(name, name_size) + 1 != name_size)
        return false;
    if (take_space(space, &rank, &extent) && rank == 0)
        attribute.value = message.rest;
    RT_GROW(object->attributes, object->attribute_count, 1, object->attribute_room);
    object->attributes[object->attribute_count++] = attribute;
    return true;
}

static bool read_object(struct rt_h5_tree *tree, uint64_t address, int depth, struct rt_h5_object *object);

static bool take_link(struct rt_h5_tree *tree, struct rt_h5_object *object, struct cursor message, int depth)
{
    expect(&message, 1, 1);
    uint64_t flags = number(&message, 1);
    if ((flags & 8) != 0)
        expect(&message, 1, 0); /* a hard link */
    take(&message, (flags & 4) != 0 ? 8 : 0);
    take(&message, (flags & 16) != 0 ? 1 : 0);
    uint64_t length = number(&message, (size_t)1 << (flags & 3));
    const char *name = (const char *)take(&message, length);
    uint64_t address = number(&message, 8);
    if (message.bad || length < 1 || memchr(name, '\0', length) != NULL)
        return false;
    RT_GROW(object->children, object->child_count, 1, object->child_room);
    struct child *child = &object->children[object->child_count++];
    *child = (struct child){rt_strndup(name, length), rt_calloc(1, sizeof *child->object)};
    return read_object(tree, address, depth + 1, child->object);
}

/* Chunks of one dimension in an extensible array: 4 of its numbers in the index, as the library writes it. */
static bool take_layout(const struct rt_h5_tree *tree, struct rt_h5_object *object, struct cursor message)
{
    expect(&message, 1, 4); /* version */
    expect(&message, 1, 2); /* chunks */
    expect(&message, 1, 0);
    expect(&message, 1, 2); /* dimensions: the array's and a value's bytes */
    uint64_t width = number(&message, 1);
    object->chunk = number(&message, (size_t)width);
    object->element = number(&message, (size_t)width);
    expect(&message, 1, 4); /* an extensible array */
    take(&message, 5);
    object->index = number(&message, 8);
    uint64_t most = 1100 * (uint64_t)tree->size + 65536; /* deflate compresses a thousandfold at most */
    return !message.bad && object->chunk > 0 && object->element > 0 &&
           object->chunk <= most / object->element;
}

enum { DEFLATE = 1, SHUFFLE = 2, FLETCHER32 = 3 };

static bool take_filters(struct rt_h5_object *object, struct cursor message)
{
    unsigned known = 0;
    expect(&message, 1, 2);
    uint64_t count = number(&message, 1);
    if (count > 3)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t id = number(&message, 2);
        take(&message, 2);
        take(&message, 4 * number(&message, 2));
        if (message.bad || id < DEFLATE || id > FLETCHER32 || (known & 1U << id) != 0)
            return false;
        known |= 1U << id;
        object->filters[object->filter_count++] = (uint8_t)id;
    }
    return true;
}

enum message {
    NOTHING,
    SPACE,
    LINK_INFO,
    TYPE,
    FILL = 5,
    LINK = 6,
    LAYOUT = 8,
    GROUP_INFO = 10,
    FILTERS,
    ATTRIBUTE,
    CONTINUATION = 16,
    ATTRIBUTE_INFO = 21
};

/* An object's header while it is read: its parts, and where more links and attributes are. */
struct header {
    struct cursor parts[MOST_PARTS];
    size_t count;
    uint64_t link_heap, link_names, attribute_heap, attribute_names;
    bool is_group, has_space;
};

/* Addresses of a heap and of the B-tree of its names, behind numbers of the order of creation. */
static bool take_info(struct cursor message, size_t order_bytes, uint64_t *heap, uint64_t *names)
{
    expect(&message, 1, 0);
    uint64_t flags = number(&message, 1);
    take(&message, (flags & 1) != 0 ? order_bytes : 0);
    *heap = number(&message, 8);
    *names = number(&message, 8);
    return !message.bad;
}

static bool take_continuation(const struct rt_h5_tree *tree, struct header *header, struct cursor message)
{
    uint64_t address = number(&message, 8), size = number(&message, 8);
    if (message.bad || header->count == MOST_PARTS)
        return false;
    header->parts[header->count] = checked(tree, address, size, "OCHK");
    return !header->parts[header->count++].bad;
}

static bool take_message(struct rt_h5_tree *tree, struct header *header, struct rt_h5_object *object,
                         uint64_t type, struct cursor message, int depth)
{
    uint64_t rank = 0;
    switch ((enum message)type) {
    case NOTHING:
    case FILL:
    case GROUP_INFO:
        return true;
    case SPACE:
        header->has_space = true;
        return take_space(message, &rank, &object->extent) && rank == 1;
    case TYPE:
        object->type = message.rest;
        return true;
    case LINK_INFO:
        header->is_group = true;
        return take_info(message, 8, &header->link_heap, &header->link_names);
    case ATTRIBUTE_INFO:
        return take_info(message, 2, &header->attribute_heap, &header->attribute_names);
    case LINK:
        return take_link(tree, object, message, depth);
    case ATTRIBUTE:
        return take_attribute(tree, object, message, depth);
    case LAYOUT:
        return take_layout(tree, object, message);
    case FILTERS:
        return take_filters(object, message);
    case CONTINUATION:
        return take_continuation(tree, header, message);
    }
    return false;
}

/* The first part of a header; its flags say how it is written. */
static struct cursor first_part(const struct rt_h5_tree *tree, uint64_t address, uint64_t *flags)
{
    struct cursor start = part(tree, address, 64 < tree->size - address ? 64 : tree->size - address);
    size_t all = start.rest.size;
    take(&start, 4);
    expect(&start, 1, 2);
    *flags = number(&start, 1);
    take(&start, (*flags & 32) != 0 ? 16 : 0);
    take(&start, (*flags & 16) != 0 ? 4 : 0);
    uint64_t size = number(&start, (size_t)1 << (*flags & 3));
    size_t prefix = all - start.rest.size;
    if (start.bad || size > tree->size)
        return (struct cursor){.bad = true};
    struct cursor messages = checked(tree, address, prefix + size + 4, "OHDR");
    take(&messages, prefix - 4);
    return messages;
}

static bool read_messages(struct rt_h5_tree *tree, struct header *header, struct rt_h5_object *object,
                          size_t order_bytes, int depth)
{
    for (size_t p = 0; p < header->count; p++) {
        struct cursor rest = header->parts[p];
        while (rest.rest.size >= 4 + order_bytes) {
            uint64_t type = number(&rest, 1), size = number(&rest, 2), flags = number(&rest, 1);
            take(&rest, order_bytes);
            struct cursor message = {{take(&rest, size), (size_t)size}, rest.bad};
            bool shared = (flags & 2) != 0;
            if (rest.bad || shared || !take_message(tree, header, object, type, message, depth))
                return false;
        }
    }
    return true;
}

static int by_attribute_name(const void *a, const void *b)
{
    return strcmp(((const struct attribute *)a)->name, ((const struct attribute *)b)->name);
}

static int by_child_name(const void *a, const void *b)
{
    return strcmp(((const struct child *)a)->name, ((const struct child *)b)->name);
}

static bool read_object(struct rt_h5_tree *tree, uint64_t address, int depth, struct rt_h5_object *object)
{
    uint64_t flags = 0;
    struct header header = {.link_heap = UNDEFINED, .attribute_heap = UNDEFINED, .count = 1};
    if (depth > MOST_DEPTH || ++tree->objects > MOST_OBJECTS || address >= tree->size)
        return false;
    header.parts[0] = first_part(tree, address, &flags);
    if (header.parts[0].bad || !read_messages(tree, &header, object, (flags & 4) != 0 ? 2 : 0, depth))
        return false;
    if (header.link_heap != UNDEFINED &&
        !each_listed(tree, header.link_heap, header.link_names, 5, 4, take_link, object, depth))
        return false;
    if (header.attribute_heap != UNDEFINED &&
        !each_listed(tree, header.attribute_heap, header.attribute_names, 8, 0, take_attribute, object,
                     depth))
        return false;
    if (object->attribute_count > 1)
        qsort(object->attributes, object->attribute_count, sizeof *object->attributes, by_attribute_name);
    if (object->child_count > 1)
        qsort(object->children, object->child_count, sizeof *object->children, by_child_name);
    bool is_array = object->type.at != NULL && header.has_space && object->chunk > 0;
    return header.is_group != is_array;
}

/* ---- the tree ---- */

static void release(struct rt_h5_object *object)
{
    for (size_t i = 0; i < object->child_count; i++) {
        release(object->children[i].object);
        free(object->children[i].object);
        free(object->children[i].name);
    }
    free(object->children);
    free(object->attributes);
}

void rt_h5_tree_free(struct rt_h5_tree *tree)
{
    if (tree == NULL)
        return;
    release(&tree->root);
    if (tree->inflates)
        inflateEnd(&tree->inflate);
    free(tree->file);
    free(tree);
}

static bool read_file(const char *path, unsigned char *to, size_t size)
{
    size_t there = 0;
    ssize_t got = 1;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    while (file >= 0 && there < size && (got = read(file, to + there, size - there)) > 0)
        there += (size_t)got;
    if (file >= 0)
        close(file);
    return file >= 0 && there == size;
}

static bool read_tree(struct rt_h5_tree *tree)
{
    static const char superblock[] = "\211HDF\r\n\032\n\003\010\010"; /* version 3, 8 bytes each */
    struct cursor start = part(tree, 0, 48);
    if (start.bad || memcmp(start.rest.at, superblock, sizeof superblock - 1) != 0 ||
        lookup3(start.rest.at, 44) != word(start.rest.at + 44))
        return false;
    take(&start, sizeof superblock - 1);
    expect(&start, 1, 0);         /* nobody writes it */
    expect(&start, 8, 0);         /* it begins here */
    expect(&start, 8, UNDEFINED); /* and has no more of a superblock */
    uint64_t end = number(&start, 8), root = number(&start, 8);
    return !start.bad && end <= tree->size && read_object(tree, root, 0, &tree->root);
}

struct rt_h5_tree *rt_h5_tree_open(const char *path, double size)
{
    if (BYTE_ORDER != LITTLE_ENDIAN || size > MOST_BYTES)
        return NULL;
    struct rt_h5_tree *tree = rt_calloc(1, sizeof *tree);
    tree->size = (size_t)size;
    tree->file = rt_malloc(tree->size + 1);
    if (read_file(path, tree->file, tree->size) && read_tree(tree))
        return tree;
    rt_h5_tree_free(tree);
    return NULL;
}

const struct rt_h5_object *rt_h5_tree_at(const struct rt_h5_tree *tree, const char *path)
{
    const struct rt_h5_object *object = &tree->root;
    while (object != NULL && *(path += strspn(path, "/")) != '\0') {
        const struct rt_h5_object *next = NULL;
        size_t length = strcspn(path, "/");
        for (size_t i = 0; next == NULL && i < object->child_count; i++)
            if (object->children[i].name[0] == path[0] &&
                strncmp(object->children[i].name, path, length) == 0 &&
                object->children[i].name[length] == '\0')
                next = object->children[i].object;
        object = next;
        path += length;
    }
    return object;
}

const char *rt_h5_object_child(const struct rt_h5_object *object, size_t index)
{
    return index < object->child_count ? object->children[index].name : NULL;
}

const char *rt_h5_object_attribute(const struct rt_h5_object *object, size_t index)
{
    return index < object->attribute_count ? object->attributes[index].name : NULL;
}

/* ---- attributes ---- */

static const struct attribute *find(const struct rt_h5_object *object, const char *name)
{
    for (size_t i = 0; i < object->attribute_count; i++)
        if (strcmp(object->attributes[i].name, name) == 0)
            return &object->attributes[i];
    return NULL;
}

bool rt_h5_object_has(const struct rt_h5_object *object, const char *name)
{
    return find(object, name) != NULL;
}

/* Types as the library writes them: class and version, bits of the class, bytes, and of numbers where their
 * bits lie. */
#define TYPE_I32 "\020\010\0\0\004\0\0\0\0\0\040\0"
#define TYPE_I64 "\020\010\0\0\010\0\0\0\0\0\100\0"
#define TYPE_U8  "\020\0\0\0\001\0\0\0\0\0\010\0"
#define TYPE_U32 "\020\0\0\0\004\0\0\0\0\0\040\0"
#define TYPE_F32 "\021\040\037\0\004\0\0\0\0\0\040\0\027\010\0\027\177\0\0\0"
#define TYPE_F64 "\021\040\077\0\010\0\0\0\0\0\100\0\064\013\0\064\377\003\0\0"

static const struct {
    const char *bytes;
    size_t length, size;
} types[] = {
    [RT_H5_F32] = {TYPE_F32, 20, 4}, [RT_H5_F64] = {TYPE_F64, 20, 8}, [RT_H5_I32] = {TYPE_I32, 12, 4},
    [RT_H5_I64] = {TYPE_I64, 12, 8}, [RT_H5_U8] = {TYPE_U8, 12, 1},   [RT_H5_U32] = {TYPE_U32, 12, 4}};

static bool is_type(struct bytes type, enum rt_h5_type expected)
{
    return type.size >= types[expected].length &&
           memcmp(type.at, types[expected].bytes, types[expected].length) == 0;
}

static bool read_number(const struct rt_h5_object *object, const char *name, enum rt_h5_type type,
                        void *value)
{
    const struct attribute *attribute = find(object, name);
    if (attribute == NULL || !is_type(attribute->type, type) || attribute->value.size < 8)
        return false;
    memcpy(value, attribute->value.at, 8);
    return true;
}

bool rt_h5_object_integer(const struct rt_h5_object *object, const char *name, int64_t *value)
{
    return read_number(object, name, RT_H5_I64, value);
}

bool rt_h5_object_real(const struct rt_h5_object *object, const char *name, double *value)
{
    return read_number(object, name, RT_H5_F64, value);
}

bool rt_h5_object_text(const struct rt_h5_object *object, const char *name, char **text)
{
    const struct attribute *attribute = find(object, name);
    if (attribute == NULL)
        return false;
    struct cursor type = {attribute->type, false};
    expect(&type, 1, 0x13);
    take(&type, 3);
    uint64_t size = number(&type, 4);
    if (type.bad || size > attribute->value.size)
        return false;
    char *copy = rt_strndup((const char *)attribute->value.at, size);
    bool good = rt_is_utf8(copy) && rt_is_utf8(name);
    if (good)
        *text = copy;
    else
        free(copy);
    return good;
}

/* ---- arrays ---- */

static bool is_array_of(const struct rt_h5_object *object, const struct rt_h5_array *array)
{
    static const char named[] = "\070";
    if (object->type.at == NULL || object->element != types[array->type].size)
        return false;
    return array->names == NULL
               ? is_type(object->type, array->type)
               : object->type.size > 20 && object->type.at[0] == named[0] && object->type.at[4] == 1;
}

bool rt_h5_object_count(const struct rt_h5_object *object, const struct rt_h5_array *array, size_t *count)
{
    if (!is_array_of(object, array) || object->extent > SIZE_MAX / 16)
        return false;
    *count = (size_t)object->extent;
    return true;
}

/* A chunk's bytes with the last filter undone; `to` has room for `size`. */
static bool inflated(struct rt_h5_tree *tree, struct bytes packed, unsigned char *to, size_t size)
{
    if (!tree->inflates && inflateInit(&tree->inflate) != Z_OK)
        return false;
    tree->inflates = true;
    inflateReset(&tree->inflate);
    tree->inflate.next_in = (unsigned char *)packed.at;
    tree->inflate.avail_in = (uInt)packed.size;
    tree->inflate.next_out = to;
    tree->inflate.avail_out = (uInt)size;
    return inflate(&tree->inflate, Z_FINISH) == Z_STREAM_END && tree->inflate.avail_out == 0;
}

static void unshuffle(const unsigned char *planes, size_t size, size_t count, unsigned char *to)
{
    for (size_t byte = 0; byte < size; byte++)
        for (size_t i = 0; i < count; i++)
            to[i * size + byte] = *planes++;
}

/* Undoes the filters of a chunk into `to` (chunk values); `spare` has as much room. */
static bool unpack(struct rt_h5_tree *tree, const struct rt_h5_object *object, struct bytes packed,
                   unsigned char *to, unsigned char *spare)
{
    size_t size = (size_t)(object->chunk * object->element);
    for (size_t f = object->filter_count; f-- > 0;) {
        if (object->filters[f] == FLETCHER32) {
            if (packed.size < 4 ||
                rt_chunk_sum(packed.at, packed.size - 4) != word(packed.at + packed.size - 4))
                return false;
            packed.size -= 4;
            continue;
        }
        unsigned char *out = packed.at == spare ? to : spare;
        if (object->filters[f] == SHUFFLE && packed.size == size)
            unshuffle(packed.at, (size_t)object->element, (size_t)object->chunk, out);
        else if (object->filters[f] != DEFLATE || !inflated(tree, packed, out, size))
            return false;
        packed = (struct bytes){out, size};
    }
    if (packed.size == size && packed.at != to)
        memcpy(to, packed.at, size);
    return packed.size == size;
}

enum { IN_INDEX = 4 }; /* chunks whose places stand in the index itself */

/* The places of an array's first chunks. Behind them the index lists blocks with the places of more. */
static struct cursor chunk_places(const struct rt_h5_tree *tree, const struct rt_h5_object *object,
                                  size_t *place)
{
    static const unsigned char shape[] = {32, IN_INDEX, 16, 4,
                                          10}; /* bits of a number, places in blocks ... */
    enum { BLOCKS = 6 + 25 };
    struct cursor header = checked(tree, object->index, 72, "EAHD");
    expect(&header, 1, 0);
    expect(&header, 1, object->filter_count > 0);
    *place = (size_t)number(&header, 1);
    if (memcmp(take(&header, sizeof shape), shape, sizeof shape) != 0 || *place < 8 || *place > 20)
        header.bad = true;
    take(&header, 6 * 8);
    uint64_t index = number(&header, 8);
    if (header.bad)
        return header;
    struct cursor places = checked(tree, index, 14 + IN_INDEX * *place + BLOCKS * 8 + 4, "EAIB");
    take(&places, 10);
    return places;
}

static struct cursor chunk_at(const struct rt_h5_tree *tree, const struct rt_h5_object *object,
                              struct cursor *places, size_t place)
{
    uint64_t address = number(places, 8), size = object->chunk * object->element;
    if (object->filter_count > 0) {
        size = number(places, place < 12 ? SIZE_MAX : place - 12);
        expect(places, 4, 0); /* no filter was skipped */
    }
    return places->bad ? *places : part(tree, address, size);
}

bool rt_h5_object_values(struct rt_h5_tree *tree, const struct rt_h5_object *object,
                         const struct rt_h5_array *array, void *values, size_t count)
{
    size_t place = 0, chunk = (size_t)object->chunk, element = (size_t)object->element;
    if (!is_array_of(object, array) || object->extent != count)
        return false;
    if (count == 0)
        return true;
    if ((count - 1) / chunk >= IN_INDEX)
        return false;
    struct cursor places = chunk_places(tree, object, &place);
    unsigned char *buffers = rt_malloc(2 * chunk * element);
    bool good = !places.bad;
    for (size_t first = 0; good && first < count; first += chunk) {
        struct cursor packed = chunk_at(tree, object, &places, place);
        good = !packed.bad && unpack(tree, object, packed.rest, buffers, buffers + chunk * element);
        if (good)
            memcpy((char *)values + first * element, buffers,
                   element * (count - first < chunk ? count - first : chunk));
    }
    free(buffers);
    return good;
}

/* The type of an enum: 8 bytes, the type of its numbers, names with their NULs, numbers of 8 bits. */
bool rt_h5_object_rename(const struct rt_h5_object *object, const struct rt_h5_array *array, uint8_t *values,
                         size_t count)
{
    struct cursor type = {object->type, false}, numbers;
    uint8_t map[256];
    memset(map, 255, sizeof map);
    take(&type, 1);
    size_t members = (size_t)number(&type, 2);
    take(&type, 5);
    if (!is_type(type.rest, RT_H5_U8))
        return false;
    take(&type, types[RT_H5_U8].length);
    numbers = type;
    for (size_t m = 0; m < members; m++)
        take(&numbers, strnlen((const char *)numbers.rest.at, numbers.rest.size) + 1);
    for (size_t m = 0; !numbers.bad && m < members; m++) {
        const char *name = (const char *)type.rest.at;
        take(&type, strlen(name) + 1);
        size_t i = 0, value = (size_t)number(&numbers, 1);
        while (i < array->name_count && strcmp(array->names[i], name) != 0)
            i++;
        map[value] = i < array->name_count ? (uint8_t)i : 255;
    }
    bool good = !numbers.bad;
    for (size_t i = 0; good && i < count; i++)
        good = (values[i] = map[values[i]]) != 255;
    return good;
}
