/* Where protobuf-c or ONNX's onnx.proto were not there when rooftile was built. See onnx.h. */
#include "base/status.h"
#include "models/networks/onnx/onnx.h"

#include <stddef.h>

int rt_onnx_read(const char *path, const struct rt_onnx_given *given, struct rt_onnx_model *out)
{
    (void)given;
    (void)out;
    return rt_fail(RT_EUSAGE,
                   "%s: this rooftile was built without ONNX; build it where libprotobuf-c-dev, "
                   "protobuf-c-compiler and libonnx-dev are installed",
                   path);
}

void rt_onnx_data_files(const char *path, struct rt_names *paths)
{
    (void)path;
    (void)paths;
}

const char *rt_onnx_library(void)
{
    return NULL;
}
