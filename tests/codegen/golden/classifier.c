/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * classifier: made by tinygen VERSION from classifier.tflite for mps2-an386 (cortex-m4, dsp), solver builtin. Do
 * not edit.
 */
#include "classifier.h"

#include <stddef.h>
#include <string.h>

#include "arm_nnfunctions.h"
#include "classifier_weights.h"

#if !(!(defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)) && defined(__ARM_FEATURE_DSP))
#error "classifier was planned for cortex-m4 (dsp): compile it for that core, or generate it for this one"
#endif
#ifdef CMSIS_NN_USE_SINGLE_ROUNDING
#error "classifier was compiled for double rounding: build without CMSIS_NN_USE_SINGLE_ROUNDING"
#endif

_Static_assert(CLASSIFIER_ARENA_BYTES == 24 && CLASSIFIER_ARENA_ALIGN == 4,
    "classifier.h belongs to another classifier.c");

/* Where values lie in the arena, in bytes from its start. A place is used again when its value is spent. */
enum {
    AT_INPUT_0 = 0, /* 16 bytes */
    AT_FULLY_CONNECTED_2 = 0, /* 3 bytes: fully_connected_2, softmax_3 */
    AT_CONV_2D_1 = 16, /* 8 bytes */
};

/*
 * Profilers and tests may define this: called with each result, or rows of one, as it is written. `number` is an
 * enumerator of enum classifier_status.
 */
#ifndef CLASSIFIER_AFTER_CALL
#define CLASSIFIER_AFTER_CALL(context, number, result, bytes) ((void)0)
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

struct fully_connected_layer {
    cmsis_nn_fc_params params;
    cmsis_nn_per_tensor_quant_params requantize;
    cmsis_nn_dims input_dims;
    cmsis_nn_dims filter_dims;
    cmsis_nn_dims bias_dims;
    cmsis_nn_dims output_dims;
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *kernel_sums;
};

struct softmax_layer {
    int32_t num_rows;
    int32_t row_size;
    int32_t mult;
    int32_t shift;
    int32_t diff_min;
};

static int run_arm_convolve_s8(const struct convolve_layer *layer, const int8_t *input, int8_t *output, void *scratch)
{
    const cmsis_nn_context context = {.buf = scratch, .size = layer->scratch_bytes};

    return arm_convolve_s8(&context, &layer->params, &layer->requantize, &layer->input_dims, input, &layer->filter_dims,
        layer->weights, &layer->bias_dims, layer->bias, NULL, &layer->output_dims, output);
}

static int run_arm_fully_connected_s8(const struct fully_connected_layer *layer, const int8_t *input, int8_t *output)
{
    /* The library only reads the kernel sums; the context's pointer lacks const. */
    const cmsis_nn_context context = {.buf = (void *)(uintptr_t)layer->kernel_sums, .size = 0};

    return arm_fully_connected_s8(&context, &layer->params, &layer->requantize, &layer->input_dims, input,
        &layer->filter_dims, layer->weights, &layer->bias_dims, layer->bias, &layer->output_dims, output);
}

static void run_arm_softmax_s8(const struct softmax_layer *layer, const int8_t *input, int8_t *output)
{
    arm_softmax_s8(input, layer->num_rows, layer->row_size, layer->mult, layer->shift, layer->diff_min, output);
}

/*
 * classifier.tflite, operator 1 (CONV_2D 'stem')
 * %conv_2d_1 = "tinygen.conv_2d"(%input_0, %weights, %bias) {stride = [2, 2], padding = [0, 1, 0, 1],
 * clamp = [-128, 127], dilation = [1, 1]} : (tensor<1x4x4x1xi8, {scale = 0.0625 : f32, zero_point = -8 : i32}>,
 * tensor<2x3x3x1xi8, {axis = 0 : i32, channels = 2 : i32}>, tensor<2xi32>) ->
 * (tensor<1x2x2x2xi8, {scale = 0.0625 : f32, zero_point = -128 : i32}>)
 */
static const struct convolve_layer conv_2d_1_layer = {
    .params = {
        .input_offset = 8,
        .output_offset = -128,
        .stride = {.w = 2, .h = 2},
        .padding = {.w = 0, .h = 0},
        .dilation = {.w = 1, .h = 1},
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)classifier_conv_2d_1_multiplier,
        .shift = (int32_t *)(uintptr_t)classifier_conv_2d_1_shift,
    },
    .input_dims = {.n = 1, .h = 4, .w = 4, .c = 1},
    .filter_dims = {.n = 2, .h = 3, .w = 3, .c = 1},
    .bias_dims = {.c = 2},
    .output_dims = {.n = 1, .h = 2, .w = 2, .c = 2},
    .weights = classifier_conv_2d_1_weights,
    .bias = classifier_conv_2d_1_bias,
    .scratch_bytes = 0,
};

