/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Types of the CMSIS-NN int8 interface, as far as tinygen's portable kernels implement it. Names, order and types of
 * all members are CMSIS-NN's: a program compiles with this header or with Arm's, without a change.
 *
 * The API (names, arguments, meaning) is Arm's CMSIS-NN (github.com/ARM-software/CMSIS-NN, Apache-2.0); the
 * implementation is tinygen's, from the arithmetic.
 */
#ifndef ARM_NN_TYPES_H
#define ARM_NN_TYPES_H

#include <stdbool.h>
#include <stdint.h>

/** What a kernel returns. */
typedef enum {
    ARM_CMSIS_NN_SUCCESS = 0,
    ARM_CMSIS_NN_ARG_ERROR = -1,     /**< the arguments break a rule of the function */
    ARM_CMSIS_NN_NO_IMPL_ERROR = -2, /**< valid, but not implemented here */
    ARM_CMSIS_NN_FAILURE = -3,
} arm_cmsis_nn_status;

/** A width and a height. */
typedef struct {
    int32_t w;
    int32_t h;
} cmsis_nn_tile;

/** Scratch memory. The portable kernels need none: `buf` may be NULL and its contents are never touched. */
typedef struct {
    void *buf;
    int32_t size; /**< in bytes */
} cmsis_nn_context;

/** A shape: NHWC for activations, OHWI for filters (n holds the output channels). */
typedef struct {
    int32_t n;
    int32_t h;
    int32_t w;
    int32_t c;
} cmsis_nn_dims;

/** Requantization with one Q31 multiplier and one shift (positive: left) per output channel. */
typedef struct {
    int32_t *multiplier;
    int32_t *shift;
} cmsis_nn_per_channel_quant_params;

/** Requantization with one Q31 multiplier and one shift (positive: left) for the whole tensor. */
typedef struct {
    int32_t multiplier;
    int32_t shift;
} cmsis_nn_per_tensor_quant_params;

/** Requantization of either kind: the arrays have one entry per output channel, or one entry. */
typedef struct {
    int32_t *multiplier;
    int32_t *shift;
    int32_t is_per_channel; /**< not 0: per channel */
} cmsis_nn_quant_params;

/** The range that outputs are clamped to, both ends included. */
typedef struct {
    int32_t min;
    int32_t max;
} cmsis_nn_activation;

/** Convolution. Padding is what lies above and to the left, the output size says the rest. Dilation is at least 1. */
typedef struct {
    int32_t input_offset;  /**< minus the zero point of the input */
    int32_t output_offset; /**< the zero point of the output */
    cmsis_nn_tile stride;
    cmsis_nn_tile padding;
    cmsis_nn_tile dilation;
    cmsis_nn_activation activation;
} cmsis_nn_conv_params;

/** Transposed convolution. */
typedef struct {
    int32_t input_offset;  /**< minus the zero point of the input */
    int32_t output_offset; /**< the zero point of the output */
    cmsis_nn_tile stride;
    cmsis_nn_tile padding;
    cmsis_nn_tile padding_offsets; /**< not used: the output size says it */
    cmsis_nn_tile dilation;        /**< not used: 1 */
    cmsis_nn_activation activation;
} cmsis_nn_transpose_conv_params;

/** Depthwise convolution: output channel c reads input channel c / ch_mult. */
typedef struct {
    int32_t input_offset;  /**< minus the zero point of the input */
    int32_t output_offset; /**< the zero point of the output */
    int32_t ch_mult;
    cmsis_nn_tile stride;
    cmsis_nn_tile padding;
    cmsis_nn_tile dilation;
    cmsis_nn_activation activation;
} cmsis_nn_dw_conv_params;

/** Pooling: input and output share one quantization. */
typedef struct {
    cmsis_nn_tile stride;
    cmsis_nn_tile padding;
    cmsis_nn_activation activation;
} cmsis_nn_pool_params;

/** Fully connected. */
typedef struct {
    int32_t input_offset;  /**< minus the zero point of the input */
    int32_t filter_offset; /**< minus the zero point of the filter, 0 for symmetric weights */
    int32_t output_offset; /**< the zero point of the output */
    cmsis_nn_activation activation;
} cmsis_nn_fc_params;

/** Batched matrix product. The operands come transposed as needed: adj_x and adj_y are not used. */
typedef struct {
    const bool adj_x;
    const bool adj_y;
    cmsis_nn_fc_params fc_params;
} cmsis_nn_bmm_params;

/** Transposition of a tensor of rank 1..4: axis i of the output is axis permutations[i] of the input. */
typedef struct {
    const int32_t num_dims;
    const uint32_t *permutations;
} cmsis_nn_transpose_params;

#endif
