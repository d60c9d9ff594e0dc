/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * net: made by tinygen VERSION from net.tflite for mps2-an386 (cortex-m4, dsp), solver builtin. Do not edit.
 */
#include "net.h"

#include <stddef.h>
#include <string.h>

#include "arm_nnfunctions.h"
#include "net_weights.h"

#if !(!(defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)) && defined(__ARM_FEATURE_DSP))
#error "net was planned for cortex-m4 (dsp): compile it for that core, or generate it for this one"
#endif
#ifdef CMSIS_NN_USE_SINGLE_ROUNDING
#error "net was compiled for double rounding: build without CMSIS_NN_USE_SINGLE_ROUNDING"
#endif

_Static_assert(NET_ARENA_BYTES == 250 && NET_ARENA_ALIGN == 4, "net.h belongs to another net.c");

/* Where values lie in the arena, in bytes from its start. A place is used again when its value is spent. */
enum {
    AT_CONV_2D_2 = 0, /* 140 bytes */
    AT_CONV_2D_1 = 136, /* 72 bytes */
    AT_INPUT_0 = 196, /* 54 bytes */
};

/*
 * Profilers and tests may define this: called with each result, or rows of one, as it is written. `number` is an
 * enumerator of enum net_status.
 */
#ifndef NET_AFTER_CALL
#define NET_AFTER_CALL(context, number, result, bytes) ((void)0)
#endif

/* What describes a layer, and how its kernel is called. */

struct convolve_layer {
    cmsis_nn_conv_params params;
    cmsis_nn_per_channel_quant_params requantize;
    cmsis_nn_dims input_dims;
    cmsis_nn_dims filter_dims;
    cmsis_nn_dims bias_dims;
    cmsis_nn_dims output_dims;
    const int8_t *weights;
    const int32_t *bias;
    int32_t scratch_bytes;
};

static int run_arm_convolve_s8(const struct convolve_layer *layer, const int8_t *input, int8_t *output, void *scratch)
{
    const cmsis_nn_context context = {.buf = scratch, .size = layer->scratch_bytes};

    return arm_convolve_s8(&context, &layer->params, &layer->requantize, &layer->input_dims, input, &layer->filter_dims,
        layer->weights, &layer->bias_dims, layer->bias, NULL, &layer->output_dims, output);
}

/*
 * Operators 1 to 2, row by row, in 3 strips of columns. Bytes of each value that are kept at a time:
 *       72  conv_2d_1
 */

/*
 * net, operator 1 (Conv2D)
 * %conv_2d_1 = "tinygen.conv_2d"(%input_0, %weights, %bias) {stride = [1, 1], padding = [1, 1, 1, 1],
 * clamp = [-128, 127], dilation = [1, 1]} : (tensor<1x14x19x2xi8, {scale = 0.05 : f32, zero_point = -3 : i32}>,
 * tensor<3x3x3x2xi8, {axis = 0 : i32, channels = 3 : i32}>, tensor<3xi32, {axis = 0 : i32, channels = 3 : i32}>)
 * -> (tensor<1x14x19x3xi8, {scale = 0.05 : f32, zero_point = -3 : i32}>)
 */

/* Row 0, columns 0 to 5. */
static const struct convolve_layer conv_2d_1_layer = {
    .params = {
        .input_offset = 3,
        .output_offset = -3,
        .stride = {.w = 1, .h = 1},
        .padding = {.w = 1, .h = 1},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)net_conv_2d_1_multiplier,
        .shift = (int32_t *)(uintptr_t)net_conv_2d_1_shift,
    },
    .input_dims = {.n = 1, .h = 2, .w = 7, .c = 2},
    .filter_dims = {.n = 3, .h = 3, .w = 3, .c = 2},
    .bias_dims = {.c = 3},
    .output_dims = {.n = 1, .h = 1, .w = 6, .c = 3},
    .weights = net_conv_2d_1_weights,
    .bias = net_conv_2d_1_bias,
    .scratch_bytes = 0,
};

