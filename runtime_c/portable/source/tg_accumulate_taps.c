/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "accumulate_taps.h"
#include "dot_product.h"

uint32_t tg_accumulate_taps(uint32_t sum, const int8_t *input, const int8_t *weights, const tap_row *row)
{
    for (int32_t tap = row->taps; tap > 0; tap--) {
        sum = dot_product(sum, input, row->input_offset, weights, 0, row->run);
        input += row->input_step;
        weights += row->weight_step;
    }
    return sum;
}
