/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Functions of fixed-point numbers that softmax and its logarithm share, as gemmlowp computes them.
 */
#ifndef TG_EXPONENTIAL_H
#define TG_EXPONENTIAL_H

#include "tg_fixed_point.h"

/** Product of two Q0.31 numbers, or of one and a number in another format, which the product then has. */
static inline int32_t tg_product(int32_t a, int32_t b)
{
    return tg_scale(a, b, 0);
}

/** value / 2^bits, rounded to nearest, halves up; 0 <= value, 1 <= bits <= 62. */
static inline int32_t tg_shifted_right(int32_t value, int32_t bits)
{
    return (int32_t)((value + (INT64_C(1) << (bits - 1))) >> bits);
}

/** e^a as Q0.31 of a < 0 as Q5.26: a polynomial around -1/8 for what lies in [-1/4, 0), a factor for each bit above. */
static inline int32_t tg_exp_of_negative(int32_t a)
{
    static const int32_t FACTORS[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    static const int32_t EXP_OF_MINUS_EIGHTH = 1895147668;
    static const int32_t THIRD = 715827883;
    static const int32_t QUARTER = 1 << 24;

    const int32_t remainder = (a & (QUARTER - 1)) - QUARTER;
    const int32_t x = remainder * 32 + (1 << 28);
    const int32_t x2 = tg_product(x, x);
    const int32_t x3 = tg_product(x2, x);
    const int32_t x4_over_4 = tg_scale(x2, x2, -2);
    const int32_t tail = (tg_product(x4_over_4 + x3, THIRD) + x2 + 1) >> 1; /* of positive numbers */
    int32_t result = EXP_OF_MINUS_EIGHTH + tg_product(x + tail, EXP_OF_MINUS_EIGHTH);

    for (uint32_t bit = 0; bit < sizeof FACTORS / sizeof FACTORS[0]; bit++) {
        if (((remainder - a) & (QUARTER << bit)) != 0) {
            result = tg_product(result, FACTORS[bit]);
        }
    }
    return result;
}

/** e^(difference to the largest input) as Q0.31. */
static inline int32_t tg_exponential(int32_t difference, int32_t mult, int32_t shift)
{
    const int32_t scaled = tg_scale(difference, mult, shift);
    return scaled < 0 ? tg_exp_of_negative(scaled) : INT32_MAX;
}

/** 1 / (2 d) as Q0.31 of d in [1/2, 1) as Q0.31: three steps of Newton and Raphson. */
static inline int32_t tg_half_reciprocal(int32_t d)
{
    int32_t x = 1515870810 + tg_product(d, -1010580540); /* 48/17 - 32/17 d, Q2.29 */
    for (int32_t step = 0; step < 3; step++) {
        x += tg_product(x, (1 << 29) - tg_product(d, x)) * 4;
    }
    return x < (1 << 30) ? x * 2 : INT32_MAX;
}

/** The largest of one or more values. */
static inline int32_t tg_largest_s8(const int8_t *values, int32_t count)
{
    int32_t max = values[0];
    for (int32_t i = 1; i < count; i++) {
        max = values[i] > max ? values[i] : max;
    }
    return max;
}

#endif