/* Rows 1 to 12, columns 0 to 5. */
static const struct convolve_layer conv_2d_1_layer_1 = {
    .params = {
        .input_offset = 3,
        .output_offset = -3,
        .stride = {.w = 1, .h = 1},
        .padding = {.w = 1, .h = 0},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)net_conv_2d_1_multiplier,
        .shift = (int32_t *)(uintptr_t)net_conv_2d_1_shift,
    },
    .input_dims = {.n = 1, .h = 3, .w = 7, .c = 2},
    .filter_dims = {.n = 3, .h = 3, .w = 3, .c = 2},
    .bias_dims = {.c = 3},
    .output_dims = {.n = 1, .h = 1, .w = 6, .c = 3},
    .weights = net_conv_2d_1_weights,
    .bias = net_conv_2d_1_bias,
    .scratch_bytes = 0,
};

/* Row 13, columns 0 to 5. */
static const struct convolve_layer conv_2d_1_layer_2 = {
    .params = {
        .input_offset = 3,
        .output_offset = -3,
        .stride = {.w = 1, .h = 1},
        .padding = {.w = 1, .h = 0},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)net_conv_2d_1_multiplier,
        .shift = (int32_t *)(uintptr_t)net_conv_2d_1_shift,
    },
    .input_dims = {.n = 1, .h = 2, .w = 7, .c = 2},
    .filter_dims = {.n = 3, .h = 3, .w = 3, .c = 2},
    .bias_dims = {.c = 3},
    .output_dims = {.n = 1, .h = 1, .w = 6, .c = 3},
    .weights = net_conv_2d_1_weights,
    .bias = net_conv_2d_1_bias,
    .scratch_bytes = 0,
};

/* Row 0, columns 5 to 11. */
static const struct convolve_layer conv_2d_1_layer_3 = {
    .params = {
        .input_offset = 3,
        .output_offset = -3,
        .stride = {.w = 1, .h = 1},
        .padding = {.w = 0, .h = 1},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)net_conv_2d_1_multiplier,
        .shift = (int32_t *)(uintptr_t)net_conv_2d_1_shift,
    },
    .input_dims = {.n = 1, .h = 2, .w = 9, .c = 2},
    .filter_dims = {.n = 3, .h = 3, .w = 3, .c = 2},
    .bias_dims = {.c = 3},
    .output_dims = {.n = 1, .h = 1, .w = 7, .c = 3},
    .weights = net_conv_2d_1_weights,
    .bias = net_conv_2d_1_bias,
    .scratch_bytes = 0,
};

/* Rows 1 to 12, columns 5 to 11. */
static const struct convolve_layer conv_2d_1_layer_4 = {
    .params = {
        .input_offset = 3,
        .output_offset = -3,
        .stride = {.w = 1, .h = 1},
        .padding = {.w = 0, .h = 0},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)net_conv_2d_1_multiplier,
        .shift = (int32_t *)(uintptr_t)net_conv_2d_1_shift,
    },
    .input_dims = {.n = 1, .h = 3, .w = 9, .c = 2},
    .filter_dims = {.n = 3, .h = 3, .w = 3, .c = 2},
    .bias_dims = {.c = 3},
    .output_dims = {.n = 1, .h = 1, .w = 7, .c = 3},
    .weights = net_conv_2d_1_weights,
    .bias = net_conv_2d_1_bias,
    .scratch_bytes = 0,
};

/* Row 13, columns 5 to 11. */
static const struct convolve_layer conv_2d_1_layer_5 = {
    .params = {
        .input_offset = 3,
        .output_offset = -3,
        .stride = {.w = 1, .h = 1},
        .padding = {.w = 0, .h = 0},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)net_conv_2d_1_multiplier,
        .shift = (int32_t *)(uintptr_t)net_conv_2d_1_shift,
    },
    .input_dims = {.n = 1, .h = 2, .w = 9, .c = 2},
    .filter_dims = {.n = 3, .h = 3, .w = 3, .c = 2},
    .bias_dims = {.c = 3},
    .output_dims = {.n = 1, .h = 1, .w = 7, .c = 3},
    .weights = net_conv_2d_1_weights,
    .bias = net_conv_2d_1_bias,
    .scratch_bytes = 0,
};

