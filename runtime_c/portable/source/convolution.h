/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Convolution and depthwise convolution as one: a depthwise convolution is a convolution in groups of one input channel
 * whose weights lie in another order.
 */
#ifndef TG_CONVOLUTION_H
#define TG_CONVOLUTION_H

#include <stddef.h>

#include "accumulate_taps.h"
#include "arm_nn_types.h"
#include "requantize.h"
#include "tg_portable_names.h"

/** Where size counts, both kinds of convolution share one piece of code; where speed does, each has its own. */
#ifdef __OPTIMIZE_SIZE__
#define TG_SHARED_CONVOLUTION 1
#else
#define TG_SHARED_CONVOLUTION 0
#endif

/**
 * What a public function found out about its arguments.
 *
 * It is passed on instead of returned early: a function without branches forwards its eleven arguments where they are,
 * as a mere jump.
 */
typedef enum {
    TG_CONVOLUTION,
    TG_DEPTHWISE,
    TG_INVALID,
} tg_convolution;

/*
 * Plans rely on the order of reads and writes (tinygen/kernels/diagonal.py): pixel after pixel, channel after channel,
 * each result written once all that it is made of is read. Input and output may overlap.
 */

/**
 * Convolution with filters OHWI, or with depthwise filters 1HWO. bias may be NULL; bias_dims is not read.
 *
 * Returns ARM_CMSIS_NN_ARG_ERROR for TG_INVALID and where the groups do not divide the input or output channels.
 */
static inline arm_cmsis_nn_status convolve_inline(tg_convolution kind, const cmsis_nn_conv_params *params,
    const cmsis_nn_per_channel_quant_params *quant, const cmsis_nn_dims *input_dims, const int8_t *input,
    const cmsis_nn_dims *filter_dims, const int8_t *filter, const cmsis_nn_dims *bias_dims, const int32_t *bias,
    const cmsis_nn_dims *output_dims, int8_t *output)
{
    const bool depthwise = kind == TG_DEPTHWISE;
    const int32_t group_c = depthwise ? 1 : filter_dims->c;
    const int32_t groups = input_dims->c / group_c;
    (void)bias_dims;
    if (kind == TG_INVALID || input_dims->c % group_c != 0 || output_dims->c % groups != 0) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }

    const bool single_taps = depthwise && !TG_SHARED_CONVOLUTION;
    const int32_t group_outputs = output_dims->c / groups;
    const int32_t channel_step = depthwise ? 1 : filter_dims->h * filter_dims->w * group_c;
    tap_row row;
    row.input_offset = params->input_offset;
    row.input_step = params->dilation.w * input_dims->c;
    row.weight_step = depthwise ? output_dims->c : group_c;
    for (int32_t batch = input_dims->n; batch > 0; batch--) {
        int32_t top = -params->padding.h;
        for (int32_t out_y = output_dims->h; out_y > 0; out_y--) {
            int32_t left = -params->padding.w;
            for (int32_t out_x = output_dims->w; out_x > 0; out_x--) {
                /* Drop the columns of taps that lie left and right of the input. */
                const int8_t *weights = filter;
                int32_t x = left;
                int32_t taps = filter_dims->w;
                for (; x < 0; x += params->dilation.w) {
                    weights += row.weight_step;
                    taps--;
                }
                while (x + (taps - 1) * params->dilation.w >= input_dims->w) {
                    taps--;
                }
                /* Where neighbouring taps lie on neighbouring inputs, all of them are one long tap. */
                const bool contiguous = !single_taps && row.input_step == group_c && row.weight_step == group_c;
                row.run = contiguous ? group_c * taps : group_c;
                row.taps = contiguous ? 1 : taps;
                for (int32_t out_c = 0; out_c < output_dims->c; out_c++) {
                    const int8_t *row_weights = weights;
                    uint32_t sum = bias != NULL ? (uint32_t)bias[out_c] : 0U;
                    int32_t y = top;
                    for (int32_t filter_y = filter_dims->h; filter_y > 0; filter_y--) {
                        if (y >= 0 && y < input_dims->h) {
                            const int32_t in_c = out_c / group_outputs * group_c;
                            const int8_t *row_input = input + (y * input_dims->w + x) * input_dims->c + in_c;
                            sum = single_taps ? accumulate_single_taps(sum, row_input, row_weights, &row)
                                              : tg_accumulate_taps(sum, row_input, row_weights, &row);
                        }
                        row_weights += filter_dims->w * row.weight_step;
                        y += params->dilation.h;
                    }
                    weights += channel_step;
                    const int32_t scaled = requantize((int32_t)sum, quant->multiplier[out_c], quant->shift[out_c]);
                    *output++ = clamp_s8(
                        wrapping_add(scaled, params->output_offset), params->activation.min, params->activation.max);
                }
                left += params->stride.w;
            }
            top += params->stride.h;
        }
        input += input_dims->h * input_dims->w * input_dims->c;
    }
    return ARM_CMSIS_NN_SUCCESS;
}

/** convolve_inline() as a function. TG_DEPTHWISE is valid where TG_SHARED_CONVOLUTION is set. */
arm_cmsis_nn_status tg_convolve(tg_convolution kind, const cmsis_nn_conv_params *params,
    const cmsis_nn_per_channel_quant_params *quant, const cmsis_nn_dims *input_dims, const int8_t *input,
    const cmsis_nn_dims *filter_dims, const int8_t *filter, const cmsis_nn_dims *bias_dims, const int32_t *bias,
    const cmsis_nn_dims *output_dims, int8_t *output);

/** Depthwise convolution for TG_DEPTHWISE, ARM_CMSIS_NN_ARG_ERROR for TG_INVALID. */
arm_cmsis_nn_status tg_depthwise_convolve(tg_convolution kind, const cmsis_nn_dw_conv_params *params,
    const cmsis_nn_per_channel_quant_params *quant, const cmsis_nn_dims *input_dims, const int8_t *input,
    const cmsis_nn_dims *filter_dims, const int8_t *filter, const cmsis_nn_dims *bias_dims, const int32_t *bias,
    const cmsis_nn_dims *output_dims, int8_t *output);

#endif
