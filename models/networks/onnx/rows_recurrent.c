/* Recurrent layers. See rows.h. */
#include "base/status.h"
#include "models/networks/onnx/rows.h"

#include <string.h>

/* x: tokens, batch, size; weights: directions, gates * hidden, size. y: tokens, directions, batch, hidden;
 * the last states: directions, batch, hidden. With `layout` 1 the batch goes first. */
static int recurrent(const struct rt_onnx_at *at)
{
    const struct rt_onnx_shape *in = &rt_onnx_in(at, 0)->shape, *again = &rt_onnx_in(at, 2)->shape;
    enum rt_onnx_dtype dtype = rt_onnx_in(at, 0)->dtype;
    bool first = rt_onnx_int(at, "layout", 0) != 0;
    int64_t directions = strcmp(rt_onnx_word(at, "direction", "forward"), "bidirectional") == 0 ? 2 : 1;
    int64_t hidden = rt_onnx_int(at, "hidden_size", again->rank == 3 ? again->dim[2] : RT_ONNX_UNKNOWN);
    int64_t tokens = in->rank == 3 ? in->dim[first ? 1 : 0] : RT_ONNX_UNKNOWN;
    int64_t batch = in->rank == 3 ? in->dim[first ? 0 : 1] : RT_ONNX_UNKNOWN;
    struct rt_onnx_shape all = {.rank = 4, .dim = {tokens, directions, batch, hidden}};
    struct rt_onnx_shape state = {.rank = 3, .dim = {directions, batch, hidden}};
    if (first) {
        all = (struct rt_onnx_shape){.rank = 4, .dim = {batch, tokens, directions, hidden}};
        state = (struct rt_onnx_shape){.rank = 3, .dim = {batch, directions, hidden}};
    }
    rt_onnx_set(rt_onnx_out(at, 0), dtype, &all);
    for (size_t i = 1; i < 3; i++)
        rt_onnx_set(rt_onnx_out(at, i), dtype, &state);
    return rt_onnx_want_rank(at, 0, 3, 3);
}

const struct rt_onnx_op rt_onnx_recurrent_rows[] = {
    {"RNN", recurrent, NULL, 0, 3},
    {"GRU", recurrent, NULL, 0, 3},
    {"LSTM", recurrent, NULL, 0, 3},
    {.name = NULL},
};