static int conv_2d_1(int8_t *arena)
{
    return run_arm_convolve_s8(&conv_2d_1_layer, arena + AT_INPUT_0, arena + AT_CONV_2D_1, NULL);
}

/*
 * classifier.tflite, operator 2 (FULLY_CONNECTED 'logits')
 * %fully_connected_2 = "tinygen.fully_connected"(%conv_2d_1, %weights, %bias) {clamp = [-128, 127]} :
 * (tensor<1x2x2x2xi8, {scale = 0.0625 : f32, zero_point = -128 : i32}>,
 * tensor<3x8xi8, {scale = 0.03 : f32, zero_point = 0 : i32}>, tensor<3xi32>) ->
 * (tensor<1x3xi8, {scale = 0.125 : f32, zero_point = 3 : i32}>)
 */
static const struct fully_connected_layer fully_connected_2_layer = {
    .params = {
        .input_offset = 128,
        .filter_offset = 0,
        .output_offset = 3,
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {.multiplier = 2061584256, .shift = -6},
    .input_dims = {.n = 1, .h = 1, .w = 1, .c = 8},
    .filter_dims = {.n = 8, .h = 1, .w = 1, .c = 3},
    .bias_dims = {.c = 3},
    .output_dims = {.n = 1, .h = 1, .w = 1, .c = 3},
    .weights = classifier_fully_connected_2_weights,
    .bias = classifier_fully_connected_2_bias,
    .kernel_sums = NULL,
};

static int fully_connected_2(int8_t *arena)
{
    return run_arm_fully_connected_s8(&fully_connected_2_layer, arena + AT_CONV_2D_1, arena + AT_FULLY_CONNECTED_2);
}

/*
 * classifier.tflite, operator 3 (SOFTMAX 'probabilities')
 * %softmax_3 = "tinygen.softmax"(%fully_connected_2) {beta = 1.0} :
 * (tensor<1x3xi8, {scale = 0.125 : f32, zero_point = 3 : i32}>) ->
 * (tensor<1x3xi8, {scale = 0.00390625 : f32, zero_point = -128 : i32}>)
 */
static const struct softmax_layer softmax_3_layer = {
    .num_rows = 1,
    .row_size = 3,
    .mult = 1073741824,
    .shift = 24,
    .diff_min = -124,
};

static void softmax_3(int8_t *arena)
{
    run_arm_softmax_s8(&softmax_3_layer, arena + AT_FULLY_CONNECTED_2, arena + AT_FULLY_CONNECTED_2);
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

int classifier_init(classifier_context *context, void *arena)
{
    if (arena == NULL || (uintptr_t)arena % CLASSIFIER_ARENA_ALIGN != 0) {
        return -1;
    }
    context->arena = untyped(arena);
    return 0;
}

int8_t *classifier_input(const classifier_context *context, int index)
{
    if (index == 0) {
        return context->arena + AT_INPUT_0;
    }
    return NULL;
}

int classifier_invoke(classifier_context *context)
{
    int8_t *const arena = context->arena;

    if (conv_2d_1(arena) != 0) {
        return CLASSIFIER_CONV_2D_1;
    }
    CLASSIFIER_AFTER_CALL(context, CLASSIFIER_CONV_2D_1, arena + AT_CONV_2D_1, 8);

    if (fully_connected_2(arena) != 0) {
        return CLASSIFIER_FULLY_CONNECTED_2;
    }
    CLASSIFIER_AFTER_CALL(context, CLASSIFIER_FULLY_CONNECTED_2, arena + AT_FULLY_CONNECTED_2, 3);

    softmax_3(arena);
    CLASSIFIER_AFTER_CALL(context, CLASSIFIER_SOFTMAX_3, arena + AT_FULLY_CONNECTED_2, 3);
    return 0;
}

const int8_t *classifier_output(const classifier_context *context, int index)
{
    if (index == 0) {
        return context->arena + AT_FULLY_CONNECTED_2;
    }
    return NULL;
}

int classifier_run(const int8_t *input0, int8_t *output0)
{
    static _Alignas(CLASSIFIER_ARENA_ALIGN) int8_t arena[CLASSIFIER_ARENA_BYTES]
#ifdef CLASSIFIER_ARENA_SECTION
        __attribute__((section(CLASSIFIER_ARENA_SECTION)))
#endif
        ;
    classifier_context context = {.arena = untyped(arena)};
    int status;

    memcpy(context.arena + AT_INPUT_0, input0, CLASSIFIER_INPUT0_BYTES);
    status = classifier_invoke(&context);
    if (status != 0) {
        return status;
    }
    memcpy(output0, context.arena + AT_FULLY_CONNECTED_2, CLASSIFIER_OUTPUT0_BYTES);
    return 0;
}
