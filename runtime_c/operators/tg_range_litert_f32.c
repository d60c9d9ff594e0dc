/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_dynamic.h"
#include "tg_range_f32.h"

#define LEAST (-128.0)
#define MOST 127.0

/** The nearest integer, halves away from zero; NaN becomes -128. */
static int8_t limited(double origin)
{
    const double raised = origin > LEAST ? origin : LEAST;
    const double within = raised < MOST ? raised : MOST;

    return (int8_t)(within < 0.0 ? within - 0.5 : within + 0.5);
}

void tg_range_litert_f32(
    const struct tg_rows *rows, const float *input, float *scale, int8_t *zero_point, float *inverse)
{
    for (int32_t row = 0; row < rows->count; row++, input += rows->size) {
        const struct tg_range range = tg_range_of(input, rows->size);
        const double low = (double)range.smallest;
        const double high = (double)range.largest;
        scale[row] = 1.0f;
        zero_point[row] = 0;
        if (high > low) {
            const float width = range.largest - range.smallest;
            const double exact = (double)width / (MOST - LEAST);
            const double below = low / exact;
            const double above = high / exact;
            scale[row] = (float)exact;
            zero_point[row] = limited(-LEAST - below < MOST + above ? LEAST - below : MOST - above);
        }
        inverse[row] = 1.0f / scale[row];
    }
}
