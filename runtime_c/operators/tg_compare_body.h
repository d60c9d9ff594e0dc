/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A comparison, included once for each element type: of VALUE elements, in the function COMPARE.
 */
#include "tg_broadcast_any.h"
#include "tg_numbers.h"

static int32_t order(VALUE first, VALUE second)
{
    if (first < second) {
        return TG_LESS;
    }
    if (first > second) {
        return TG_GREATER;
    }
    return first == second ? TG_EQUAL : TG_UNORDERED;
}

static void compare_row(const void *params, const struct tg_any_row *row)
{
    const int32_t accepts = *(const int32_t *)params;
    const VALUE *first = row->first;
    const VALUE *second = row->second;
    uint8_t *output = row->output;

    for (int32_t i = 0; i < row->size; i++) {
        output[i] = (accepts & order(*first, *second)) != 0;
        first += row->first_step;
        second += row->second_step;
    }
}

void COMPARE(
    const struct tg_broadcast *shape, int32_t accepts, const VALUE *first, const VALUE *second, uint8_t *output)
{
    tg_broadcast_any(shape, (int32_t)sizeof(VALUE), 1, compare_row, &accepts, first, second, output);
}
