/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Average pooling of ELEMENT values in the function POOL, included once for each type. CLAMP limits a value to a range
 * of the type.
 *
 * Plans rely on the order of reads and writes (tinygen/kernels/diagonal.py): each channel of a pixel is written once
 * its window is read, one after the other. Input and output may overlap.
 */
#include "arm_nnfunctions.h"
#include "requantize.h"

arm_cmsis_nn_status POOL(const cmsis_nn_context *ctx, const cmsis_nn_pool_params *pool_params,
    const cmsis_nn_dims *input_dims, const ELEMENT *input_data, const cmsis_nn_dims *filter_dims,
    const cmsis_nn_dims *output_dims, ELEMENT *output_data)
{
    const int32_t channels = input_dims->c;
    (void)ctx;

    if (input_dims->n < 1) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    for (int32_t batch = input_dims->n; batch > 0; batch--) {
        int32_t top = -pool_params->padding.h;
        for (int32_t out_y = output_dims->h; out_y > 0; out_y--) {
            int32_t left = -pool_params->padding.w;
            for (int32_t out_x = output_dims->w; out_x > 0; out_x--) {
                for (int32_t c = 0; c < channels; c++) {
                    int32_t sum = 0;
                    int32_t count = 0;
                    for (int32_t y = top > 0 ? top : 0; y < top + filter_dims->h && y < input_dims->h; y++) {
                        for (int32_t x = left > 0 ? left : 0; x < left + filter_dims->w && x < input_dims->w; x++) {
                            sum += input_data[(y * input_dims->w + x) * channels + c];
                            count++;
                        }
                    }
                    if (count == 0) {
                        return ARM_CMSIS_NN_ARG_ERROR;
                    }
                    sum += sum > 0 ? count >> 1 : -(count >> 1);
                    *output_data++ = CLAMP(sum / count, pool_params->activation.min, pool_params->activation.max);
                }
                left += pool_params->stride.w;
            }
            top += pool_params->stride.h;
        }
        input_data += input_dims->h * input_dims->w * channels;
    }
    return ARM_CMSIS_NN_SUCCESS;
}
