/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A fully connected layer, row by row.
 */
#ifndef TG_NATIVE_ROWS_BODY_H
#define TG_NATIVE_ROWS_BODY_H

#include "tg_native_arithmetic.h"
#include "tg_native_gemv.h"

/* Vectors one by one, with groups of units that have so many words each. */
static inline void run_rows(const struct tg_native_fully_connected *layer, const int8_t *input, int8_t *output,
    void *scratch, void (*expand)(const int8_t *, int32_t, uint32_t *), tg_native_gemv *gemv, int32_t words)
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
            gemv(layer->stream + groups * words, scratch, quads, 1, last);
            for (int32_t i = 0; i < rest; i++) {
                output[groups * TG_NATIVE_UNITS + i] = last[i];
            }
        }
        tg_native_clamp_s8(output, layer->units, layer->min, layer->max);
        input += layer->features;
        output += layer->units;
    }
}

#endif
