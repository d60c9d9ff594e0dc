/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <string.h>

#include "tg_recurrent.h"

static float gate_of(const struct tg_lstm_f32 *layer, int32_t gate, int32_t unit, const float *x, const float *hidden)
{
    const float *kernel = layer->kernels[gate] + unit * layer->inputs;
    const float *recurrent = layer->recurrent[gate] + unit * layer->units;
    float sum = 0.0f;
    float from_hidden = 0.0f;

    for (int32_t i = 0; i < layer->inputs; i++) {
        sum += kernel[i] * x[i];
    }
    for (int32_t i = 0; i < layer->units; i++) {
        from_hidden += recurrent[i] * hidden[i];
    }
    return sum + layer->biases[gate][unit] + from_hidden;
}

static float logistic(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

/* One step of one sequence; the hidden state stays as it was. */
static void step(const struct tg_lstm_f32 *layer, const float *x, const float *hidden, float *cell, float *output)
{
    for (int32_t unit = 0; unit < layer->units; unit++) {
        const float i = logistic(gate_of(layer, 0, unit, x, hidden));
        const float f = logistic(gate_of(layer, 1, unit, x, hidden));
        const float g = tanhf(gate_of(layer, 2, unit, x, hidden));
        const float o = logistic(gate_of(layer, 3, unit, x, hidden));
        float after = f * cell[unit] + i * g;

        if (layer->clip > 0.0f) {
            after = after < -layer->clip ? -layer->clip : after > layer->clip ? layer->clip : after;
        }
        cell[unit] = after;
        output[unit] = o * tanhf(after);
    }
}

void tg_lstm_f32(const struct tg_lstm_f32 *layer, const float *input, float *hidden, float *cell, float *output)
{
    for (int32_t batch = 0; batch < layer->batches; batch++) {
        float *own = hidden + batch * layer->units;

        for (int32_t time = 0; time < layer->steps; time++) {
            const int32_t row = layer->is_time_major != 0 ? time * layer->batches + batch : batch * layer->steps + time;
            float *result = output + row * layer->units;

            step(layer, input + row * layer->inputs, own, cell + batch * layer->units, result);
            memcpy(own, result, (size_t)layer->units * sizeof *own);
        }
    }
}
