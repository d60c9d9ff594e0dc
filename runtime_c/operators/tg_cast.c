/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Numbers in another element type.
 */
#include "tg_element.h"

/* file: tg_cast_f32_integers.c */

/** The ends of each type: float32 has the lower one and, but for those of 64 and 32 bits, the upper one too. */
static int64_t limited(float number, int64_t min, int64_t max)
{
    if (number != number) {
        return 0;
    }
    if (number <= (float)min) {
        return min;
    }
    return number >= (float)max ? max : (int64_t)number;
}

static int64_t largest(enum tg_element type)
{
    switch (type) {
    case TG_S8:
        return INT8_MAX;
    case TG_U8:
        return UINT8_MAX;
    case TG_S16:
        return INT16_MAX;
    case TG_S32:
        return INT32_MAX;
    case TG_U32:
        return UINT32_MAX;
    default:
        return INT64_MAX;
    }
}

void tg_cast_f32_integers(enum tg_element to, const float *input, void *output, int32_t size)
{
    const int64_t max = largest(to);
    const int64_t min = to == TG_U8 || to == TG_U32 ? 0 : -max - 1;

    for (int32_t i = 0; i < size; i++) {
        tg_store(to, output, i, to == TG_BOOL ? input[i] != 0.0f : limited(input[i], min, max));
    }
}

/* file: tg_cast_integers.c */

void tg_cast_integers(enum tg_element from, enum tg_element to, const void *input, void *output, int32_t size)
{
    for (int32_t i = 0; i < size; i++) {
        tg_store(to, output, i, tg_loaded(from, input, i));
    }
}

/* file: tg_cast_integers_f32.c */

void tg_cast_integers_f32(enum tg_element from, const void *input, float *output, int32_t size)
{
    for (int32_t i = 0; i < size; i++) {
        output[i] = (float)tg_loaded(from, input, i);
    }
}
