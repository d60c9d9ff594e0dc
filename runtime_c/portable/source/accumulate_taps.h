/*
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TG_ACCUMULATE_TAPS_H
#define TG_ACCUMULATE_TAPS_H

#include <stdint.h>

#include "tg_portable_names.h"

/** A row of filter taps on its input. */
typedef struct {
    int32_t input_offset;
    int32_t taps;
    int32_t run;         /**< neighbouring input elements that each tap reads */
    int32_t input_step;  /**< distance in elements between the inputs of two taps */
    int32_t weight_step; /**< distance in elements between the weights of two taps */
} tap_row;

/**
 * sum + all (input + input_offset) * weight of a row of taps, modulo 2^32.
 *
 * A function of its own also where speed counts: inlined, its loop would share the registers with six others.
 */
uint32_t tg_accumulate_taps(uint32_t sum, const int8_t *input, const int8_t *weights, const tap_row *row);

/** The same for taps that read one input element each, inline: too little work for a call. */
static inline uint32_t accumulate_single_taps(
    uint32_t sum, const int8_t *input, const int8_t *weights, const tap_row *row)
{
    for (int32_t tap = row->taps; tap > 0; tap--) {
        sum += (uint32_t)((*input + row->input_offset) * *weights);
        input += row->input_step;
        weights += row->weight_step;
    }
    return sum;
}

#endif
