/* The table of operators. See operator.h. */
#include "models/networks/onnx/operator.h"

#include <string.h>

const struct rt_onnx_operator *const rt_onnx_operators[RT_ONNX_KINDS] = {
    rt_onnx_math_rows,   rt_onnx_norm_rows,      rt_onnx_reduce_rows,  rt_onnx_product_rows,
    rt_onnx_einsum_rows, rt_onnx_attention_rows, rt_onnx_image_rows,   rt_onnx_resize_rows,
    rt_onnx_view_rows,   rt_onnx_move_rows,      rt_onnx_make_rows,    rt_onnx_recurrent_rows,
    rt_onnx_loss_rows,   rt_onnx_sequence_rows,  rt_onnx_control_rows, rt_onnx_text_rows};

const struct rt_onnx_operator *rt_onnx_find_operator(const char *domain, const char *name)
{
    for (size_t k = 0; k < RT_ONNX_KINDS; k++)
        for (const struct rt_onnx_operator *row = rt_onnx_operators[k]; row->name != NULL; row++)
            if (strcmp(row->name, name) == 0 && strcmp(row->domain != NULL ? row->domain : "", domain) == 0)
                return row;
    return NULL;
}
