/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Softmax in fixed point. requantize(a, b, 0) is the product of two Q0.31 numbers, requantize(a, b, -n) that product
 * divided by 2^n.
 */
#include "arm_nnfunctions.h"
#include "requantize.h"

#define FACTOR_COUNT 7

/**
 * e^x as Q0.31, where x as Q5.26 is `difference` <= 0 scaled by mult and shift; 0 for differences under diff_min.
 *
 * A polynomial for what lies in [-1/4, 0), one factor for each bit above.
 */
static int32_t scaled_exp(int32_t difference, int32_t mult, int32_t shift, int32_t diff_min)
{
    static const int32_t E_TO_MINUS_EIGHTH = 1895147668;
    static const int32_t ONE_THIRD = 715827883;
    static const int32_t QUARTER = 1 << 24;
    /* e^-1/4, e^-1/2, e^-1, e^-2, e^-4, e^-8, e^-16 */
    static const int32_t FACTORS[FACTOR_COUNT] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};

    if (difference < diff_min) {
        return 0;
    }
    const int32_t x = requantize(difference, mult, shift);
    if (x == 0) {
        return INT32_MAX;
    }
    /* Taylor around -1/8, with d the distance: e^d - 1 = d + (d^2 + (d^3 + d^4 / 4) / 3) / 2 */
    const int32_t rest = (x & (QUARTER - 1)) - QUARTER;
    const int32_t d = rest * 32 + (1 << 28);
    const int32_t d2 = requantize(d, d, 0);
    const int32_t third_order = requantize(requantize(d2, d2, -2) + requantize(d2, d, 0), ONE_THIRD, 0);
    const int32_t series = d + ((third_order + d2 + 1) >> 1);
    int32_t result = E_TO_MINUS_EIGHTH + requantize(E_TO_MINUS_EIGHTH, series, 0);

    const int32_t quarters = (rest - x) >> 24;
    for (int32_t i = 0; i < FACTOR_COUNT; i++) {
        if ((quarters >> i & 1) != 0) {
            result = requantize(result, FACTORS[i], 0);
        }
    }
    return result;
}

/** 1 / x as Q0.31, saturated, of x in [1, 2) as Q1.30: three steps of Newton's method towards 1 / (2 x). */
static int32_t reciprocal(int32_t x)
{
    int32_t guess = 1515870810 + requantize(x, -1010580540, 0);
    for (int32_t step = 0; step < 3; step++) {
        guess += requantize(guess, (1 << 29) - requantize(x, guess, 0), 0) * 4;
    }
    return guess < 1 << 30 ? guess * 2 : INT32_MAX;
}

void arm_softmax_s8(const int8_t *input, const int32_t num_rows, const int32_t row_size, const int32_t mult,
    const int32_t shift, const int32_t diff_min, int8_t *output)
{
    for (int32_t row = 0; row < num_rows; row++) {
        int32_t max = INT8_MIN;
        for (int32_t i = 0; i < row_size; i++) {
            max = input[i] > max ? input[i] : max;
        }
        /* The sum as Q12.19. */
        uint32_t sum = 0;
        for (int32_t i = 0; i < row_size; i++) {
            sum += ((uint32_t)scaled_exp(input[i] - max, mult, shift, diff_min) + (1U << 11)) >> 12;
        }
        int32_t headroom = 0;
        for (; (int32_t)sum > 0; sum <<= 1) {
            headroom++;
        }
        const int32_t scale = reciprocal((int32_t)(sum >> 1));

        for (int32_t i = 0; i < row_size; i++) {
            const int32_t exp = scaled_exp(input[i] - max, mult, shift, diff_min);
            /* A sum of 2^9 or more leaves no share of half a step: shifts stay in range. */
            const int32_t probability = headroom >= 4 ? requantize(scale, exp, headroom - 35) : 0;
            output[i] = (int8_t)((probability < 255 ? probability : 255) + INT8_MIN);
        }
        input += row_size;
        output += row_size;
    }
}
