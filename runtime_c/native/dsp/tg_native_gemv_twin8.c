/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fully connected layers of two units at once, for cores with few registers: as assembly for Armv6-M, else in C.
 */
#include "tg_native_arithmetic.h"
#include "tg_native_gemv_twin8.h"

/* file: tg_native_gemv_twin8_s8.c */

#include "tg_native_thumb1.h"

#if TG_NATIVE_THUMB1

#include "tg_native_gemv_twin8_thumb1.h"

TG_GEMV_TWIN8_THUMB1(tg_native_gemv_twin8_s8)

#else

/* Of a pair of units, whose words stand 16 words apart for 8 elements; `both`: with the second one 65536 times. */
static uint32_t second_sum(const int32_t *group, int32_t pair, const uint32_t *vector, int32_t eights, uint32_t *both)
{
    const int32_t *words = group + TG_NATIVE_UNITS;
    uint32_t second = (uint32_t)group[TG_NATIVE_UNITS / 2 + pair];
    uint32_t parted = 0;

    *both = (uint32_t)group[pair];
    for (int32_t eight = 0; eight < eights; eight++) {
        uint32_t products = vector[0];
        if (eight % TG_TWIN_EIGHTS == 0) {
            parted = (uint32_t)words[0];
            words++;
        }
        for (int32_t two = 0; two < 4; two++) {
            const uint32_t x = vector[1 + 2 * two];
            const uint32_t next = vector[2 + 2 * two];
            const uint32_t word = (uint32_t)words[4 * pair + two];
            if (parted >> 31 != 0) {
                products = tg_twin_start(next + 257U * x);
            }
            products += word * x + (word >> 8 & 0x00ff00ffU) * next;
            if (two == 3 || parted >> 31 != 0) {
                *both += products;
                second += (uint32_t)((int32_t)products >> 16);
            }
        }
        words += 16;
        vector += TG_TWIN8_VECTOR_WORDS;
        parted <<= 1;
    }
    return second;
}

void tg_native_gemv_twin8_s8(
    const int32_t *stream, const uint32_t *vector, int32_t quads, int32_t groups, int8_t *output)
{
    const int32_t group_words = tg_native_twin_group_words(quads);

    for (int32_t pair = 0; pair < groups * (TG_NATIVE_UNITS / 2); pair++) {
        const int32_t *const group = stream + pair / 4 * group_words;
        const int32_t *const scale = group + group_words - 3 * TG_NATIVE_UNITS + pair % 4 * 6;
        uint32_t both;
        const uint32_t second = second_sum(group, pair % 4, vector, quads / 2, &both);
        output[2 * pair] = tg_rounded(tg_doubled((int32_t)(both - (second << 16))), scale);
        output[2 * pair + 1] = tg_rounded(tg_doubled((int32_t)second), scale + 3);
    }
}

#endif

/* file: tg_native_fully_connected_twin8_s8.c */

#include "tg_native_rows_body.h"

static void expand(const int8_t *input, int32_t features, uint32_t *vector)
{
    for (const int8_t *const end = input + features; input < end; vector += TG_TWIN8_VECTOR_WORDS) {
        uint32_t sum = 0;
        for (int32_t two = 0; two < 4; two++, input += 2) {
            const uint32_t x = (uint32_t)input[0];
            const uint32_t next = (uint32_t)input[1];
            vector[1 + 2 * two] = x;
            vector[2 + 2 * two] = next - 256U * x;
            sum += x + next;
        }
        vector[0] = tg_twin_start(sum);
    }
}

void tg_native_fully_connected_twin8_s8(
    const struct tg_native_fully_connected *layer, const int8_t *input, int8_t *output, void *scratch)
{
    run_rows(layer, input, output, scratch, expand, tg_native_gemv_twin8_s8,
        tg_native_twin_group_words(layer->features / 4));
}
