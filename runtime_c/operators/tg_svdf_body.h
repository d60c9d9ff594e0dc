/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A layer of filters of rank one on int8, for states of type TG_STATE from TG_STATE_MIN to TG_STATE_MAX; included by
 * the function TG_FUNCTION, with TG_WIDE where they are int16.
 */
#include <string.h>

#include "tg_dot_s8.h"
#include "tg_fixed_point.h"
#include "tg_recurrent.h"
#include "tg_units.h"

/*
 * moved_on(): moves `kept` states, those behind the oldest, to the places before them, and returns the sum of their
 * products with `times`, modulo 2^32, as 32-bit sums in TFLite Micro wrap. One pass, as each state is read just once.
 */

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

#ifdef TG_WIDE

static uint32_t moved_on(const int16_t *times, int16_t *state, int32_t kept)
{
    int32_t sum = 0;

    for (int32_t left = kept; left > 0; left -= 8) {
        const mve_pred16_t there = vctp16q((uint32_t)left);
        const int16x8_t moved = vldrhq_z_s16(state + 1, there);

        vstrhq_p_s16(state, moved, there);
        sum = vmladavaq_s16(sum, moved, vldrhq_z_s16(times, there));
        state += 8;
        times += 8;
    }
    return (uint32_t)sum;
}

#else

static uint32_t moved_on(const int8_t *times, int8_t *state, int32_t kept)
{
    int32_t sum = 0;

    for (int32_t left = kept; left > 0; left -= 16) {
        const mve_pred16_t there = vctp8q((uint32_t)left);
        const int8x16_t moved = vldrbq_z_s8(state + 1, there);

        vstrbq_p_s8(state, moved, there);
        sum = vmladavaq_s8(sum, moved, vldrbq_z_s8(times, there));
        state += 16;
        times += 16;
    }
    return (uint32_t)sum;
}

#endif

#else

static uint32_t moved_on(const TG_STATE *times, TG_STATE *state, int32_t kept)
{
    uint32_t sum = 0;
    int32_t step = 0;

#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED)
#ifdef TG_WIDE
    for (; step < kept - 1; step += 2) {
        uint32_t moved;
        uint32_t weights;

        memcpy(&moved, &state[step + 1], sizeof moved); /* one load, as that of weights; one store */
        memcpy(&weights, &times[step], sizeof weights);
        memcpy(&state[step], &moved, sizeof moved);
        __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(moved), "r"(weights));
    }
#else
    int32_t products = 0;

    for (; step < kept - (TG_STEP - 1); step += TG_STEP) {
        const tg_elements moved = tg_load(&state[step + 1], TG_STEP);

        products = tg_multiply(products, moved, tg_load(&times[step], TG_STEP));
        memmove(&state[step], &state[step + 1], TG_STEP); /* the word that was loaded */
    }
    sum = (uint32_t)products;
#endif
#endif
    for (; step < kept; step++) {
        const TG_STATE moved = state[step + 1];

        state[step] = moved;
        sum += (uint32_t)(times[step] * moved);
    }
    return sum;
}

#endif

/* What some filters make of an input, as states: differences from the zero point. */
static void newest_of(
    const struct tg_svdf_s8 *layer, int32_t filter, int32_t count, const int8_t *input, int32_t newest[TG_UNITS])
{
    const int8_t *features = layer->features + filter * layer->inputs;

    memset(newest, 0, TG_UNITS * sizeof *newest);
    if (count == TG_UNITS) {
        tg_add_4x1(features, layer->inputs, input, layer->inputs, newest);
    } else {
        for (int32_t each = 0; each < count; each++) {
            newest[each] = tg_dot(features + each * layer->inputs, input, layer->inputs);
        }
    }
    for (int32_t each = 0; each < count; each++) {
        newest[each] = (int32_t)((uint32_t)newest[each] + (uint32_t)layer->feature_starts[filter + each]);
    }
    tg_scale_units(newest, count, layer->state_multiplier, layer->state_shift);
    for (int32_t each = 0; each < count; each++) {
        newest[each] = newest[each] < TG_STATE_MIN ? TG_STATE_MIN : newest[each];
        newest[each] = newest[each] > TG_STATE_MAX ? TG_STATE_MAX : newest[each];
    }
}

void TG_FUNCTION(const struct tg_svdf_s8 *layer, const int8_t *input, TG_STATE *state, int8_t *output)
{
    const int32_t kept = layer->steps - 1;
    const int32_t filters = layer->units * layer->rank;

    for (int32_t batch = 0; batch < layer->batches; batch++) {
        const TG_STATE *times = layer->times;
        const int32_t *start = layer->time_starts;
        uint32_t sum = 0;
        int32_t rest = 0; /* filters of the unit that are to be added */

        for (int32_t filter = 0; filter < filters; filter += TG_UNITS) {
            const int32_t count = filters - filter < TG_UNITS ? filters - filter : TG_UNITS;
            int32_t newest[TG_UNITS];

            newest_of(layer, filter, count, input, newest);
            for (int32_t each = 0; each < count; each++) {
                const TG_STATE last =
                    (TG_STATE)(newest[each] + layer->state_zero_point); /* wraps, as in TFLite Micro */

                if (rest == 0) {
                    sum = (uint32_t)*start++;
                    rest = layer->rank;
                }
                sum += moved_on(times, state, kept) + (uint32_t)(times[kept] * last);
                state[kept] = last;
                times += layer->steps;
                state += layer->steps;
                rest--;
                if (rest == 0) {
                    const int32_t scaled = tg_scale((int32_t)sum, layer->output_multiplier, layer->output_shift);

                    *output++ = tg_offset_s8(scaled, layer->output_zero_point);
                }
            }
        }
        input += layer->inputs;
    }
}
