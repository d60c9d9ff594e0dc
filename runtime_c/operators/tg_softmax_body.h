/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Softmax of int8 rows in fixed point: the function NAME, whose results of type OUTPUT have OUTPUT_BITS.
 */
#include "tg_exponential.h"
#include "tg_softmax.h"

#define LARGEST ((1 << OUTPUT_BITS) - 1)

void NAME(const int8_t *input, int32_t num_rows, int32_t row_size, int32_t mult, int32_t shift, int32_t diff_min,
    OUTPUT *output)
{
    for (int32_t row = 0; row < num_rows; row++) {
        const int32_t max = tg_largest_s8(input, row_size);
        uint32_t sum = 0; /* Q12.19 */
        for (int32_t i = 0; i < row_size; i++) {
            if (input[i] - max >= diff_min) {
                sum += (uint32_t)tg_shifted_right(tg_exponential(input[i] - max, mult, shift), 12);
            }
        }
        int32_t bits =
            43 - OUTPUT_BITS; /* that a product with the reciprocal is shifted to become steps of an output */
        while ((sum & 0x80000000U) == 0) {
            sum <<= 1;
            bits--;
        }
        const int32_t reciprocal = tg_half_reciprocal((int32_t)(sum >> 1));
        for (int32_t i = 0; i < row_size; i++) {
            int32_t probability = 0;
            if (input[i] - max >= diff_min) {
                probability =
                    tg_shifted_right(tg_product(reciprocal, tg_exponential(input[i] - max, mult, shift)), bits);
            }
            output[i] = (OUTPUT)((probability < LARGEST ? probability : LARGEST) - (1 << (OUTPUT_BITS - 1)));
        }
        input += row_size;
        output += row_size;
    }
}
