/* Numbers of the device's types, by what their bits mean, and a stream of seeded ones. For tests that compare
 * with plain formulas. */
#pragma once

#include "datasets/op.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t mixed(uint64_t seed, uint64_t position)
{
    uint64_t z = seed + (position + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Sign, exponent, mantissa: what the bits mean, by definition. */
static inline double decode(uint32_t bits, int exponent_bits, int mantissa_bits)
{
    int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1), bias = (1 << (exponent_bits - 1)) - 1;
    double mantissa = bits & ((1u << mantissa_bits) - 1),
           sign = bits >> (exponent_bits + mantissa_bits) ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1 && exponent_bits > 4)
        return mantissa > 0 ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

static inline double value_of(const void *block, enum rt_dtype dtype, int64_t at)
{
    if (dtype == RT_FP32 || dtype == RT_TF32)
        return (double)((const float *)block)[at];
    if (dtype == RT_FP16)
        return decode(((const uint16_t *)block)[at], 5, 10);
    if (dtype == RT_BF16)
        return decode(((const uint16_t *)block)[at], 8, 7);
    return dtype == RT_FP8 ? decode(((const uint8_t *)block)[at], 4, 3) : ((const uint8_t *)block)[at];
}

/* The nearest number of the type that is not farther from 0 than x: inputs need no rounding rule. */
static inline void set_value(void *block, enum rt_dtype dtype, int64_t at, double x)
{
    float single = (float)x;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (dtype == RT_FP32 || dtype == RT_TF32)
        ((float *)block)[at] = single;
    else if (dtype == RT_BF16)
        ((uint16_t *)block)[at] = (uint16_t)(bits >> 16);
    else if (fabs(x) < 0x1p-14)
        ((uint16_t *)block)[at] = (uint16_t)(bits >> 16 & 0x8000);
    else
        ((uint16_t *)block)[at] =
            (uint16_t)((bits >> 16 & 0x8000) | ((bits >> 13 & 0x3ffff) - ((127 - 15) << 10)));
}
