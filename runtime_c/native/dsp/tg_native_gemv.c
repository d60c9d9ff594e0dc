/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of one vector: by how weights are multiplied.
 */
#include "tg_native_gemv_body.h"

/* file: tg_native_gemv_s8.c */

TG_GEMV_FUNCTION(tg_native_gemv_s8)

/* file: tg_native_gemv_joined_s8.c */

TG_GEMV_JOINED_FUNCTION(tg_native_gemv_joined_s8)

/* file: tg_native_gemv_twin_s8.c */

#if TG_NATIVE_RV32

#include "tg_native_gemv_twin_rv32.h"

TG_GEMV_TWIN_FUNCTION(tg_native_gemv_twin_s8)

#else

/* Two elements of two units. */
static inline uint32_t multiply(uint32_t word, int32_t first, uint32_t second)
{
    return word * (uint32_t)first + (word >> 8 & 0x00ff00ffU) * second;
}

/* A pair of units. */
static void multiply_pair(const int32_t *stream, int32_t pair, const uint32_t *vector, int32_t eights, uint32_t *sums)
{
    const int32_t *words = stream + TG_NATIVE_UNITS;
    uint32_t both = (uint32_t)stream[pair];
    uint32_t second = (uint32_t)stream[TG_NATIVE_UNITS / 2 + pair];
    uint32_t parted = 0;

    for (int32_t i = 0; i < eights; i++, words += 16, vector += TG_TWIN_VECTOR_WORDS, parted <<= 1) {
        const int8_t *const firsts = (const int8_t *)(vector + 5);
        uint32_t products = vector[4];
        if (i % TG_TWIN_EIGHTS == 0) {
            parted = (uint32_t)*words++;
        }
        for (int32_t k = 0; k < 4; k++) {
            const int32_t x = firsts[k];
            const uint32_t next = vector[k];
            if (parted >> 31 != 0) {
                products = tg_twin_start(next + 257U * (uint32_t)x);
            }
            products += multiply((uint32_t)words[4 * pair + k], x, next);
            if (k == 3 || parted >> 31 != 0) {
                both += products;
                second += (uint32_t)((int32_t)products >> 16);
            }
        }
    }
    sums[0] = both - (second << 16);
    sums[1] = second;
}

void tg_native_gemv_twin_s8(
    const int32_t *stream, const uint32_t *vector, int32_t quads, int32_t groups, int8_t *output)
{
    const int32_t words = tg_native_twin_group_words(quads);

    for (; groups > 0; groups--, stream += words) {
        const int32_t *scale = stream + words - 3 * TG_NATIVE_UNITS;
        for (int32_t pair = 0; pair < TG_NATIVE_UNITS / 2; pair++) {
            uint32_t sums[2];
            multiply_pair(stream, pair, vector, quads / 2, sums);
            for (int32_t i = 0; i < 2; i++, scale += 3) {
                *output++ = tg_rounded(tg_doubled((int32_t)sums[i]), scale);
            }
        }
    }
}

#endif
