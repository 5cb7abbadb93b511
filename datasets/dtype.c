/* The dtype table. See dtype.h. */
#include "datasets/dtype.h"
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* clang-format off */
const char *const rt_tf32_uses[RT_TF32_USES] = {"none", "conv", "all"};

const struct rt_dtype_row rt_dtypes[RT_DTYPE_COUNT] = {
    [RT_FP32]        = {"fp32", 4, 4, false, "float32 float single"},
    [RT_TF32]        = {"tf32", 4, 4, false, "tensorfloat32"},
    [RT_FP16]        = {"fp16", 2, 2, false, "float16 half"},
    [RT_BF16]        = {"bf16", 2, 2, false, "bfloat16"},
    [RT_FP8]         = {"fp8", 1, 1, false, "float8 float8_e4m3 fp8_e4m3 fp8_static fp8_ootb mxfp8"},
    [RT_FP8_BLOCK]   = {"fp8_block", 1 + 4.0 / (128 * 128), 1, true, "fp8_blockwise fp8-block"},
    [RT_FP4]         = {"fp4", 0.5 + 1.0 / 16, 0.5 + 1.0 / 16, true, "nvfp4 float4"},
    [RT_INT8]        = {"int8", 1, 1, false, "sq w8a8"},
    [RT_FP64]        = {"fp64", 8, 8, false, "float64 double"},
    [RT_INT4]        = {"int4", 0.5, 2, false, "int4_wo w4a16"},
    [RT_MXFP4]       = {"mxfp4", 0.5 + 1.0 / 32, 2, true, "w4a16_mxfp4"},
    [RT_MXFP4_MXFP8] = {"mxfp4_mxfp8", 0.5 + 1.0 / 32, 1 + 1.0 / 32, true, "w4a8_mxfp4_mxfp8"},
    [RT_W4AFP8]      = {"w4afp8", 0.5, 1, false, "w4a8 w4a8_awq"},
    [RT_INT8_WO]     = {"int8_wo", 1, 2, false, "w8a16"},
};
/* clang-format on */

bool rt_dtype_is_narrow(enum rt_dtype dtype)
{
    return rt_dtypes[dtype].bytes < 2;
}

bool rt_dtype_trains(enum rt_dtype dtype)
{
    return dtype == RT_FP8 || dtype == RT_FP8_BLOCK || dtype == RT_FP4;
}

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; *at != '\0'; at += strspn(at, " ")) {
        size_t span = strcspn(at, " ");
        if (span == length && strncasecmp(at, word, length) == 0)
            return true;
        at += span;
    }
    return false;
}

int rt_dtype_find(const char *name)
{
    if (name[0] == '\0')
        return -1;
    for (int i = 0; i < RT_DTYPE_COUNT; i++)
        if (strcasecmp(rt_dtypes[i].name, name) == 0 || has_word(rt_dtypes[i].aliases, name))
            return i;
    return -1;
}

int rt_dtype_argument(const char *option, const char *text, void *value)
{
    int found = rt_dtype_find(text);
    if (found >= 0) {
        *(enum rt_dtype *)value = (enum rt_dtype)found;
        return RT_OK;
    }
    struct rt_text names = {0};
    for (int i = 0; i < RT_DTYPE_COUNT; i++)
        rt_text_item(&names, ", ", "%s", rt_dtypes[i].name);
    int status = rt_fail(RT_EUSAGE, "%s %s: there is no element type of that name; choose one of %s", option,
                         text, names.text);
    rt_text_release(&names);
    return status;
}

void rt_dtype_suggest(struct rt_text *list)
{
    for (int i = 0; i < RT_DTYPE_COUNT; i++)
        rt_text_add(list, "%s\n", rt_dtypes[i].name);
}
