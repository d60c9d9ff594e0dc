/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A comparison of quantized numbers, included once for each element type: of VALUE elements, in the function COMPARE.
 */
#include "tg_broadcast_any.h"
#include "tg_fixed_point.h"
#include "tg_numbers.h"

static void compare_row(const void *params, const struct tg_any_row *row)
{
    const struct tg_scaled_comparison *const p = params;
    const VALUE *first = row->first;
    const VALUE *second = row->second;
    uint8_t *output = row->output;

    for (int32_t i = 0; i < row->size; i++) {
        const int32_t a =
            tg_scale((*first + p->first_offset) * (1 << p->left_shift), p->first_multiplier, p->first_shift);
        const int32_t b =
            tg_scale((*second + p->second_offset) * (1 << p->left_shift), p->second_multiplier, p->second_shift);
        output[i] = (p->accepts & (a < b ? TG_LESS : (a > b ? TG_GREATER : TG_EQUAL))) != 0;
        first += row->first_step;
        second += row->second_step;
    }
}

void COMPARE(const struct tg_broadcast *shape, const struct tg_scaled_comparison *params, const VALUE *first,
    const VALUE *second, uint8_t *output)
{
    tg_broadcast_any(shape, (int32_t)sizeof(VALUE), 1, compare_row, params, first, second, output);
}
