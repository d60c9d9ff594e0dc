/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_exponential.h"
#include "tg_softmax.h"

enum {
    OUTPUT_ZERO_POINT = 127, /* of outputs with scale 1/16 */
    OUTPUT_SHIFT = 22,       /* from Q5.26 to sixteenths */
    QUARTER_OF_POWER = 1 << 23,
    POWER_BITS = 25, /* fraction bits of powers of two */
};

static int32_t leading_zeros(uint32_t value)
{
    int32_t count = 0;
    while ((value & 0x80000000U) == 0) {
        value <<= 1;
        count++;
    }
    return count;
}

/** value * 2^bits where 32 bits hold that, else their largest number; value > 0, bits in 0..31. */
static int32_t saturated_left(int32_t value, int32_t bits)
{
    const int64_t shifted = (int64_t)value << bits;
    return shifted < INT32_MAX ? (int32_t)shifted : INT32_MAX;
}

/** value / 2^bits, rounded to nearest, halves away from zero. */
static int32_t divided(int32_t value, int32_t bits)
{
    const int64_t half = INT64_C(1) << (bits - 1);
    return (int32_t)(value >= 0 ? (value + half) >> bits : -((half - value) >> bits));
}

/**
 * Logarithm as Q5.26 of a sum of 1 or more as Q12.19: the nearest power of two, or that times the root of 1/2, and a
 * rational function of what remains, in [root of 1/2, 1) around the fourth root of 1/2.
 */
static int32_t logarithm(int32_t sum)
{
    static const int32_t LOG_OF_2 = 1488522236;
    static const int32_t ROOT_OF_HALF = 1518500250;
    static const int32_t FOURTH_ROOT_OF_HALF = 1805811301;
    static const int32_t CUBIC = 117049297;     /* 11/240 * 2^(1/4) */
    static const int32_t SQUARED = 127690142;   /* 1/20 * 2^(1/4) */
    static const int32_t CONSTANT = 1057819769; /* 2^(3/4) - 2^(1/4) */
    static const int32_t LINEAR = 638450708;    /* 1/4 * 2^(1/4) */

    const int32_t zeros = leading_zeros((uint32_t)sum);
    const int32_t halved = saturated_left(tg_product(sum * (1 << (zeros - 1)), ROOT_OF_HALF), 1);
    const int32_t root_zeros = leading_zeros((uint32_t)tg_product(sum, ROOT_OF_HALF)) - 1;
    const int32_t whole = saturated_left(sum, root_zeros);
    const int32_t power = (12 - zeros) * (1 << POWER_BITS) + QUARTER_OF_POWER;
    const int32_t root_power = (12 - root_zeros) * (1 << POWER_BITS) - QUARTER_OF_POWER;
    const int32_t rest = halved < whole ? halved : whole;
    const int32_t p = (int32_t)(((int64_t)rest + FOURTH_ROOT_OF_HALF + 1) / 2);
    const int32_t q = (rest - FOURTH_ROOT_OF_HALF) * 2;
    const int32_t square = tg_product(q, q);
    const int32_t numerator = tg_product(q, rest) + tg_product(tg_product(q, square), CUBIC);
    const int32_t above_one = tg_product(p, CONSTANT + q + tg_product(SQUARED, square)) + tg_product(LINEAR, q);
    const int32_t reciprocal = tg_half_reciprocal((int32_t)(((uint32_t)above_one + 0x80000000U) >> 1));
    const int32_t fraction = tg_product(divided(numerator, 6), reciprocal);

    return (tg_product(power > root_power ? power : root_power, LOG_OF_2) + fraction) * 2;
}

/** The smallest difference that an output other than the smallest one needs, less one. */
static int32_t least_difference(const struct tg_log_softmax *layer, int32_t log)
{
    const int32_t reversed = tg_scale(log + INT32_MIN, layer->reverse_multiplier, layer->reverse_shift);
    return reversed > layer->diff_min - 1 ? reversed : layer->diff_min - 1;
}

void tg_log_softmax_s8(const struct tg_log_softmax *layer, const int8_t *input, int8_t *output)
{
    for (int32_t row = 0; row < layer->rows; row++) {
        const int32_t max = tg_largest_s8(input, layer->row_size);
        int32_t sum = 0; /* Q12.19 */
        for (int32_t i = 0; i < layer->row_size; i++) {
            if (input[i] - max >= layer->diff_min) {
                sum += tg_shifted_right(tg_exponential(input[i] - max, layer->multiplier, layer->shift), 12);
            }
        }
        const int32_t log = logarithm(sum);
        const int32_t least = least_difference(layer, log);
        for (int32_t i = 0; i < layer->row_size; i++) {
            const int32_t difference = input[i] - max;
            output[i] = INT8_MIN;
            if (difference > least) {
                const int32_t scaled = tg_scale(difference, layer->multiplier, layer->shift);
                output[i] = tg_saturate_s8(divided(scaled - log, OUTPUT_SHIFT) + OUTPUT_ZERO_POINT);
            }
        }
        input += layer->row_size;
        output += layer->row_size;
    }
}
