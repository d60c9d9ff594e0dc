/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_broadcast_rows.h"
#include "tg_exponential.h"

/** Bits that a number of at most 9 bits may be shifted to the left, sign and all. */
static int32_t headroom(int32_t value)
{
    uint32_t bits = (uint32_t)(value < 0 ? -value - 1 : value);
    int32_t free = 31;
    for (; bits != 0; bits >>= 1) {
        free--;
    }
    return free;
}

/** first / second, rounded three times: the divisor's reciprocal, its product with the dividend, and to the output. */
static int32_t quotient(const struct tg_product *p, int32_t first, int32_t second)
{
    const int32_t zeros = headroom(second) + 1; /* of a positive number */
    const int32_t reciprocal = tg_half_reciprocal((int32_t)(((uint32_t)second << zeros) >> 1));
    const int32_t room = headroom(first);
    const int32_t shift = p->shift - (31 - zeros) - room;

    return shift < -31 ? 0 : tg_scale(tg_scale(first, reciprocal, room), p->multiplier, shift);
}

#define FAR 255 /* beyond the ends of int8 */

static void divide_row(const void *params, const struct tg_row *row)
{
    const struct tg_product *const p = params;

    for (int32_t i = 0; i < row->size; i++) {
        const int32_t first = row->first[i * row->first_step] + p->first_offset;
        const int32_t second = row->second[i * row->second_step] + p->second_offset;
        int32_t scaled;

        if (second != 0) {
            scaled = second < 0 ? quotient(p, -first, -second) : quotient(p, first, second);
        } else if (first > 0) {
            scaled = FAR;
        } else if (first < 0) {
            scaled = -FAR;
        } else {
            scaled = 0;
        }
        row->output[i] = tg_clamp_s8(scaled + p->output_offset, p->min, p->max);
    }
}

void tg_div_s8(const struct tg_broadcast *shape, const struct tg_product *params, const int8_t *first,
    const int8_t *second, int8_t *output)
{
    tg_broadcast_rows(shape, divide_row, params, first, second, output);
}
