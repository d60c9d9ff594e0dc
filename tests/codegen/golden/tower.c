/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * tower: made by tinygen VERSION from tower.tflite for mps2-an386 (cortex-m4, dsp), solver builtin. Do not edit.
 */
#include "tower.h"

#include <stddef.h>
#include <string.h>

#include "arm_nnfunctions.h"
#include "tg_running_sum.h"
#include "tower_weights.h"

#if !(!(defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)) && defined(__ARM_FEATURE_DSP))
#error "tower was planned for cortex-m4 (dsp): compile it for that core, or generate it for this one"
#endif
#ifdef CMSIS_NN_USE_SINGLE_ROUNDING
#error "tower was compiled for double rounding: build without CMSIS_NN_USE_SINGLE_ROUNDING"
#endif

_Static_assert(TOWER_ARENA_BYTES == 132 && TOWER_ARENA_ALIGN == 4, "tower.h belongs to another tower.c");

/* Where values lie in the arena, in bytes from its start. A place is used again when its value is spent. */
enum {
    AT_AVERAGE_POOL_2D_3_SUMS = 0, /* 16 bytes */
    AT_INPUT_0 = 12, /* 64 bytes */
    AT_AVERAGE_POOL_2D_3 = 16, /* 4 bytes */
    AT_CONV_2D_2 = 76, /* 16 bytes */
    AT_CONV_2D_1 = 84, /* 48 bytes */
};

/*
 * Profilers and tests may define this: called with each result, or rows of one, as it is written. `number` is an
 * enumerator of enum tower_status.
 */
#ifndef TOWER_AFTER_CALL
#define TOWER_AFTER_CALL(context, number, result, bytes) ((void)0)
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

struct sum_rows_layer {
    int32_t pixels;
    int32_t channels;
    int32_t is_first; /* the sums start at 0 */
};

struct divide_sums_layer {
    int32_t channels;
    int32_t count;
    int32_t min;
    int32_t max;
};

static int run_arm_convolve_s8(const struct convolve_layer *layer, const int8_t *input, int8_t *output, void *scratch)
{
    const cmsis_nn_context context = {.buf = scratch, .size = layer->scratch_bytes};

    return arm_convolve_s8(&context, &layer->params, &layer->requantize, &layer->input_dims, input, &layer->filter_dims,
        layer->weights, &layer->bias_dims, layer->bias, NULL, &layer->output_dims, output);
}

static void run_tg_sum_rows_s8(const struct sum_rows_layer *layer, const int8_t *input, int32_t *sums)
{
    if (layer->is_first != 0) {
        for (int32_t i = 0; i < layer->channels; ++i) {
            sums[i] = 0;
        }
    }
    tg_sum_rows_s8(input, layer->pixels, layer->channels, sums);
}

static void run_tg_divide_sums_s8(const struct divide_sums_layer *layer, const int32_t *sums, int8_t *output)
{
    tg_divide_sums_s8(sums, layer->channels, layer->count, layer->min, layer->max, output);
}

/*
 * Operators 1 to 3, row by row. Bytes of each value that are kept at a time:
 *       48  conv_2d_1
 *       16  conv_2d_2
 */

/*
 * tower.tflite, operator 1 (CONV_2D 'first')
 * %conv_2d_1 = "tinygen.conv_2d"(%input_0, %weights, %bias) {stride = [1, 1], padding = [1, 1, 1, 1],
 * clamp = [-128, 127], dilation = [1, 1]} : (tensor<1x16x4x1xi8, {scale = 0.0625 : f32, zero_point = -8 : i32}>,
 * tensor<4x3x3x1xi8, {scale = 0.01 : f32, zero_point = 0 : i32}>, tensor<4xi32>) ->
 * (tensor<1x16x4x4xi8, {scale = 0.0625 : f32, zero_point = -128 : i32}>)
 */

/* Row 0. */
static const struct convolve_layer conv_2d_1_layer = {
    .params = {
        .input_offset = 8,
        .output_offset = -128,
        .stride = {.w = 1, .h = 1},
        .padding = {.w = 1, .h = 1},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)tower_conv_2d_1_multiplier,
        .shift = (int32_t *)(uintptr_t)tower_conv_2d_1_shift,
    },
    .input_dims = {.n = 1, .h = 2, .w = 4, .c = 1},
    .filter_dims = {.n = 4, .h = 3, .w = 3, .c = 1},
    .bias_dims = {.c = 4},
    .output_dims = {.n = 1, .h = 1, .w = 4, .c = 4},
    .weights = tower_conv_2d_1_weights,
    .bias = tower_conv_2d_1_bias,
    .scratch_bytes = 0,
};