/* Row 0, columns 11 to 18. */
static const struct convolve_layer conv_2d_1_layer_6 = {
    .params = {
        .input_offset = 3,
        .output_offset = -3,
        .stride = {.w = 1, .h = 1},
        .padding = {.w = 0, .h = 1},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)net_conv_2d_1_multiplier,
        .shift = (int32_t *)(uintptr_t)net_conv_2d_1_shift,
    },
    .input_dims = {.n = 1, .h = 2, .w = 9, .c = 2},
    .filter_dims = {.n = 3, .h = 3, .w = 3, .c = 2},
    .bias_dims = {.c = 3},
    .output_dims = {.n = 1, .h = 1, .w = 8, .c = 3},
    .weights = net_conv_2d_1_weights,
    .bias = net_conv_2d_1_bias,
    .scratch_bytes = 0,
};

/* Rows 1 to 12, columns 11 to 18. */
static const struct convolve_layer conv_2d_1_layer_7 = {
    .params = {
        .input_offset = 3,
        .output_offset = -3,
        .stride = {.w = 1, .h = 1},
        .padding = {.w = 0, .h = 0},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)net_conv_2d_1_multiplier,
        .shift = (int32_t *)(uintptr_t)net_conv_2d_1_shift,
    },
    .input_dims = {.n = 1, .h = 3, .w = 9, .c = 2},
    .filter_dims = {.n = 3, .h = 3, .w = 3, .c = 2},
    .bias_dims = {.c = 3},
    .output_dims = {.n = 1, .h = 1, .w = 8, .c = 3},
    .weights = net_conv_2d_1_weights,
    .bias = net_conv_2d_1_bias,
    .scratch_bytes = 0,
};

/* Row 13, columns 11 to 18. */
static const struct convolve_layer conv_2d_1_layer_8 = {
    .params = {
        .input_offset = 3,
        .output_offset = -3,
        .stride = {.w = 1, .h = 1},
        .padding = {.w = 0, .h = 0},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)net_conv_2d_1_multiplier,
        .shift = (int32_t *)(uintptr_t)net_conv_2d_1_shift,
    },
    .input_dims = {.n = 1, .h = 2, .w = 9, .c = 2},
    .filter_dims = {.n = 3, .h = 3, .w = 3, .c = 2},
    .bias_dims = {.c = 3},
    .output_dims = {.n = 1, .h = 1, .w = 8, .c = 3},
    .weights = net_conv_2d_1_weights,
    .bias = net_conv_2d_1_bias,
    .scratch_bytes = 0,
};

/*
 * net, operator 2 (Conv2D)
 * %conv_2d_2 = "tinygen.conv_2d"(%conv_2d_1, %weights, %bias) {stride = [2, 2], padding = [0, 1, 1, 1],
 * clamp = [-128, 127], dilation = [1, 1]} : (tensor<1x14x19x3xi8, {scale = 0.05 : f32, zero_point = -3 : i32}>,
 * tensor<2x3x3x3xi8, {axis = 0 : i32, channels = 2 : i32}>, tensor<2xi32, {axis = 0 : i32, channels = 2 : i32}>)
 * -> (tensor<1x7x10x2xi8, {scale = 0.05 : f32, zero_point = -3 : i32}>)
 */

/* Rows 0 to 5, columns 0 to 2. */
static const struct convolve_layer conv_2d_2_layer = {
    .params = {
        .input_offset = 3,
        .output_offset = -3,
        .stride = {.w = 2, .h = 2},
        .padding = {.w = 1, .h = 0},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)net_conv_2d_2_multiplier,
        .shift = (int32_t *)(uintptr_t)net_conv_2d_2_shift,
    },
    .input_dims = {.n = 1, .h = 3, .w = 6, .c = 3},
    .filter_dims = {.n = 2, .h = 3, .w = 3, .c = 3},
    .bias_dims = {.c = 2},
    .output_dims = {.n = 1, .h = 1, .w = 3, .c = 2},
    .weights = net_conv_2d_2_weights,
    .bias = net_conv_2d_2_bias,
    .scratch_bytes = 0,
};

/* Row 6, columns 0 to 2. */
static const struct convolve_layer conv_2d_2_layer_1 = {
    .params = {
        .input_offset = 3,
        .output_offset = -3,
        .stride = {.w = 2, .h = 2},
        .padding = {.w = 1, .h = 0},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)net_conv_2d_2_multiplier,
        .shift = (int32_t *)(uintptr_t)net_conv_2d_2_shift,
    },
    .input_dims = {.n = 1, .h = 2, .w = 6, .c = 3},
    .filter_dims = {.n = 2, .h = 3, .w = 3, .c = 3},
    .bias_dims = {.c = 2},
    .output_dims = {.n = 1, .h = 1, .w = 3, .c = 2},
    .weights = net_conv_2d_2_weights,
    .bias = net_conv_2d_2_bias,
    .scratch_bytes = 0,
};

