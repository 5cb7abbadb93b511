/* A tensor of the fake cuDNN. */
#pragma once

#include <cudnn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Number of descriptors that are not released. */
extern int fake_cudnn_descriptors;

static inline cudnnStatus_t wrong(const char *what)
{
    fprintf(stderr, "# fake cuDNN: %s\n", what);
    return CUDNN_STATUS_BAD_PARAM;
}

struct tensor {
    int64_t uid, dim[4], stride[4];
    cudnnDataType_t type;
    bool inside, by_value;
};

/* Tensors inside are kept as floats whatever they are; a dimension of 1 is every index. */
static inline int64_t place(const struct tensor *t, const int64_t at[4])
{
    int64_t place = 0;
    for (int i = 0; i < 4; i++)
        place += (t->dim[i] == 1 ? 0 : at[i]) * t->stride[i];
    return place;
}

static inline float load(const struct tensor *t, const void *memory, const int64_t at[4])
{
    int64_t i = place(t, at);
    if (t->inside || t->type == CUDNN_DATA_FLOAT)
        return ((const float *)memory)[i];
    uint32_t bits = (uint32_t)((const uint16_t *)memory)[i] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline void store(const struct tensor *t, void *memory, const int64_t at[4], float value)
{
    int64_t i = place(t, at);
    if (t->inside || t->type == CUDNN_DATA_FLOAT) {
        ((float *)memory)[i] = value;
        return;
    }
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    ((uint16_t *)memory)[i] = (uint16_t)((bits + 0x8000) >> 16);
}

static inline bool next_place(const int64_t dim[4], int64_t at[4])
{
    for (int i = 3; i >= 0; i--) {
        if (++at[i] < dim[i])
            return true;
        at[i] = 0;
    }
    return false;
}
