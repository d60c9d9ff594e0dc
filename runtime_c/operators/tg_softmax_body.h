/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Softmax of int8 rows in fixed point: the function NAME, whose results of type OUTPUT have OUTPUT_BITS.
 */
#include "tg_fixed_point.h"
#include "tg_softmax.h"

#define LARGEST ((1 << OUTPUT_BITS) - 1)

/** Product of two Q0.31 numbers, or of one and a number in another format, which the product then has. */
static int32_t product(int32_t a, int32_t b)
{
    return tg_scale(a, b, 0);
}

/** value / 2^bits, rounded to nearest, halves up; 0 <= value, 1 <= bits <= 62. */
static int32_t shifted_right(int32_t value, int32_t bits)
{
    return (int32_t)((value + (INT64_C(1) << (bits - 1))) >> bits);
}

/** e^a as Q0.31 of a < 0 as Q5.26: a polynomial around -1/8 for what lies in [-1/4, 0), a factor for each bit above. */
static int32_t exp_of_negative(int32_t a)
{
    static const int32_t FACTORS[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    static const int32_t EXP_OF_MINUS_EIGHTH = 1895147668;
    static const int32_t THIRD = 715827883;
    static const int32_t QUARTER = 1 << 24;

    const int32_t remainder = (a & (QUARTER - 1)) - QUARTER;
    const int32_t x = remainder * 32 + (1 << 28);
    const int32_t x2 = product(x, x);
    const int32_t x3 = product(x2, x);
    const int32_t x4_over_4 = tg_scale(x2, x2, -2);
    const int32_t tail = (product(x4_over_4 + x3, THIRD) + x2 + 1) >> 1; /* of positive numbers */
    int32_t result = EXP_OF_MINUS_EIGHTH + product(x + tail, EXP_OF_MINUS_EIGHTH);

    for (uint32_t bit = 0; bit < sizeof FACTORS / sizeof FACTORS[0]; bit++) {
        if (((remainder - a) & (QUARTER << bit)) != 0) {
            result = product(result, FACTORS[bit]);
        }
    }
    return result;
}

/** e^(difference to the largest input) as Q0.31. */
static int32_t exponential(int32_t difference, int32_t mult, int32_t shift)
{
    const int32_t scaled = tg_scale(difference, mult, shift);
    return scaled < 0 ? exp_of_negative(scaled) : INT32_MAX;
}

/** 1 / (2 d) as Q0.31 of d in [1/2, 1) as Q0.31: three steps of Newton and Raphson. */
static int32_t half_reciprocal(int32_t d)
{
    int32_t x = 1515870810 + product(d, -1010580540); /* 48/17 - 32/17 d, Q2.29 */
    for (int32_t step = 0; step < 3; step++) {
        x += product(x, (1 << 29) - product(d, x)) * 4;
    }
    return x < (1 << 30) ? x * 2 : INT32_MAX;
}

static int32_t largest(const int8_t *values, int32_t count)
{
    int32_t max = values[0];
    for (int32_t i = 1; i < count; i++) {
        max = values[i] > max ? values[i] : max;
    }
    return max;
}

void NAME(const int8_t *input, int32_t num_rows, int32_t row_size, int32_t mult, int32_t shift, int32_t diff_min,
    OUTPUT *output)
{
    for (int32_t row = 0; row < num_rows; row++) {
        const int32_t max = largest(input, row_size);
        uint32_t sum = 0; /* Q12.19 */
        for (int32_t i = 0; i < row_size; i++) {
            if (input[i] - max >= diff_min) {
                sum += (uint32_t)shifted_right(exponential(input[i] - max, mult, shift), 12);
            }
        }
        int32_t bits =
            43 - OUTPUT_BITS; /* that a product with the reciprocal is shifted to become steps of an output */
        while ((sum & 0x80000000U) == 0) {
            sum <<= 1;
            bits--;
        }
        const int32_t reciprocal = half_reciprocal((int32_t)(sum >> 1));
        for (int32_t i = 0; i < row_size; i++) {
            int32_t probability = 0;
            if (input[i] - max >= diff_min) {
                probability = shifted_right(product(reciprocal, exponential(input[i] - max, mult, shift)), bits);
            }
            output[i] = (OUTPUT)((probability < LARGEST ? probability : LARGEST) - (1 << (OUTPUT_BITS - 1)));
        }
        input += row_size;
        output += row_size;
    }
}