/* Rows 0 to 5, columns 3 to 5. */
static const struct convolve_layer conv_2d_2_layer_2 = {
    .params = {
        .input_offset = 3,
        .output_offset = -3,
        .stride = {.w = 2, .h = 2},
        .padding = {.w = 0, .h = 0},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)net_conv_2d_2_multiplier,
        .shift = (int32_t *)(uintptr_t)net_conv_2d_2_shift,
    },
    .input_dims = {.n = 1, .h = 3, .w = 7, .c = 3},
    .filter_dims = {.n = 2, .h = 3, .w = 3, .c = 3},
    .bias_dims = {.c = 2},
    .output_dims = {.n = 1, .h = 1, .w = 3, .c = 2},
    .weights = net_conv_2d_2_weights,
    .bias = net_conv_2d_2_bias,
    .scratch_bytes = 0,
};

/* Row 6, columns 3 to 5. */
static const struct convolve_layer conv_2d_2_layer_3 = {
    .params = {
        .input_offset = 3,
        .output_offset = -3,
        .stride = {.w = 2, .h = 2},
        .padding = {.w = 0, .h = 0},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)net_conv_2d_2_multiplier,
        .shift = (int32_t *)(uintptr_t)net_conv_2d_2_shift,
    },
    .input_dims = {.n = 1, .h = 2, .w = 7, .c = 3},
    .filter_dims = {.n = 2, .h = 3, .w = 3, .c = 3},
    .bias_dims = {.c = 2},
    .output_dims = {.n = 1, .h = 1, .w = 3, .c = 2},
    .weights = net_conv_2d_2_weights,
    .bias = net_conv_2d_2_bias,
    .scratch_bytes = 0,
};

/* Rows 0 to 5, columns 6 to 9. */
static const struct convolve_layer conv_2d_2_layer_4 = {
    .params = {
        .input_offset = 3,
        .output_offset = -3,
        .stride = {.w = 2, .h = 2},
        .padding = {.w = 0, .h = 0},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)net_conv_2d_2_multiplier,
        .shift = (int32_t *)(uintptr_t)net_conv_2d_2_shift,
    },
    .input_dims = {.n = 1, .h = 3, .w = 8, .c = 3},
    .filter_dims = {.n = 2, .h = 3, .w = 3, .c = 3},
    .bias_dims = {.c = 2},
    .output_dims = {.n = 1, .h = 1, .w = 4, .c = 2},
    .weights = net_conv_2d_2_weights,
    .bias = net_conv_2d_2_bias,
    .scratch_bytes = 0,
};

/* Row 6, columns 6 to 9. */
static const struct convolve_layer conv_2d_2_layer_5 = {
    .params = {
        .input_offset = 3,
        .output_offset = -3,
        .stride = {.w = 2, .h = 2},
        .padding = {.w = 0, .h = 0},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)net_conv_2d_2_multiplier,
        .shift = (int32_t *)(uintptr_t)net_conv_2d_2_shift,
    },
    .input_dims = {.n = 1, .h = 2, .w = 8, .c = 3},
    .filter_dims = {.n = 2, .h = 3, .w = 3, .c = 3},
    .bias_dims = {.c = 2},
    .output_dims = {.n = 1, .h = 1, .w = 4, .c = 2},
    .weights = net_conv_2d_2_weights,
    .bias = net_conv_2d_2_bias,
    .scratch_bytes = 0,
};

/* What differs from strip to strip: bytes of rows, columns, layers. */
struct operators_1_to_2_strip {
    int32_t input_0_row;
    int32_t input_0_first_column;
    int32_t input_0_columns;
    int32_t conv_2d_1_row;
    int32_t conv_2d_2_start;
    int32_t conv_2d_2_row;
    const struct convolve_layer *conv_2d_1_layer;
    const struct convolve_layer *conv_2d_1_layer_1;
    const struct convolve_layer *conv_2d_2_layer;
    const struct convolve_layer *conv_2d_1_layer_2;
    const struct convolve_layer *conv_2d_2_layer_1;
};

