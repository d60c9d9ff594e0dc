/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "accumulate_taps.h"

uint32_t tg_accumulate_taps(uint32_t sum, const int8_t *input, const int8_t *weights, const tap_row *row)
{
    return accumulate_taps_inline(sum, input, weights, row);
}
