/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a convolution reads and writes, whatever its arithmetic.
 */
#ifndef TG_GEOMETRY_H
#define TG_GEOMETRY_H

#include <stdint.h>

/** Sizes of a convolution in elements, NHWC; filters are OHWI with the depth of one group. */
struct tg_geometry {
    int32_t batches;
    int32_t input_height;
    int32_t input_width;
    int32_t input_channels;
    int32_t output_height;
    int32_t output_width;
    int32_t output_channels;
    int32_t filter_height;
    int32_t filter_width;
    int32_t filter_depth; /**< input channels of a group */
    int32_t filters_of_group;
    int32_t stride_height;
    int32_t stride_width;
    int32_t pad_top;
    int32_t pad_left;
    int32_t dilation_height;
    int32_t dilation_width;
};

#endif
