/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "arm_nnfunctions.h"
#include "pooling_window.h"
#include "requantize.h"

arm_cmsis_nn_status arm_avgpool_s8(const cmsis_nn_context *ctx,
                                   const cmsis_nn_pool_params *pool_params,
                                   const cmsis_nn_dims *input_dims,
                                   const int8_t *input_data,
                                   const cmsis_nn_dims *filter_dims,
                                   const cmsis_nn_dims *output_dims,
                                   int8_t *output_data)
{
    const int32_t input_w = input_dims->w;
    const int32_t channels = input_dims->c;
    (void)ctx;

    if (input_dims->n < 1)
    {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    for (int32_t batch = 0; batch < input_dims->n; batch++)
    {
        for (int32_t out_y = 0; out_y < output_dims->h; out_y++)
        {
            const span_t rows = window_span(out_y * pool_params->stride.h - pool_params->padding.h, filter_dims->h, input_dims->h);
            for (int32_t out_x = 0; out_x < output_dims->w; out_x++)
            {
                const span_t columns = window_span(out_x * pool_params->stride.w - pool_params->padding.w, filter_dims->w, input_w);
                const int32_t count = (rows.end - rows.begin) * (columns.end - columns.begin);
                if (count <= 0)
                {
                    return ARM_CMSIS_NN_ARG_ERROR;
                }
                for (int32_t c = 0; c < channels; c++)
                {
                    int32_t sum = 0;
                    for (int32_t y = rows.begin; y < rows.end; y++)
                    {
                        const int8_t *input = input_data + (y * input_w + columns.begin) * channels + c;
                        for (int32_t x = columns.begin; x < columns.end; x++)
                        {
                            sum += *input;
                            input += channels;
                        }
                    }
                    sum += sum > 0 ? count / 2 : -(count / 2);
                    *output_data++ = clamp_s8(sum / count, pool_params->activation.min, pool_params->activation.max);
                }
            }
        }
        input_data += input_dims->h * input_w * channels;
    }
    return ARM_CMSIS_NN_SUCCESS;
}
