/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * classifier: made by tinygen VERSION from classifier.tflite for mps3-an547 (cortex-m55, mve), solver builtin. Do
 * not edit.
 */
#include "classifier.h"

#include <stddef.h>
#include <string.h>

#include "arm_nnfunctions.h"
#include "tg_native_mve.h"
#include "classifier_weights.h"

#if !((defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)))
#error "classifier was planned for cortex-m55 (mve): compile it for that core, or generate it for this one"
#endif
#ifdef CMSIS_NN_USE_SINGLE_ROUNDING
#error "classifier was compiled for double rounding: build without CMSIS_NN_USE_SINGLE_ROUNDING"
#endif

_Static_assert(CLASSIFIER_ARENA_BYTES == 60 && CLASSIFIER_ARENA_ALIGN == 4,
    "classifier.h belongs to another classifier.c");

/* Where values lie in the arena, in bytes from its start. A place is used again when its value is spent. */
enum {
    AT_CONV_2D_1_SCRATCH = 0, /* 36 bytes */
    AT_FULLY_CONNECTED_2 = 0, /* 3 bytes: fully_connected_2, softmax_3 */
    AT_INPUT_0 = 36, /* 16 bytes */
    AT_CONV_2D_1 = 52, /* 8 bytes */
};

/*
 * Profilers and tests may define this: called with each result, or rows of one, as it is written. `number` is an
 * enumerator of enum classifier_status.
 */
#ifndef CLASSIFIER_AFTER_CALL
#define CLASSIFIER_AFTER_CALL(context, number, result, bytes) ((void)0)
#endif

/* What describes a layer, and how its kernel is called. */

struct softmax_layer {
    int32_t num_rows;
    int32_t row_size;
    int32_t mult;
    int32_t shift;
    int32_t diff_min;
};

static void run_tg_native_mve_convolve_relu_s8(const struct tg_native_mve_convolve *layer, const int8_t *input,
    int8_t *output, void *scratch)
{
    tg_native_mve_convolve_relu_s8(layer, input, output, scratch);
}

static void run_tg_native_mve_fully_connected_s8(const struct tg_native_mve_fully_connected *layer, const int8_t *input,
    int8_t *output)
{
    tg_native_mve_fully_connected_s8(layer, input, output);
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
static const struct tg_native_mve_convolve conv_2d_1_layer = {
    .batches = 1,
    .input_height = 4,
    .input_width = 4,
    .depth = 1,
    .kernel_height = 3,
    .kernel_width = 3,
    .stride_height = 2,
    .stride_width = 2,
    .pad_top = 0,
    .pad_left = 0,
    .output_height = 2,
    .output_width = 2,
    .channels = 2,
    .zero_point = -8,
    .output_zero_point = -128,
    .min = -128,
    .max = 127,
    .pixels_at_once = 4,
    .stream = classifier_conv_2d_1_rows,
};

static void conv_2d_1(int8_t *arena)
{
    run_tg_native_mve_convolve_relu_s8(&conv_2d_1_layer, arena + AT_INPUT_0, arena + AT_CONV_2D_1,
        arena + AT_CONV_2D_1_SCRATCH);
}

/*
 * classifier.tflite, operator 2 (FULLY_CONNECTED 'logits')
 * %fully_connected_2 = "tinygen.fully_connected"(%conv_2d_1, %weights, %bias) {clamp = [-128, 127]} :
 * (tensor<1x2x2x2xi8, {scale = 0.0625 : f32, zero_point = -128 : i32}>,
 * tensor<3x8xi8, {scale = 0.03 : f32, zero_point = 0 : i32}>, tensor<3xi32>) ->
 * (tensor<1x3xi8, {scale = 0.125 : f32, zero_point = 3 : i32}>)
 */
static const struct tg_native_mve_fully_connected fully_connected_2_layer = {
    .features = 8,
    .units = 3,
    .zero_point = 3,
    .min = -128,
    .max = 127,
    .stream = classifier_fully_connected_2_vector,
};

static void fully_connected_2(int8_t *arena)
{
    run_tg_native_mve_fully_connected_s8(&fully_connected_2_layer, arena + AT_CONV_2D_1, arena + AT_FULLY_CONNECTED_2);
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

    conv_2d_1(arena);
    CLASSIFIER_AFTER_CALL(context, CLASSIFIER_CONV_2D_1, arena + AT_CONV_2D_1, 8);

    fully_connected_2(arena);
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
