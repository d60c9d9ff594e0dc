/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "tg_recurrent.h"

static float product_f32(const float *a, const float *b, int32_t size)
{
    float sum = 0.0f;

    for (int32_t i = 0; i < size; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

void tg_svdf_f32(const struct tg_svdf_f32 *layer, const float *input, float *state, float *output)
{
    const size_t kept = (size_t)(layer->steps - 1);

    for (int32_t batch = 0; batch < layer->batches; batch++) {
        const float *features = layer->features;
        const float *times = layer->times;

        for (int32_t unit = 0; unit < layer->units; unit++) {
            float sum = 0.0f;

            for (int32_t filter = 0; filter < layer->rank; filter++) {
                memmove(state, state + 1, kept * sizeof *state);
                state[kept] = product_f32(features, input, layer->inputs);
                sum += product_f32(times, state, layer->steps);
                features += layer->inputs;
                times += layer->steps;
                state += layer->steps;
            }
            sum += layer->bias[unit];
            sum = sum < layer->bounds.min ? layer->bounds.min : sum;
            *output++ = sum > layer->bounds.max ? layer->bounds.max : sum;
        }
        input += layer->inputs;
    }
}
