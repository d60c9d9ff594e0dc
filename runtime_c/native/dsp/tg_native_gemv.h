/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Matrix product of one vector with groups of 8 units.
 *
 * `vector` holds 16-bit values: of each 4 elements the first and third in one word, the second and fourth in the next.
 * `stream` holds for each group, in words:
 *
 *     8 biases
 *     for each 4 elements 8 words: 4 int8 weights of each unit
 *     multiplier, offset, shift of each unit
 *
 * The function named `joined` reads for each 4 elements 2 words of each pair of units, joined as in tg_native_gemm.h:
 *
 *     u0[k] u1[k] u0[k+2] u1[k+2]     u0[k+1] u1[k+1] u0[k+3] u1[k+3]
 */
#ifndef TG_NATIVE_GEMV_H
#define TG_NATIVE_GEMV_H

#include "tg_native.h"
#include "tg_native_names.h"

#define TG_NATIVE_UNITS 8

/** Words of a group. */
static inline int32_t tg_native_group_words(int32_t quads)
{
    return TG_NATIVE_UNITS * (quads + 4);
}

/** `quads`: elements / 4, at least 1; `groups` at least 1. */
typedef void tg_native_gemv(
    const int32_t *stream, const uint32_t *vector, int32_t quads, int32_t groups, int8_t *output);

tg_native_gemv tg_native_gemv_s8;
tg_native_gemv tg_native_gemv_joined_s8;

/** All rows. */
void tg_native_rows(const struct tg_native_fully_connected *layer, const int8_t *input, int8_t *output, void *scratch,
    tg_native_gemv *gemv);

#endif
