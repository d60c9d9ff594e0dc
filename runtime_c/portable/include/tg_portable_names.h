/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The symbols of the portable kernels. Sources call them by the names of CMSIS-NN's interface; linkers see names that
 * CMSIS-NN does not have.
 *
 * The API (names, arguments, meaning) is Arm's CMSIS-NN (github.com/ARM-software/CMSIS-NN, Apache-2.0); the
 * implementation is tinygen's, from the arithmetic.
 */
#ifndef TG_PORTABLE_NAMES_H
#define TG_PORTABLE_NAMES_H

#include "tg_version.h"

#define arm_avgpool_s16 TG_V(arm_avgpool_s16)
#define arm_avgpool_s8 TG_V(arm_avgpool_s8)
#define arm_avgpool_s8_get_buffer_size TG_V(arm_avgpool_s8_get_buffer_size)
#define arm_avgpool_s8_get_buffer_size_dsp TG_V(arm_avgpool_s8_get_buffer_size_dsp)
#define arm_avgpool_s8_get_buffer_size_mve TG_V(arm_avgpool_s8_get_buffer_size_mve)
#define arm_batch_matmul_s8 TG_V(arm_batch_matmul_s8)
#define arm_concatenation_s8_w TG_V(arm_concatenation_s8_w)
#define arm_concatenation_s8_x TG_V(arm_concatenation_s8_x)
#define arm_concatenation_s8_y TG_V(arm_concatenation_s8_y)
#define arm_concatenation_s8_z TG_V(arm_concatenation_s8_z)
#define arm_convolve_1_x_n_s8 TG_V(arm_convolve_1_x_n_s8)
#define arm_convolve_1_x_n_s8_get_buffer_size TG_V(arm_convolve_1_x_n_s8_get_buffer_size)
#define arm_convolve_1x1_s8 TG_V(arm_convolve_1x1_s8)
#define arm_convolve_1x1_s8_fast TG_V(arm_convolve_1x1_s8_fast)
#define arm_convolve_1x1_s8_fast_get_buffer_size TG_V(arm_convolve_1x1_s8_fast_get_buffer_size)
#define arm_convolve_s8 TG_V(arm_convolve_s8)
#define arm_convolve_s8_get_buffer_size TG_V(arm_convolve_s8_get_buffer_size)
#define arm_convolve_wrapper_s8 TG_V(arm_convolve_wrapper_s8)
#define arm_convolve_wrapper_s8_get_buffer_size TG_V(arm_convolve_wrapper_s8_get_buffer_size)
#define arm_convolve_wrapper_s8_get_buffer_size_dsp TG_V(arm_convolve_wrapper_s8_get_buffer_size_dsp)
#define arm_convolve_wrapper_s8_get_buffer_size_mve TG_V(arm_convolve_wrapper_s8_get_buffer_size_mve)
#define arm_depthwise_conv_3x3_s8 TG_V(arm_depthwise_conv_3x3_s8)
#define arm_depthwise_conv_s8 TG_V(arm_depthwise_conv_s8)
#define arm_depthwise_conv_s8_opt TG_V(arm_depthwise_conv_s8_opt)
#define arm_depthwise_conv_s8_opt_get_buffer_size TG_V(arm_depthwise_conv_s8_opt_get_buffer_size)
#define arm_depthwise_conv_wrapper_s8 TG_V(arm_depthwise_conv_wrapper_s8)
#define arm_depthwise_conv_wrapper_s8_get_buffer_size TG_V(arm_depthwise_conv_wrapper_s8_get_buffer_size)
#define arm_depthwise_conv_wrapper_s8_get_buffer_size_dsp TG_V(arm_depthwise_conv_wrapper_s8_get_buffer_size_dsp)
#define arm_depthwise_conv_wrapper_s8_get_buffer_size_mve TG_V(arm_depthwise_conv_wrapper_s8_get_buffer_size_mve)
#define arm_elementwise_add_s16 TG_V(arm_elementwise_add_s16)
#define arm_elementwise_add_s8 TG_V(arm_elementwise_add_s8)
#define arm_elementwise_mul_s16 TG_V(arm_elementwise_mul_s16)
#define arm_elementwise_mul_s8 TG_V(arm_elementwise_mul_s8)
#define arm_fully_connected_per_channel_s8 TG_V(arm_fully_connected_per_channel_s8)
#define arm_fully_connected_s8 TG_V(arm_fully_connected_s8)
#define arm_fully_connected_s8_get_buffer_size TG_V(arm_fully_connected_s8_get_buffer_size)
#define arm_fully_connected_s8_get_buffer_size_dsp TG_V(arm_fully_connected_s8_get_buffer_size_dsp)
#define arm_fully_connected_s8_get_buffer_size_mve TG_V(arm_fully_connected_s8_get_buffer_size_mve)
#define arm_fully_connected_wrapper_s8 TG_V(arm_fully_connected_wrapper_s8)
#define arm_max_pool_s16 TG_V(arm_max_pool_s16)
#define arm_max_pool_s8 TG_V(arm_max_pool_s8)
#define arm_maximum_s8 TG_V(arm_maximum_s8)
#define arm_minimum_s8 TG_V(arm_minimum_s8)
#define arm_pad_s8 TG_V(arm_pad_s8)
#define arm_reshape_s8 TG_V(arm_reshape_s8)
#define arm_softmax_s8 TG_V(arm_softmax_s8)
#define arm_transpose_conv_s8 TG_V(arm_transpose_conv_s8)
#define arm_transpose_conv_s8_get_buffer_size TG_V(arm_transpose_conv_s8_get_buffer_size)
#define arm_transpose_conv_s8_get_buffer_size_mve TG_V(arm_transpose_conv_s8_get_buffer_size_mve)
#define arm_transpose_conv_s8_get_reverse_conv_buffer_size TG_V(arm_transpose_conv_s8_get_reverse_conv_buffer_size)
#define arm_transpose_conv_wrapper_s8 TG_V(arm_transpose_conv_wrapper_s8)
#define arm_transpose_s8 TG_V(arm_transpose_s8)
#define tg_accumulate_taps TG_V(accumulate_taps)
#define tg_convolve TG_V(convolve)
#define tg_depthwise_convolve TG_V(depthwise_convolve)
#define tg_requantize TG_V(requantize)

#endif