static const struct operators_1_to_2_strip operators_1_to_2_strips[3] = {
    {
        .input_0_row = 14,
        .input_0_first_column = 0,
        .input_0_columns = 7,
        .conv_2d_1_row = 18,
        .conv_2d_2_start = 0,
        .conv_2d_2_row = 6,
        .conv_2d_1_layer = &conv_2d_1_layer,
        .conv_2d_1_layer_1 = &conv_2d_1_layer_1,
        .conv_2d_2_layer = &conv_2d_2_layer,
        .conv_2d_1_layer_2 = &conv_2d_1_layer_2,
        .conv_2d_2_layer_1 = &conv_2d_2_layer_1,
    },
    {
        .input_0_row = 18,
        .input_0_first_column = 4,
        .input_0_columns = 9,
        .conv_2d_1_row = 21,
        .conv_2d_2_start = 6,
        .conv_2d_2_row = 6,
        .conv_2d_1_layer = &conv_2d_1_layer_3,
        .conv_2d_1_layer_1 = &conv_2d_1_layer_4,
        .conv_2d_2_layer = &conv_2d_2_layer_2,
        .conv_2d_1_layer_2 = &conv_2d_1_layer_5,
        .conv_2d_2_layer_1 = &conv_2d_2_layer_3,
    },
    {
        .input_0_row = 18,
        .input_0_first_column = 10,
        .input_0_columns = 9,
        .conv_2d_1_row = 24,
        .conv_2d_2_start = 12,
        .conv_2d_2_row = 8,
        .conv_2d_1_layer = &conv_2d_1_layer_6,
        .conv_2d_1_layer_1 = &conv_2d_1_layer_7,
        .conv_2d_2_layer = &conv_2d_2_layer_4,
        .conv_2d_1_layer_2 = &conv_2d_1_layer_8,
        .conv_2d_2_layer_1 = &conv_2d_2_layer_5,
    },
};

