/* e^x of floats in loops. The C library's, which no loop can call side by side, takes longer than the rest of
 * such a loop; this one is plain operations, which compilers vectorise and which give the same bytes with
 * every C library: Cephes' expf, 2^n times a polynomial of r with |r| <= ln 2 / 2, within 2 units in the last
 * place. x is held within -87..88, where the result is a normal number. */
#pragma once

#include <stdint.h>

static inline float rt_expf(float x)
{
    x = x > 88 ? 88 : x < -87 ? -87 : x;
    float shifted = x * 1.44269504088896341f + 12582912.0f; /* rounds to an integer in the low bits */
    float n = shifted - 12582912.0f;
    float r = x - n * 0.693359375f - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1;
    union {
        float real;
        int32_t bits;
    } power = {.bits = ((int32_t)n + 127) * (1 << 23)};
    return p * power.real;
}
