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
 *
 * The function named `twin` multiplies two units at once, as tg_native_gemm.h has it for pixels. With w + 128 for
 * weights, as unsigned bytes, and W for a word of them,
 *
 *     u0[k] u0[k+1] u1[k] u1[k+1]
 *
 * x W + (x' - 256 x) ((W >> 8) & 0x00ff00ff) is what two elements x, x' add to both sums. `vector` holds for each 8
 * elements four words of x' - 256 x; 0x8000 - 128 * 65537 times the sum of all 8, so that a lower half is not negative;
 * four bytes of x. `stream` begins a group with the sums of 4 pairs, less 0x8000 for each time that they are parted,
 * and the biases of 4 second units. For each 8 elements there are 16 words, 4 of each pair; before 32 times 8 a word of
 * bits, the highest one first: 1 where sums are parted after each two elements.
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

#define TG_TWIN_EIGHTS 32      /* that a word of bits is for */
#define TG_TWIN_VECTOR_WORDS 6 /* for 8 elements */

/** The same for two units at once. */
static inline int32_t tg_native_twin_group_words(int32_t quads)
{
    const int32_t eights = quads / 2;
    return TG_NATIVE_UNITS * (2 * eights + 4) + (eights + TG_TWIN_EIGHTS - 1) / TG_TWIN_EIGHTS;
}

/** What products of two units begin with, by the sum of the elements: a lower half is not negative then. */
static inline uint32_t tg_twin_start(uint32_t sum)
{
    return 0x8000U - 128U * 65537U * sum;
}

/** `quads`: elements / 4, at least 1, of two units at once an even number; `groups` at least 1. */
typedef void tg_native_gemv(
    const int32_t *stream, const uint32_t *vector, int32_t quads, int32_t groups, int8_t *output);

tg_native_gemv tg_native_gemv_s8;
tg_native_gemv tg_native_gemv_joined_s8;
tg_native_gemv tg_native_gemv_twin_s8;

/** All rows. */
void tg_native_rows(const struct tg_native_fully_connected *layer, const int8_t *input, int8_t *output, void *scratch,
    tg_native_gemv *gemv);

/** The same for two units at once; features are a multiple of 8. */
void tg_native_twin_rows(
    const struct tg_native_fully_connected *layer, const int8_t *input, int8_t *output, void *scratch);

#endif
