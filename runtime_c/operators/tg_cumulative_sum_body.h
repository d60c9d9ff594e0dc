/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cumulative sums of numbers without scales, included once for each element type: of VALUE elements, added up as SUM,
 * in the function CUMULATIVE_SUM.
 */
#include "tg_numbers.h"

void CUMULATIVE_SUM(const struct tg_cumulative_sum *sums, const VALUE *input, VALUE *output)
{
    const int32_t step = sums->is_reverse ? -sums->inner : sums->inner;

    for (int32_t outer = 0; outer < sums->outer; outer++) {
        for (int32_t inner = 0; inner < sums->inner; inner++) {
            int32_t at = outer * sums->size * sums->inner + inner;
            SUM sum = 0;
            at += sums->is_reverse ? (sums->size - 1) * sums->inner : 0;
            for (int32_t i = 0; i < sums->size; i++, at += step) {
                const SUM before = sum;
                sum += (SUM)input[at];
                output[at] = (VALUE)(sums->is_exclusive ? before : sum);
            }
        }
    }
}
