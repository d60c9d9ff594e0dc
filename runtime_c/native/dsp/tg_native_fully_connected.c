/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fully connected layers row by row: by how weights are multiplied.
 */
#include "tg_native_gemv.h"

/* file: tg_native_fully_connected_s8.c */

void tg_native_fully_connected_s8(
    const struct tg_native_fully_connected *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_rows(layer, input, output, scratch, tg_native_gemv_s8);
}

/* file: tg_native_fully_connected_joined_s8.c */

void tg_native_fully_connected_joined_s8(
    const struct tg_native_fully_connected *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_rows(layer, input, output, scratch, tg_native_gemv_joined_s8);
}

/* file: tg_native_fully_connected_twin_s8.c */

void tg_native_fully_connected_twin_s8(
    const struct tg_native_fully_connected *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_twin_rows(layer, input, output, scratch);
}

/* file: tg_native_rows.c */

#include "tg_native_columns.h"
#include "tg_native_rows_body.h"

static void expand(const int8_t *input, int32_t features, uint32_t *vector)
{
    for (; features >= 4; features -= 4, input += 4) {
#if TG_NATIVE_RV32
        tg_aliased_half *const halves = (tg_aliased_half *)vector;
        halves[0] = input[0];
        halves[1] = input[2];
        halves[2] = input[1];
        halves[3] = input[3];
        vector += 2;
#else
        const uint32_t word = tg_word(input);
        *vector++ = tg_even_bytes(word);
        *vector++ = tg_odd_bytes(word);
#endif
    }
    if (features > 0) {
        const uint32_t word = tg_partial_word(input, features);
        vector[0] = tg_even_bytes(word);
        vector[1] = tg_odd_bytes(word);
    }
}

void tg_native_rows(const struct tg_native_fully_connected *layer, const int8_t *input, int8_t *output, void *scratch,
    tg_native_gemv *gemv)
{
    run_rows(layer, input, output, scratch, expand, gemv, tg_native_group_words((layer->features + 3) / 4));
}

/* file: tg_native_twin_rows.c */

#include "tg_native_rows_body.h"

static void expand(const int8_t *input, int32_t features, uint32_t *vector)
{
    for (; features > 0; features -= 8, input += 8, vector += TG_TWIN_VECTOR_WORDS) {
        int8_t *const firsts = (int8_t *)(vector + 5);
        int32_t sum = 0;
        for (int32_t i = 0; i < 4; i++) {
            const int32_t x = input[2 * i];
            const int32_t next = input[2 * i + 1];
            vector[i] = (uint32_t)(next - 256 * x);
            firsts[i] = (int8_t)x;
            sum += x + next;
        }
        vector[4] = tg_twin_start((uint32_t)sum);
    }
}

void tg_native_twin_rows(
    const struct tg_native_fully_connected *layer, const int8_t *input, int8_t *output, void *scratch)
{
    run_rows(
        layer, input, output, scratch, expand, tg_native_gemv_twin_s8, tg_native_twin_group_words(layer->features / 4));
}
