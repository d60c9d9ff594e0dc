/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Elements of 4 pixels that lie side by side, joined: x0 + 65536 x1. Of each element there is a word of pixels 0 and 1,
 * then one of 2 and 3.
 */
#ifndef TG_NATIVE_SIDE_BY_SIDE_H
#define TG_NATIVE_SIDE_BY_SIDE_H

#include "tg_native_arithmetic.h"

/* Filters of 4 pixels inside of some rows, `row_bytes` apart; those of pixels are `step` bytes apart. */
struct side_by_side {
    const int8_t *from;
    int32_t step;
    int32_t row_bytes;
    int32_t rows;
    int32_t length; /* bytes of a row under a filter */
};

static inline uint32_t joined(int8_t a, int8_t b)
{
    return (uint32_t)(a + b * 65536);
}

/* Four elements of two pixels, in the order of the weights. */
static inline void join_four(const int8_t *a, const int8_t *b, uint32_t *to)
{
    to[0] = joined(a[0], b[0]);
    to[2] = joined(a[2], b[2]);
    to[4] = joined(a[1], b[1]);
    to[6] = joined(a[3], b[3]);
}

/* Eight elements of all four. */
static inline void join_eight(const int8_t *a, int32_t step, uint32_t *to)
{
    const int8_t *const b = a + step;
    const int8_t *const c = b + step;
    const int8_t *const d = c + step;

    join_four(a, b, to);
    join_four(c, d, to + 1);
    join_four(a + 4, b + 4, to + 8);
    join_four(c + 4, d + 4, to + 9);
}

/* One element of all four: the one with this number among those of a word of weights. */
static inline void join_one(const int8_t *from, int32_t step, int32_t number, uint32_t *to)
{
    uint32_t *const at = to + 2 * ((number >> 1) + 2 * (number & 1));

    at[0] = joined(from[0], from[step]);
    at[1] = joined(from[2 * step], from[3 * step]);
}

static inline void join_nothing(int32_t number, uint32_t *to)
{
    static const int8_t zeros[4] = {0};

    join_one(zeros, 1, number, to);
}

/* As tg_native_pack_windows puts them: whole words of each row, then the bytes that are left. */
static TG_NOINLINE void join_any(const struct side_by_side *all, uint32_t *to)
{
    const int32_t step = all->step;
    const int32_t rest = all->length % 4;
    uint32_t *rest_to = to + 2 * (all->length - rest) * all->rows;
    const int8_t *row = all->from;
    int32_t filled = 0;

    for (int32_t y = 0; y < all->rows; y++, row += all->row_bytes) {
        const int8_t *a = row;
        for (const int8_t *const end = row + (all->length & ~7); a < end; a += 8, to += 16) {
            join_eight(a, step, to);
        }
        if ((all->length & 4) != 0) {
            join_four(a, a + step, to);
            join_four(a + 2 * step, a + 3 * step, to + 1);
            a += 4;
            to += 8;
        }
        for (int32_t i = 0; i < rest; i++) {
            join_one(a + i, step, filled++, rest_to);
        }
        if (filled > 0 && (filled + rest > 4 || y == all->rows - 1)) {
            for (; filled < 4; filled++) {
                join_nothing(filled, rest_to);
            }
            rest_to += 8;
            filled = 0;
        }
    }
}

#endif
