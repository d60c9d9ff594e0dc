/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pooling that CMSIS-NN lacks.
 */
#ifndef TG_POOL_H
#define TG_POOL_H

#include <stdint.h>

#include "tg_operator_names.h"

/** Sizes and clamp; every window covers at least one input pixel. */
struct tg_pool {
    int32_t batches;
    int32_t input_height;
    int32_t input_width;
    int32_t channels;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_height;
    int32_t stride_width;
    int32_t pad_top;
    int32_t pad_left;
    int32_t output_height;
    int32_t output_width;
    int32_t min;
    int32_t max;
};

/** Means of NHWC windows without their padding, to the nearest, halves up. */
void tg_average_pool_up_s8(const struct tg_pool *pool, const int8_t *input, int8_t *output);

#endif
