/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The inner loops of convolution.
 */
#ifndef TG_ACCUMULATE_TAPS_H
#define TG_ACCUMULATE_TAPS_H

#include <stdint.h>

/** A row of filter taps on its input. */
typedef struct
{
    int32_t input_offset;
    int32_t taps;
    int32_t run;         /**< neighbouring input elements that each tap reads */
    int32_t input_step;  /**< distance in elements between the inputs of two taps */
    int32_t weight_step; /**< distance in elements between the weights of two taps */
} tap_row;

/** sum + all (input + input_offset) * weight of a row of taps, modulo 2^32. */
static inline uint32_t accumulate_taps_inline(uint32_t sum, const int8_t *input, const int8_t *weights,
                                              const tap_row *row)
{
    for (int32_t tap = row->taps; tap > 0; tap--)
    {
        for (int32_t i = 0; i < row->run; i++)
        {
            sum += (uint32_t)((input[i] + row->input_offset) * weights[i]);
        }
        input += row->input_step;
        weights += row->weight_step;
    }
    return sum;
}

/** accumulate_taps_inline() as a function, which leaves its callers' registers alone. */
uint32_t tg_accumulate_taps(uint32_t sum, const int8_t *input, const int8_t *weights, const tap_row *row);

/** The shared function where size counts, inline code where speed does. */
static inline uint32_t accumulate_taps(uint32_t sum, const int8_t *input, const int8_t *weights, const tap_row *row)
{
#ifdef __OPTIMIZE_SIZE__
    return tg_accumulate_taps(sum, input, weights, row);
#else
    return accumulate_taps_inline(sum, input, weights, row);
#endif
}

#endif
