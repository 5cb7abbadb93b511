/* Element types of operands. A new dtype is one row in dtype.c and, for its peak, one in device.c. */
#pragma once

#include <stdbool.h>

struct rt_text;

/* The numbers are stored in dataset files (enum types): append, never renumber. */
enum rt_dtype {
    RT_FP32 = 0,
    RT_TF32 = 1,
    RT_FP16 = 2,
    RT_BF16 = 3,
    RT_FP8 = 4,       /* one scale per tensor */
    RT_FP8_BLOCK = 5, /* one scale per 128 x 128 block */
    RT_FP4 = 6,       /* NVFP4: 4-bit float, one fp8 scale per 16 values */
    RT_INT8 = 7,
    RT_FP64 = 8,
    RT_INT4 = 9,   /* 4-bit weights with 16-bit activations (w4a16) */
    RT_MXFP4 = 10, /* 4-bit float weights, one 8-bit scale per 32, with 16-bit activations (w4a16_mxfp4) */
    RT_MXFP4_MXFP8 = 11, /* the same weights with 8-bit float activations, scaled alike; multiplied as fp8 */
    RT_W4AFP8 = 12,      /* 4-bit integer weights with fp8 activations; multiplied as fp8 */
    RT_INT8_WO = 13,     /* 8-bit weights with 16-bit activations (w8a16) */
    RT_DTYPE_COUNT
};

/* What of an fp32 model matrix units multiply in TF32 (torch.backends.cuda.matmul.allow_tf32,
 * cudnn.allow_tf32). */
enum rt_tf32_use { RT_TF32_NONE, RT_TF32_CONV, RT_TF32_ALL, RT_TF32_USES };
extern const char *const rt_tf32_uses[RT_TF32_USES]; /* "none", "conv", "all" */

struct rt_dtype_row {
    const char *name;
    double bytes;        /* of one element (of products: of a weight), scales included */
    double input_bytes;  /* of an activation as a product reads it */
    bool block_scaled;   /* blocks of weights share a scale */
    const char *aliases; /* other spellings, space-separated */
};
extern const struct rt_dtype_row rt_dtypes[RT_DTYPE_COUNT];

/* Narrower than 16 bits: a dtype of products and their weights alone; everything beside them is in 16 bits.
 */
bool rt_dtype_is_narrow(enum rt_dtype dtype);
/* Of narrow ones: do products run in it forward and backward (Transformer Engine's fp8 and nvfp4)? */
bool rt_dtype_trains(enum rt_dtype dtype);

/* Index of the row with that name or alias in any case, -1 where there is none. */
int rt_dtype_find(const char *name);

/* An option's own reader (base/options.h): `value` is an enum rt_dtype. RT_EUSAGE lists the names. */
int rt_dtype_argument(const char *option, const char *text, void *value);
void rt_dtype_suggest(struct rt_text *list); /* .suggests of rows: base/options.h */
