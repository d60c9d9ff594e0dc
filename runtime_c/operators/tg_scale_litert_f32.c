/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_dynamic.h"

#define LEAST (-128.0)
#define MOST 127.0

/** The nearest integer, halves away from zero; NaN becomes -128. */
static int8_t limited(double origin)
{
    const double raised = origin > LEAST ? origin : LEAST;
    const double within = raised < MOST ? raised : MOST;

    return (int8_t)(within < 0.0 ? within - 0.5 : within + 0.5);
}

void tg_scale_litert_f32(const struct tg_range *ranges, int32_t count, float *scale, int8_t *zero_point, float *inverse)
{
    for (int32_t i = 0; i < count; i++) {
        const struct tg_range range = ranges[i];
        const double low = (double)range.smallest;
        const double high = (double)range.largest;
        scale[i] = 1.0f;
        zero_point[i] = 0;
        if (high > low) {
            const float width = range.largest - range.smallest;
            const double exact = (double)width / (MOST - LEAST);
            const double below = low / exact;
            const double above = high / exact;
            scale[i] = (float)exact;
            zero_point[i] = limited(-LEAST - below < MOST + above ? LEAST - below : MOST - above);
        }
        inverse[i] = 1.0f / scale[i];
    }
}
