/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * tg_standardize_s8 and _s16: NAME, ELEMENT and LIMITS (the smallest and the largest stored value) are defined before.
 */
#include "tg_normalization.h"
#include "tg_wide_root.h"

static ELEMENT saturated(int64_t value)
{
    static const int32_t LIMIT[] = {LIMITS};

    return (ELEMENT)(value < LIMIT[0] ? LIMIT[0] : (value > LIMIT[1] ? LIMIT[1] : value));
}

void NAME(const struct tg_standardize *layer, const int32_t *factors, const int32_t *summands, const ELEMENT *input,
    ELEMENT *output)
{
    const int32_t stride = layer->inner;

    for (int32_t group = 0; group < layer->outer * stride; group++) {
        const int32_t start = group / stride * layer->size * stride + group % stride;
        int64_t squares = 0;
        int32_t sum = 0;

        for (int32_t i = 0; i < layer->size; i++) {
            const int32_t value = input[start + i * stride] + layer->input_offset;
            squares += (int64_t)value * value;
            sum += value;
        }
        const int32_t mean = layer->centers ? sum : 0; /* times size */
        const int64_t variance = squares * layer->size - (int64_t)mean * mean;
        const struct tg_reciprocal root =
            tg_reciprocal_root((uint64_t)variance * ((uint64_t)1 << layer->fraction_bits) + (uint64_t)layer->floor);
        const int32_t bits = TG_ROOT_BITS - TG_NORMAL_BITS - layer->fraction_bits / 2 - root.pairs;

        for (int32_t i = 0; i < layer->size; i++) {
            const int32_t place = start + i * stride;
            const int32_t channel = place / layer->channel_step % layer->channels;
            const int64_t difference = (int64_t)layer->size * (input[place] + layer->input_offset) - mean;
            const int64_t normal = tg_shift_right(difference * (int64_t)root.number, bits);
            const int64_t scaled =
                normal * factors[channel] + summands[channel] * ((int64_t)1 << (layer->shift - TG_SUMMAND_BITS));

            output[place] = saturated(tg_shift_right(scaled, layer->shift) + layer->output_offset);
        }
    }
}