/* Rows 1 to 14. */
static const struct convolve_layer conv_2d_1_layer_1 = {
    .params = {
        .input_offset = 8,
        .output_offset = -128,
        .stride = {.w = 1, .h = 1},
        .padding = {.w = 1, .h = 0},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)tower_conv_2d_1_multiplier,
        .shift = (int32_t *)(uintptr_t)tower_conv_2d_1_shift,
    },
    .input_dims = {.n = 1, .h = 3, .w = 4, .c = 1},
    .filter_dims = {.n = 4, .h = 3, .w = 3, .c = 1},
    .bias_dims = {.c = 4},
    .output_dims = {.n = 1, .h = 1, .w = 4, .c = 4},
    .weights = tower_conv_2d_1_weights,
    .bias = tower_conv_2d_1_bias,
    .scratch_bytes = 0,
};

/* Row 15. */
static const struct convolve_layer conv_2d_1_layer_2 = {
    .params = {
        .input_offset = 8,
        .output_offset = -128,
        .stride = {.w = 1, .h = 1},
        .padding = {.w = 1, .h = 0},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)tower_conv_2d_1_multiplier,
        .shift = (int32_t *)(uintptr_t)tower_conv_2d_1_shift,
    },
    .input_dims = {.n = 1, .h = 2, .w = 4, .c = 1},
    .filter_dims = {.n = 4, .h = 3, .w = 3, .c = 1},
    .bias_dims = {.c = 4},
    .output_dims = {.n = 1, .h = 1, .w = 4, .c = 4},
    .weights = tower_conv_2d_1_weights,
    .bias = tower_conv_2d_1_bias,
    .scratch_bytes = 0,
};

/*
 * tower.tflite, operator 2 (CONV_2D 'second')
 * %conv_2d_2 = "tinygen.conv_2d"(%conv_2d_1, %weights, %bias) {stride = [1, 1], padding = [1, 1, 1, 1],
 * clamp = [-128, 127], dilation = [1, 1]} :
 * (tensor<1x16x4x4xi8, {scale = 0.0625 : f32, zero_point = -128 : i32}>,
 * tensor<4x3x3x4xi8, {scale = 0.01 : f32, zero_point = 0 : i32}>, tensor<4xi32>) ->
 * (tensor<1x16x4x4xi8, {scale = 0.0625 : f32, zero_point = -128 : i32}>)
 */

/* Row 0. */
static const struct convolve_layer conv_2d_2_layer = {
    .params = {
        .input_offset = 128,
        .output_offset = -128,
        .stride = {.w = 1, .h = 1},
        .padding = {.w = 1, .h = 1},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)tower_conv_2d_1_multiplier,
        .shift = (int32_t *)(uintptr_t)tower_conv_2d_1_shift,
    },
    .input_dims = {.n = 1, .h = 2, .w = 4, .c = 4},
    .filter_dims = {.n = 4, .h = 3, .w = 3, .c = 4},
    .bias_dims = {.c = 4},
    .output_dims = {.n = 1, .h = 1, .w = 4, .c = 4},
    .weights = tower_conv_2d_2_weights,
    .bias = tower_conv_2d_1_bias,
    .scratch_bytes = 0,
};

/* Rows 1 to 14. */
static const struct convolve_layer conv_2d_2_layer_1 = {
    .params = {
        .input_offset = 128,
        .output_offset = -128,
        .stride = {.w = 1, .h = 1},
        .padding = {.w = 1, .h = 0},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)tower_conv_2d_1_multiplier,
        .shift = (int32_t *)(uintptr_t)tower_conv_2d_1_shift,
    },
    .input_dims = {.n = 1, .h = 3, .w = 4, .c = 4},
    .filter_dims = {.n = 4, .h = 3, .w = 3, .c = 4},
    .bias_dims = {.c = 4},
    .output_dims = {.n = 1, .h = 1, .w = 4, .c = 4},
    .weights = tower_conv_2d_2_weights,
    .bias = tower_conv_2d_1_bias,
    .scratch_bytes = 0,
};

