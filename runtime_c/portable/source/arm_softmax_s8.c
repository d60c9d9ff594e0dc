/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Softmax in fixed point. requantize(a, b, 0) is the product of two Q0.31 numbers, requantize(a, b, -n) that product
 * divided by 2^n.
 */
#include "arm_nnfunctions.h"
#include "requantize.h"

/** e^x as Q0.31 of x <= 0 as Q5.26: a polynomial for what lies in [-1/4, 0), one factor for each bit above. */
static int32_t exp_of_negative(int32_t x)
{
    static const int32_t E_TO_MINUS_EIGHTH = 1895147668;
    static const int32_t ONE_THIRD = 715827883;
    static const int32_t QUARTER = 1 << 24;
    /* e^-1/4, e^-1/2, e^-1, e^-2, e^-4, e^-8, e^-16 */
    static const int32_t FACTORS[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};

    if (x == 0)
    {
        return INT32_MAX;
    }
    /* Taylor around -1/8, with d the distance: e^d - 1 = d + (d^2 + (d^3 + d^4 / 4) / 3) / 2 */
    const int32_t rest = (x & (QUARTER - 1)) - QUARTER;
    const int32_t d = rest * 32 + (1 << 28);
    const int32_t d2 = requantize(d, d, 0);
    const int32_t third_order = requantize(requantize(d2, d2, -2) + requantize(d2, d, 0), ONE_THIRD, 0);
    const int32_t series = d + ((third_order + d2 + 1) >> 1);
    int32_t result = E_TO_MINUS_EIGHTH + requantize(E_TO_MINUS_EIGHTH, series, 0);

    int32_t quarters = (rest - x) / QUARTER;
    for (int32_t i = 0; quarters != 0; i++)
    {
        if ((quarters & 1) != 0)
        {
            result = requantize(result, FACTORS[i], 0);
        }
        quarters >>= 1;
    }
    return result;
}

/** 1 / (2 x) as Q0.31 of x in [1/2, 1) as Q0.31... by three steps of Newton's method. */
static int32_t half_of_reciprocal(int32_t x)
{
    int32_t guess = 1515870810 + requantize(x, -1010580540, 0);
    for (int32_t step = 0; step < 3; step++)
    {
        guess += requantize(guess, (1 << 29) - requantize(x, guess, 0), 0) * 4;
    }
    return guess < 1 << 30 ? guess * 2 : INT32_MAX;
}

void arm_softmax_s8(const int8_t *input,
                    const int32_t num_rows,
                    const int32_t row_size,
                    const int32_t mult,
                    const int32_t shift,
                    const int32_t diff_min,
                    int8_t *output)
{
    for (int32_t row = 0; row < num_rows; row++)
    {
        int32_t max = INT8_MIN;
        for (int32_t i = 0; i < row_size; i++)
        {
            max = input[i] > max ? input[i] : max;
        }
        /* The sum as Q12.19. */
        uint32_t sum = 0;
        for (int32_t i = 0; i < row_size; i++)
        {
            if (input[i] - max >= diff_min)
            {
                sum += ((uint32_t)exp_of_negative(requantize(input[i] - max, mult, shift)) + (1U << 11)) >> 12;
            }
        }
        int32_t headroom = 0;
        for (; (int32_t)sum > 0; sum <<= 1)
        {
            headroom++;
        }
        const int32_t scale = half_of_reciprocal((int32_t)(sum >> 1));

        for (int32_t i = 0; i < row_size; i++)
        {
            int32_t probability = 0;
            /* A sum of 2^9 or more leaves no share of half a step: shifts stay in range. */
            if (input[i] - max >= diff_min && headroom >= 4)
            {
                const int32_t exp = exp_of_negative(requantize(input[i] - max, mult, shift));
                probability = requantize(scale, exp, headroom - 35);
            }
            output[i] = clamp_s8(probability + INT8_MIN, INT8_MIN, INT8_MAX);
        }
        input += row_size;
        output += row_size;
    }
}
