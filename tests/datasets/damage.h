/* What the tests of damaged files share: a file's bytes, and HDF5 files with nothing but a format and a
 * version. */
#pragma once

#include "base/h5.h"
#include "test.h"

struct image {
    unsigned char *bytes;
    size_t size;
};

static inline struct image read_image(const char *path)
{
    FILE *file = fopen(path, "r");
    fseek(file, 0, SEEK_END);
    struct image image = {NULL, (size_t)ftell(file)};
    image.bytes = rt_malloc(image.size);
    rewind(file);
    CU_ASSERT_EQUAL_FATAL(fread(image.bytes, 1, image.size, file), image.size);
    fclose(file);
    return image;
}

static inline void write_image(const char *path, const struct image *image, size_t size)
{
    FILE *file = fopen(path, "w");
    CU_ASSERT_EQUAL_FATAL(fwrite(image->bytes, 1, size, file), size);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

static inline void write_h5(const char *path, const char *format, int64_t version)
{
    struct rt_h5 *file;
    RT_ASSERT_OK(rt_h5_create(path, &file));
    RT_ASSERT_OK(rt_h5_set_text(file, "/", "format", format));
    RT_ASSERT_OK(rt_h5_set_integer(file, "/", "version", version));
    RT_ASSERT_OK(rt_h5_commit(file));
}