/* Row 15. */
static const struct convolve_layer conv_2d_2_layer_2 = {
    .params = {
        .input_offset = 128,
        .output_offset = -128,
        .stride = {.w = 1, .h = 1},
        .padding = {.w = 1, .h = 0},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)tower_conv_2d_1_multiplier,
        .shift = (int32_t *)(uintptr_t)tower_conv_2d_1_shift,
    },
    .input_dims = {.n = 1, .h = 2, .w = 4, .c = 4},
    .filter_dims = {.n = 4, .h = 3, .w = 3, .c = 4},
    .bias_dims = {.c = 4},
    .output_dims = {.n = 1, .h = 1, .w = 4, .c = 4},
    .weights = tower_conv_2d_2_weights,
    .bias = tower_conv_2d_1_bias,
    .scratch_bytes = 0,
};

/*
 * tower.tflite, operator 3 (AVERAGE_POOL_2D 'mean')
 * %average_pool_2d_3 = "tinygen.average_pool_2d"(%conv_2d_2) {stride = [1, 1], padding = [0, 0, 0, 0],
 * clamp = [-128, 127], kernel = [16, 4], dilation = [1, 1]} :
 * (tensor<1x16x4x4xi8, {scale = 0.0625 : f32, zero_point = -128 : i32}>) ->
 * (tensor<1x1x1x4xi8, {scale = 0.0625 : f32, zero_point = -128 : i32}>)
 */

/* Input row 0. */
static const struct sum_rows_layer average_pool_2d_3_layer = {
    .pixels = 4,
    .channels = 4,
    .is_first = 1,
};

/* Input rows 1 to 15. */
static const struct sum_rows_layer average_pool_2d_3_layer_1 = {
    .pixels = 4,
    .channels = 4,
    .is_first = 0,
};

static const struct divide_sums_layer average_pool_2d_3_layer_2 = {
    .channels = 4,
    .count = 64,
    .min = -128,
    .max = 127,
};

