/* Families of ops: what their kernels have in common. A new family is one row in family.c and its physics in
 * models/predictors/roofline. */
#pragma once

#include <stdbool.h>

struct rt_text;

enum rt_family {
    RT_FAMILY_BMM,
    RT_FAMILY_LINEAR,
    RT_FAMILY_ELEMENTWISE,
    RT_FAMILY_SOFTMAX,
    RT_FAMILY_LAYERNORM,
    RT_FAMILY_CONV,
    RT_FAMILY_ATTENTION,
    RT_FAMILY_MOE,
    RT_FAMILY_COLLECTIVE,
    RT_FAMILY_MEMORY,
    RT_FAMILY_HOST,      /* launches, copies between host and device */
    RT_FAMILY_LATENT,    /* attention to latent or to chosen keys */
    RT_FAMILY_RECURRENT, /* linear attention, state spaces, streams of a residual */
    RT_FAMILY_COUNT
};

/* What a training step keeps of an op, to compute its gradient from. */
enum rt_kept { RT_KEEPS_NOTHING, RT_KEEPS_INPUTS, RT_KEEPS_OUTPUT };

/* What holds for all ops of a family. */
struct rt_family_row {
    const char *name;
    bool product;       /* a batch of products C(m,n) = A(m,k) B(k,n) */
    bool attention;     /* queries over cached keys */
    bool tensor;        /* runs on matrix units where the dtype has them */
    bool pointwise;     /* reads and writes element by element */
    bool row_wise;      /* reduces over rows: softmax and norms */
    bool moves;         /* copies, gathers, reductions: bound by memory bandwidth */
    bool link;          /* bound by the link between GPUs */
    bool host;          /* bound by the host and its link: no roofline, no network */
    bool bound_is_time; /* its bound is what physics makes of the whole time: what is left of a kernel that
                           was timed alone is the host's */
    enum rt_kept keeps; /* but see rt_op_keeps */
};
extern const struct rt_family_row rt_families[RT_FAMILY_COUNT];

/* Pointwise or row-wise: bound by bytes, tiled by rows. */
bool rt_family_vector(enum rt_family family);

int rt_family_find(const char *name); /* -1: there is none of that name */
/* RT_EUSAGE "--family soup: there is no family of that name; ...": the check of an option's row. */
int rt_family_check(const char *option, const char *name);
void rt_family_suggest(struct rt_text *list); /* .suggests of rows: base/options.h */
