/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_inverse_root.h"
#include "tg_normalization.h"

enum { OUTPUT_BITS = 7 }; /* of scale 1/128 */

void tg_l2_normalize_s8(const struct tg_l2_normalization *layer, const int8_t *input, int8_t *output)
{
    const int32_t late_bits = OUTPUT_BITS - layer->early_bits;

    for (int32_t row = 0; row < layer->rows; row++) {
        int32_t sum = 0;
        for (int32_t i = 0; i < layer->row_size; i++) {
            const int32_t value = input[i] + layer->input_offset;
            sum += value * value;
        }
        const struct tg_multiplier root = tg_inverse_root(sum);
        for (int32_t i = 0; i < layer->row_size; i++) {
            const int32_t value = (input[i] + layer->input_offset) * (1 << layer->early_bits);
            output[i] = tg_saturate_s8(tg_scale(value, root.multiplier, root.shift + late_bits));
        }
        input += layer->row_size;
        output += layer->row_size;
    }
}
