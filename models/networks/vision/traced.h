/* Networks of timm as PyTorch runs them: the operators of one forward pass at inference, in order, each a
 * word of a line in traced.def, which scripts/timm_rows.py traces (timm 1.0.31). The families beside this
 * file know why a network is as it is; a network that is none of them is a row there.
 *
 * A word makes a value: a letter, its numbers, and the values that it reads. "@3" is the value of three words
 * before; without one it is the word before. ":64.7.7" reads it as an image of those channels, height and
 * width,
 * ":64" as 64 of its channels, "~n" as n of its elements; "@=n" is a constant of n elements. Elements are
 * those of one image of the batch, except of constants. "3( ... )": three times, each on what the one before
 * made.
 *
 *   c64k7s2p3d1g8b  convolution: out, kernel (k1.7: height.width), stride, padding, dilation, groups (g: as many
 *                   as channels), with a bias, of a filter that is no parameter (x), channels last whatever
 *                   the input's layout (L)
 *   n y768 Y32 W    batch norm (n0: no weights), layer norm of 768 columns, group norm (s: of PyTorch's class, never
 *                   fast); batch norm of a weight
 *   l64.128b        linear layer; m8.49.32.49 batched product (count.m.k.n); x49 softmax
 *   f12.49.49.64    attention: all heads of an image, queries, keys, width of a head; m: elements of its biases; w: of other than
                   four dims, which is written out
 *   P3s2p1c A2 D7.7 max pool, average pool, adaptive pool; G the mean of each channel, M64 one to 64 elements
 *   + * / @..|p|q   with another value, a parameter (p) or a buffer (q) of so many elements (h: cast to the value's
 *                   type); >n: elements made
 *   r g s o O h t R u a w q C   relu, gelu, silu, sigmoid, hardsigmoid, hardswish, tanh, relu6, by a number, plus
 *                   one, to a power, root, clamp; "!": in place
 *   k kt i64 U64    copy, copy transposed (f, l: only where images come channels first, last), gather, resize;
 *                   K J64 channels or elements put together
 *   p100            more parameters */
#pragma once

#include "models/networks/graph.h"

/* Adds blocks and nodes to an empty graph, for images of options.image pixels. */
void rt_traced_build(struct rt_graph *graph, const char *text);
