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

/* file: tg_native_rows.c */

#include "tg_native_columns.h"

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
    const int32_t quads = (layer->features + 3) / 4;
    const int32_t groups = layer->units / TG_NATIVE_UNITS;
    const int32_t rest = layer->units % TG_NATIVE_UNITS;
    int8_t last[TG_NATIVE_UNITS];

    for (int32_t row = 0; row < layer->rows; row++) {
        expand(input, layer->features, scratch);
        if (groups > 0) {
            gemv(layer->stream, scratch, quads, groups, output);
        }
        if (rest > 0) {
            gemv(layer->stream + groups * tg_native_group_words(quads), scratch, quads, 1, last);
            for (int32_t i = 0; i < rest; i++) {
                output[groups * TG_NATIVE_UNITS + i] = last[i];
            }
        }
        tg_native_clamp_s8(output, layer->units, layer->min, layer->max);
        input += layer->features;
        output += layer->units;
    }
}
