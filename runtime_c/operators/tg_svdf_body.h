/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A layer of filters of rank one on int8, for states of type TG_STATE from TG_STATE_MIN to TG_STATE_MAX; included by
 * the function TG_FUNCTION, with TG_WIDE where they are int16.
 */
#include <stddef.h>
#include <string.h>

#include "tg_dot_s8.h"
#include "tg_fixed_point.h"
#include "tg_recurrent.h"

#ifdef TG_WIDE

/* Modulo 2^32, as 32-bit sums in TFLite Micro wrap. */
static uint32_t over_time(const int16_t *times, const int16_t *state, int32_t steps)
{
    uint32_t sum = 0;

    for (int32_t step = 0; step < steps; step++) {
        sum += (uint32_t)(times[step] * state[step]);
    }
    return sum;
}

#else

static uint32_t over_time(const int8_t *times, const int8_t *state, int32_t steps)
{
    return (uint32_t)tg_dot(times, state, steps);
}

#endif

void TG_FUNCTION(const struct tg_svdf_s8 *layer, const int8_t *input, TG_STATE *state, int8_t *output)
{
    const size_t kept = (size_t)(layer->steps - 1);

    for (int32_t batch = 0; batch < layer->batches; batch++) {
        const int8_t *features = layer->features;
        const int32_t *start = layer->feature_starts;
        const TG_STATE *times = layer->times;

        for (int32_t unit = 0; unit < layer->units; unit++) {
            uint32_t sum = (uint32_t)layer->time_starts[unit];
            int32_t scaled;

            for (int32_t filter = 0; filter < layer->rank; filter++) {
                const uint32_t over_inputs = (uint32_t)*start++ + (uint32_t)tg_dot(features, input, layer->inputs);
                int32_t newest = tg_scale((int32_t)over_inputs, layer->state_multiplier, layer->state_shift);

                if (newest < TG_STATE_MIN) {
                    newest = TG_STATE_MIN;
                } else if (newest > TG_STATE_MAX) {
                    newest = TG_STATE_MAX;
                }
                memmove(state, state + 1, kept * sizeof *state);
                state[kept] = (TG_STATE)(newest + layer->state_zero_point); /* wraps, as in TFLite Micro */
                sum += over_time(times, state, layer->steps);
                features += layer->inputs;
                times += layer->steps;
                state += layer->steps;
            }
            scaled = tg_scale((int32_t)sum, layer->output_multiplier, layer->output_shift);
            *output++ = tg_saturate_s8(scaled + layer->output_zero_point);
        }
        input += layer->inputs;
    }
}
