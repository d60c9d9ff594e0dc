/*
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TG_EXTREMUM_H
#define TG_EXTREMUM_H

#include "arm_nn_types.h"

/** Offset of element (n, h, w, 0) in a tensor of shape `dims`, whose axes of size 1 broadcast. */
static inline int32_t broadcast_offset(const cmsis_nn_dims *dims, int32_t n, int32_t h, int32_t w)
{
    const int32_t row = (dims->n > 1 ? n : 0) * dims->h + (dims->h > 1 ? h : 0);
    return (row * dims->w + (dims->w > 1 ? w : 0)) * dims->c;
}

/** Elementwise maximum or minimum of two tensors that broadcast against each other. */
static inline void broadcast_extremum(bool maximum, const int8_t *input_1, const cmsis_nn_dims *dims_1,
    const int8_t *input_2, const cmsis_nn_dims *dims_2, int8_t *output, const cmsis_nn_dims *output_dims)
{
    const int32_t step_1 = dims_1->c > 1 ? 1 : 0;
    const int32_t step_2 = dims_2->c > 1 ? 1 : 0;

    for (int32_t n = 0; n < output_dims->n; n++) {
        for (int32_t h = 0; h < output_dims->h; h++) {
            for (int32_t w = 0; w < output_dims->w; w++) {
                const int8_t *a = input_1 + broadcast_offset(dims_1, n, h, w);
                const int8_t *b = input_2 + broadcast_offset(dims_2, n, h, w);
                for (int32_t c = 0; c < output_dims->c; c++) {
                    *output++ = (*a > *b) == maximum ? *a : *b;
                    a += step_1;
                    b += step_2;
                }
            }
        }
    }
}

#endif