/* A strip of columns. Inlined, it would keep all these numbers on the stack. */
static __attribute__((noinline)) int operators_1_to_2_strip(net_context *context,
    const struct operators_1_to_2_strip *strip)
{
    int8_t *const arena = context->arena;

    if (net_fetch_patch(context->user, 0, 1, strip->input_0_first_column, strip->input_0_columns,
        arena + AT_INPUT_0 + strip->input_0_row) != 0) {
        return NET_FETCH_FAILED;
    }
    if (net_fetch_patch(context->user, 1, 1, strip->input_0_first_column, strip->input_0_columns,
        arena + AT_INPUT_0 + 2 * strip->input_0_row) != 0) {
        return NET_FETCH_FAILED;
    }
    if (run_arm_convolve_s8(strip->conv_2d_1_layer, arena + AT_INPUT_0 + strip->input_0_row, arena + AT_CONV_2D_1,
        NULL) != 0) {
        return NET_CONV_2D_1;
    }
    NET_AFTER_CALL(context, NET_CONV_2D_1, arena + AT_CONV_2D_1, (uint32_t)strip->conv_2d_1_row);

    for (int32_t i = 0; i < 6; ++i) {
        memmove(arena + AT_INPUT_0, arena + AT_INPUT_0 + strip->input_0_row,
            (size_t)(2 * strip->input_0_row)); /* input_0: rows move up */
        if (net_fetch_patch(context->user, 2 + 2 * i, 1, strip->input_0_first_column, strip->input_0_columns,
            arena + AT_INPUT_0 + 2 * strip->input_0_row) != 0) {
            return NET_FETCH_FAILED;
        }
        if (run_arm_convolve_s8(strip->conv_2d_1_layer_1, arena + AT_INPUT_0,
            arena + AT_CONV_2D_1 + strip->conv_2d_1_row, NULL) != 0) {
            return NET_CONV_2D_1;
        }
        NET_AFTER_CALL(context, NET_CONV_2D_1, arena + AT_CONV_2D_1 + strip->conv_2d_1_row,
            (uint32_t)strip->conv_2d_1_row);
        memmove(arena + AT_INPUT_0, arena + AT_INPUT_0 + strip->input_0_row,
            (size_t)(2 * strip->input_0_row)); /* input_0: rows move up */
        if (net_fetch_patch(context->user, 3 + 2 * i, 1, strip->input_0_first_column, strip->input_0_columns,
            arena + AT_INPUT_0 + 2 * strip->input_0_row) != 0) {
            return NET_FETCH_FAILED;
        }
        if (run_arm_convolve_s8(strip->conv_2d_1_layer_1, arena + AT_INPUT_0,
            arena + AT_CONV_2D_1 + 2 * strip->conv_2d_1_row, NULL) != 0) {
            return NET_CONV_2D_1;
        }
        NET_AFTER_CALL(context, NET_CONV_2D_1, arena + AT_CONV_2D_1 + 2 * strip->conv_2d_1_row,
            (uint32_t)strip->conv_2d_1_row);
        if (run_arm_convolve_s8(strip->conv_2d_2_layer, arena + AT_CONV_2D_1,
            arena + AT_CONV_2D_2 + strip->conv_2d_2_start + 20 * i, NULL) != 0) {
            return NET_CONV_2D_2;
        }
        NET_AFTER_CALL(context, NET_CONV_2D_2, arena + AT_CONV_2D_2 + strip->conv_2d_2_start + 20 * i,
            (uint32_t)strip->conv_2d_2_row);
        memmove(arena + AT_CONV_2D_1, arena + AT_CONV_2D_1 + 2 * strip->conv_2d_1_row,
            (size_t)strip->conv_2d_1_row); /* conv_2d_1: rows move up */
    }
    if (run_arm_convolve_s8(strip->conv_2d_1_layer_2, arena + AT_INPUT_0 + strip->input_0_row,
        arena + AT_CONV_2D_1 + strip->conv_2d_1_row, NULL) != 0) {
        return NET_CONV_2D_1;
    }
    NET_AFTER_CALL(context, NET_CONV_2D_1, arena + AT_CONV_2D_1 + strip->conv_2d_1_row,
        (uint32_t)strip->conv_2d_1_row);
    if (run_arm_convolve_s8(strip->conv_2d_2_layer_1, arena + AT_CONV_2D_1,
        arena + AT_CONV_2D_2 + 120 + strip->conv_2d_2_start, NULL) != 0) {
        return NET_CONV_2D_2;
    }
    NET_AFTER_CALL(context, NET_CONV_2D_2, arena + AT_CONV_2D_2 + 120 + strip->conv_2d_2_start,
        (uint32_t)strip->conv_2d_2_row);
    return 0;
}

static int operators_1_to_2(net_context *context)
{
    for (int32_t i = 0; i < 3; ++i) {
        const int status = operators_1_to_2_strip(context, &operators_1_to_2_strips[i]);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

/*
 * Memory for bytes, words and floats, one after the other. What it was declared as is hidden here, so that stores alone
 * say what it holds, even for compilers that see the whole program.
 */
static int8_t *untyped(void *memory)
{
    __asm__("" : "+r"(memory));
    return memory;
}

int net_init(net_context *context, void *arena)
{
    if (arena == NULL || (uintptr_t)arena % NET_ARENA_ALIGN != 0) {
        return -1;
    }
    context->arena = untyped(arena);
    return 0;
}

int8_t *net_input(const net_context *context, int index)
{
    (void)context;
    (void)index;
    return NULL;
}

int net_invoke(net_context *context)
{
    int status;

    status = operators_1_to_2(context);
    if (status != 0) {
        return status;
    }
    return 0;
}

const int8_t *net_output(const net_context *context, int index)
{
    if (index == 0) {
        return context->arena + AT_CONV_2D_2;
    }
    return NULL;
}

int net_run(void *user, int8_t *output0)
{
    static _Alignas(NET_ARENA_ALIGN) int8_t arena[NET_ARENA_BYTES]
#ifdef NET_ARENA_SECTION
        __attribute__((section(NET_ARENA_SECTION)))
#endif
        ;
    net_context context = {.arena = untyped(arena), .user = user};
    int status;

    status = net_invoke(&context);
    if (status != 0) {
        return status;
    }
    memcpy(output0, context.arena + AT_CONV_2D_2, NET_OUTPUT0_BYTES);
    return 0;
}
