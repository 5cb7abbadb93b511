/* Texts, signals and what else is seldom. See operator.h. */
#include "base/status.h"
#include "models/networks/onnx/operator.h"

/* The parts of each text, and their number. */
static int split_text(const struct rt_onnx_at *at)
{
    const struct rt_onnx_shape *in = &rt_onnx_in(at, 0)->shape;
    struct rt_onnx_shape shape = *in;
    if (shape.rank >= RT_ONNX_RANK)
        return rt_fail(RT_EFORMAT, "its result has more than %d dims", RT_ONNX_RANK);
    if (shape.rank != RT_ONNX_UNKNOWN)
        shape.dim[shape.rank++] = RT_ONNX_UNKNOWN;
    rt_onnx_set(rt_onnx_out(at, 0), RT_ONNX_STRING, &shape);
    rt_onnx_set(rt_onnx_out(at, 1), RT_ONNX_INT64, in);
    return RT_OK;
}

/* Texts may be left out: one dim that is not known, behind a batch of one. */
static int normalise_text(const struct rt_onnx_at *at)
{
    const struct rt_onnx_shape *in = &rt_onnx_in(at, 0)->shape;
    struct rt_onnx_shape shape = rt_onnx_no_shape;
    if (in->rank == 1)
        shape = rt_onnx_vector(RT_ONNX_UNKNOWN);
    else if (in->rank == 2)
        shape = (struct rt_onnx_shape){.rank = 2, .dim = {1, RT_ONNX_UNKNOWN}};
    rt_onnx_set(rt_onnx_out(at, 0), RT_ONNX_STRING, &shape);
    return rt_onnx_want_rank(at, 0, 1, 2);
}

/* A number for every n-gram, the largest of its indices says how many. */
static int count_ngrams(const struct rt_onnx_at *at)
{
    const struct rt_onnx_attribute *indices = rt_onnx_attribute(at, "ngram_indexes");
    struct rt_onnx_shape shape = rt_onnx_in(at, 0)->shape;
    int64_t most = RT_ONNX_UNKNOWN;
    if (indices != NULL && indices->kind == RT_ONNX_A_INTS)
        for (size_t i = 0; i < indices->count; i++)
            most = indices->ints[i] > most ? indices->ints[i] : most;
    int64_t size = most < 0 || most >= RT_ONNX_LARGEST ? RT_ONNX_UNKNOWN : most + 1;
    if (shape.rank > 0)
        shape.dim[shape.rank - 1] = size;
    else if (shape.rank == 0)
        shape = rt_onnx_vector(size);
    rt_onnx_set(rt_onnx_out(at, 0), RT_ONNX_FLOAT, &shape);
    return rt_onnx_want_rank(at, 0, 1, 2);
}

/* --- signals --- */

/* What a transform makes of a dim: of one side of a spectrum the other follows. */
static int64_t transformed(const struct rt_onnx_at *at, int64_t size, bool half, bool back)
{
    const struct rt_onnx_value *length = rt_onnx_in(at, 1);
    int64_t given;
    if (length != NULL)
        size = rt_onnx_number(length, &given) && given >= 0 ? given : RT_ONNX_UNKNOWN;
    else if (half && back && size > 0)
        size = 2 * (size - 1);
    return size < 0 || !half || back ? size : size / 2 + 1;
}

/* Fourier transform along an axis: real and imaginary parts are the last dim. */
static int dft(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0), *given = rt_onnx_in(at, 2);
    struct rt_onnx_shape shape = in->shape;
    int64_t number = rt_onnx_int(at, "axis", at->node->opset < 20 ? 1 : -2);
    bool half = rt_onnx_int(at, "onesided", 0) != 0, back = rt_onnx_int(at, "inverse", 0) != 0;
    bool known = given == NULL || rt_onnx_number(given, &number);
    int axis, status;
    if (shape.rank >= 2 && known) {
        if ((status = rt_onnx_axis(number, shape.rank, &axis)) != RT_OK)
            return status;
        shape.dim[axis] = transformed(at, shape.dim[axis], half, back);
    } else if (shape.rank >= 2 && (half || rt_onnx_in(at, 1) != NULL)) {
        shape = rt_onnx_open(shape.rank);
    }
    if (shape.rank >= 2)
        shape.dim[shape.rank - 1] = half && back ? 1 : 2;
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return rt_onnx_want_rank(at, 0, 2, RT_ONNX_RANK);
}

/* Frames of a signal (batch, length, 1 or 2), each transformed. */
static int stft(const struct rt_onnx_at *at)
{
    const struct rt_onnx_shape *in = &rt_onnx_in(at, 0)->shape;
    const struct rt_onnx_value *window = rt_onnx_in(at, 2), *length = rt_onnx_in(at, 3);
    struct rt_onnx_shape shape = {
        .rank = 4, .dim = {in->rank > 0 ? in->dim[0] : RT_ONNX_UNKNOWN, RT_ONNX_UNKNOWN, RT_ONNX_UNKNOWN, 2}};
    int64_t step, frame = RT_ONNX_UNKNOWN;
    if (length != NULL && !rt_onnx_number(length, &frame))
        frame = RT_ONNX_UNKNOWN;
    if (length == NULL && window != NULL && window->shape.rank == 1)
        frame = window->shape.dim[0];
    if (frame > 0) {
        shape.dim[2] = rt_onnx_int(at, "onesided", 1) != 0 ? frame / 2 + 1 : frame;
        if (in->rank > 1 && in->dim[1] >= frame && rt_onnx_number(rt_onnx_in(at, 1), &step) && step > 0)
            shape.dim[1] = (in->dim[1] - frame) / step + 1;
    }
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &shape);
    return RT_OK;
}

const struct rt_onnx_operator rt_onnx_text_rows[] = {
    {"StringConcat", 2, .shapes = rt_onnx_all_alike, .how = RT_ONNX_STRING},
    {"StringNormalizer", 1, .shapes = normalise_text},
    {"StringSplit", 1, .shapes = split_text},
    {"RegexFullMatch", 1, .shapes = rt_onnx_same, .how = RT_ONNX_BOOL},
    {"TfIdfVectorizer", 1, .shapes = count_ngrams},
    {"DFT", 1, .shapes = dft},
    {"STFT", 2, .shapes = stft},
    {.name = NULL},
};
