/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sums of all elements up to each one.
 */
/* file: tg_cumulative_sum_f32.c */

#define CUMULATIVE_SUM tg_cumulative_sum_f32
#define VALUE float
#define SUM float
#include "tg_cumulative_sum_body.h"

/* file: tg_cumulative_sum_s32.c */

#define CUMULATIVE_SUM tg_cumulative_sum_s32
#define VALUE int32_t
#define SUM uint32_t
#include "tg_cumulative_sum_body.h"

/* file: tg_cumulative_sum_s64.c */

#define CUMULATIVE_SUM tg_cumulative_sum_s64
#define VALUE int64_t
#define SUM uint64_t
#include "tg_cumulative_sum_body.h"

/* file: tg_cumulative_sum_s8.c */

#include "tg_fixed_point.h"
#include "tg_numbers.h"

void tg_cumulative_sum_s8(const struct tg_cumulative_sum *sums, const struct tg_cumulative_scaling *scaling,
    const int8_t *input, int8_t *output)
{
    const int32_t step = sums->is_reverse ? -sums->inner : sums->inner;

    for (int32_t outer = 0; outer < sums->outer; outer++) {
        for (int32_t inner = 0; inner < sums->inner; inner++) {
            int32_t at = outer * sums->size * sums->inner + inner;
            int32_t sum = scaling->start;
            at += sums->is_reverse ? (sums->size - 1) * sums->inner : 0;
            for (int32_t i = 0; i < sums->size; i++, at += step) {
                const int32_t before = sum;
                sum += input[at] + scaling->offset;
                const uint32_t shifted = (uint32_t)(sums->is_exclusive ? before : sum) << scaling->left_shift;
                const int32_t scaled = tg_scale((int32_t)shifted, scaling->multiplier, scaling->shift);
                output[at] = tg_saturate_s8(scaled + scaling->output_offset);
            }
        }
    }
}
