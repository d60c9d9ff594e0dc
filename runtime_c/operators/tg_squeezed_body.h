/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of 32 elements with a block of some width.
 *
 * A weight is moved to the upper end of its half, so it is multiplied by 2^(16 - width); the sum of 32 products is at
 * most 2^27 then, and a multiple of that power.
 */
#ifndef TG_SQUEEZED_BODY_H
#define TG_SQUEEZED_BODY_H

#include "tg_squeezed_quad.h"

/* Where a pair of weights begins in its word, and how many bits the next word has of it. */
#define TG_START(width, pair) ((pair) * (width) % 16)
#define TG_NEXT_BITS(width, pair) ((TG_START(width, pair) + (width)) % 16)
#define TG_IS_ONE_PIECE(width, pair) (TG_START(width, pair) + (width) <= 16)

#define TG_WORD(width, pair) ((uint32_t)words[(pair) * (width) / 16])
#define TG_NEXT_WORD(width, pair) ((uint32_t)words[(pair) * (width) / 16 + 1])
#define TG_TOP(bits) ((0xffffU << (16 - (bits)) & 0xffffU) * 0x10001U) /* of both halves */

#define TG_ONE_PIECE(width, pair)                                                                                      \
    (TG_WORD(width, pair) << ((16 - TG_START(width, pair) - (width)) & 15) & TG_TOP(width))
#define TG_TWO_PIECES(width, pair)                                                                                     \
    ((TG_NEXT_WORD(width, pair) << (16 - TG_NEXT_BITS(width, pair)) & TG_TOP(TG_NEXT_BITS(width, pair))) |             \
        (TG_WORD(width, pair) >> TG_NEXT_BITS(width, pair) & (TG_TOP(width) ^ TG_TOP(TG_NEXT_BITS(width, pair)))))
#define TG_PAIR(width, pair) (TG_IS_ONE_PIECE(width, pair) ? TG_ONE_PIECE(width, pair) : TG_TWO_PIECES(width, pair))

#define TG_QUAD(width, quad)                                                                                           \
    sum = tg_plus_quad(sum, tg_quad_at(input + 4 * (quad)), TG_PAIR(width, 2 * (quad)), TG_PAIR(width, 2 * (quad) + 1))

#define TG_SQUEEZED_FUNCTION(name, width)                                                                              \
    static int32_t name(const int32_t *words, const int8_t *input)                                                     \
    {                                                                                                                  \
        int32_t sum = 0;                                                                                               \
                                                                                                                       \
        TG_QUAD(width, 0);                                                                                             \
        TG_QUAD(width, 1);                                                                                             \
        TG_QUAD(width, 2);                                                                                             \
        TG_QUAD(width, 3);                                                                                             \
        TG_QUAD(width, 4);                                                                                             \
        TG_QUAD(width, 5);                                                                                             \
        TG_QUAD(width, 6);                                                                                             \
        TG_QUAD(width, 7);                                                                                             \
        return sum >> (16 - (width));                                                                                  \
    }

#endif