static int operators_1_to_3(tower_context *context)
{
    int8_t *const arena = context->arena;

    if (run_arm_convolve_s8(&conv_2d_1_layer, arena + AT_INPUT_0, arena + AT_CONV_2D_1 + 16, NULL) != 0) {
        return TOWER_CONV_2D_1;
    }
    TOWER_AFTER_CALL(context, TOWER_CONV_2D_1, arena + AT_CONV_2D_1 + 16, 16);
    if (run_arm_convolve_s8(&conv_2d_1_layer_1, arena + AT_INPUT_0, arena + AT_CONV_2D_1 + 32, NULL) != 0) {
        return TOWER_CONV_2D_1;
    }
    TOWER_AFTER_CALL(context, TOWER_CONV_2D_1, arena + AT_CONV_2D_1 + 32, 16);
    if (run_arm_convolve_s8(&conv_2d_2_layer, arena + AT_CONV_2D_1 + 16, arena + AT_CONV_2D_2, NULL) != 0) {
        return TOWER_CONV_2D_2;
    }
    TOWER_AFTER_CALL(context, TOWER_CONV_2D_2, arena + AT_CONV_2D_2, 16);
    run_tg_sum_rows_s8(&average_pool_2d_3_layer, arena + AT_CONV_2D_2,
        (int32_t *)(void *)(arena + AT_AVERAGE_POOL_2D_3_SUMS));
    TOWER_AFTER_CALL(context, TOWER_AVERAGE_POOL_2D_3, arena + AT_AVERAGE_POOL_2D_3_SUMS, 16);

    for (int32_t i = 0; i < 13; ++i) {
        memmove(arena + AT_CONV_2D_1, arena + AT_CONV_2D_1 + 16, 32); /* conv_2d_1: rows move up */
        if (run_arm_convolve_s8(&conv_2d_1_layer_1, arena + AT_INPUT_0 + 4 + 4 * i, arena + AT_CONV_2D_1 + 32,
            NULL) != 0) {
            return TOWER_CONV_2D_1;
        }
        TOWER_AFTER_CALL(context, TOWER_CONV_2D_1, arena + AT_CONV_2D_1 + 32, 16);
        if (run_arm_convolve_s8(&conv_2d_2_layer_1, arena + AT_CONV_2D_1, arena + AT_CONV_2D_2, NULL) != 0) {
            return TOWER_CONV_2D_2;
        }
        TOWER_AFTER_CALL(context, TOWER_CONV_2D_2, arena + AT_CONV_2D_2, 16);
        run_tg_sum_rows_s8(&average_pool_2d_3_layer_1, arena + AT_CONV_2D_2,
            (int32_t *)(void *)(arena + AT_AVERAGE_POOL_2D_3_SUMS));
        TOWER_AFTER_CALL(context, TOWER_AVERAGE_POOL_2D_3, arena + AT_AVERAGE_POOL_2D_3_SUMS, 16);
    }
    memmove(arena + AT_CONV_2D_1, arena + AT_CONV_2D_1 + 16, 32); /* conv_2d_1: rows move up */
    if (run_arm_convolve_s8(&conv_2d_1_layer_2, arena + AT_INPUT_0 + 56, arena + AT_CONV_2D_1 + 32, NULL) != 0) {
        return TOWER_CONV_2D_1;
    }
    TOWER_AFTER_CALL(context, TOWER_CONV_2D_1, arena + AT_CONV_2D_1 + 32, 16);
    if (run_arm_convolve_s8(&conv_2d_2_layer_1, arena + AT_CONV_2D_1, arena + AT_CONV_2D_2, NULL) != 0) {
        return TOWER_CONV_2D_2;
    }
    TOWER_AFTER_CALL(context, TOWER_CONV_2D_2, arena + AT_CONV_2D_2, 16);
    run_tg_sum_rows_s8(&average_pool_2d_3_layer_1, arena + AT_CONV_2D_2,
        (int32_t *)(void *)(arena + AT_AVERAGE_POOL_2D_3_SUMS));
    TOWER_AFTER_CALL(context, TOWER_AVERAGE_POOL_2D_3, arena + AT_AVERAGE_POOL_2D_3_SUMS, 16);
    if (run_arm_convolve_s8(&conv_2d_2_layer_2, arena + AT_CONV_2D_1 + 16, arena + AT_CONV_2D_2, NULL) != 0) {
        return TOWER_CONV_2D_2;
    }
    TOWER_AFTER_CALL(context, TOWER_CONV_2D_2, arena + AT_CONV_2D_2, 16);
    run_tg_sum_rows_s8(&average_pool_2d_3_layer_1, arena + AT_CONV_2D_2,
        (int32_t *)(void *)(arena + AT_AVERAGE_POOL_2D_3_SUMS));
    TOWER_AFTER_CALL(context, TOWER_AVERAGE_POOL_2D_3, arena + AT_AVERAGE_POOL_2D_3_SUMS, 16);
    run_tg_divide_sums_s8(&average_pool_2d_3_layer_2, (int32_t *)(void *)(arena + AT_AVERAGE_POOL_2D_3_SUMS),
        arena + AT_AVERAGE_POOL_2D_3);
    TOWER_AFTER_CALL(context, TOWER_AVERAGE_POOL_2D_3, arena + AT_AVERAGE_POOL_2D_3, 4);
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

int tower_init(tower_context *context, void *arena)
{
    if (arena == NULL || (uintptr_t)arena % TOWER_ARENA_ALIGN != 0) {
        return -1;
    }
    context->arena = untyped(arena);
    return 0;
}

int8_t *tower_input(const tower_context *context, int index)
{
    if (index == 0) {
        return context->arena + AT_INPUT_0;
    }
    return NULL;
}

int tower_invoke(tower_context *context)
{
    int status;

    status = operators_1_to_3(context);
    if (status != 0) {
        return status;
    }
    return 0;
}

const int8_t *tower_output(const tower_context *context, int index)
{
    if (index == 0) {
        return context->arena + AT_AVERAGE_POOL_2D_3;
    }
    return NULL;
}

int tower_run(const int8_t *input0, int8_t *output0)
{
    static _Alignas(TOWER_ARENA_ALIGN) int8_t arena[TOWER_ARENA_BYTES]
#ifdef TOWER_ARENA_SECTION
        __attribute__((section(TOWER_ARENA_SECTION)))
#endif
        ;
    tower_context context = {.arena = untyped(arena)};
    int status;

    memcpy(context.arena + AT_INPUT_0, input0, TOWER_INPUT0_BYTES);
    status = tower_invoke(&context);
    if (status != 0) {
        return status;
    }
    memcpy(output0, context.arena + AT_AVERAGE_POOL_2D_3, TOWER_OUTPUT0_BYTES);
    return 0;
}
