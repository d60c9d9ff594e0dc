/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * net: made by tinygen VERSION from net.tflite for mps2-an386 (cortex-m4, dsp), solver builtin. Do not edit.
 */
#include "net.h"

#include <stddef.h>
#include <string.h>

#include "arm_nnfunctions.h"
#include "tg_partial_products.h"
#include "net_weights.h"

#if !(!(defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)) && defined(__ARM_FEATURE_DSP))
#error "net was planned for cortex-m4 (dsp): compile it for that core, or generate it for this one"
#endif
#ifdef CMSIS_NN_USE_SINGLE_ROUNDING
#error "net was compiled for double rounding: build without CMSIS_NN_USE_SINGLE_ROUNDING"
#endif

_Static_assert(NET_ARENA_BYTES == 28 && NET_ARENA_ALIGN == 4, "net.h belongs to another net.c");

/* Where values lie in the arena, in bytes from its start. A place is used again when its value is spent. */
enum {
    AT_INPUT_0 = 0, /* 12 bytes */
    AT_FULLY_CONNECTED_2 = 0, /* 2 bytes */
    AT_FULLY_CONNECTED_1 = 12, /* 8 bytes */
    AT_FULLY_CONNECTED_2_SUMS = 20, /* 8 bytes */
};

/*
 * Profilers and tests may define this: called with each result, or rows of one, as it is written. `number` is an
 * enumerator of enum net_status.
 */
#ifndef NET_AFTER_CALL
#define NET_AFTER_CALL(context, number, result, bytes) ((void)0)
#endif

/* What describes a layer, and how its kernel is called. */

struct fully_connected_per_channel_layer {
    cmsis_nn_fc_params params;
    cmsis_nn_per_channel_quant_params requantize;
    cmsis_nn_dims input_dims;
    cmsis_nn_dims filter_dims;
    cmsis_nn_dims bias_dims;
    cmsis_nn_dims output_dims;
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *kernel_sums;
};

struct add_channel_products_layer {
    struct tg_channel_products products;
    int32_t is_first; /* the sums start at 0 */
};

struct scale_products_layer {
    struct tg_scaling scaling;
    int32_t units;
    int32_t vectors;
};

static void run_tg_scale_products_s8(const struct scale_products_layer *layer, const int32_t *sums, int8_t *output)
{
    for (int32_t vector = 0; vector < layer->vectors; ++vector) {
        const int32_t first = vector * layer->units;
        tg_scale_products_s8(&layer->scaling, sums + first, layer->units, output + first);
    }
}

/*
 * Operators 1 to 2, in 8 slices of channels. Bytes of each value that are kept at a time:
 *        8  fully_connected_1
 */

/*
 * net, operator 1 (FullyConnected)
 * %fully_connected_1 = "tinygen.fully_connected"(%input_0, %weights, %bias) {clamp = [-128, 127]} :
 * (tensor<1x12xi8, {scale = 0.05 : f32, zero_point = -3 : i32}>,
 * tensor<64x12xi8, {axis = 0 : i32, channels = 64 : i32}>,
 * tensor<64xi32, {axis = 0 : i32, channels = 64 : i32}>) ->
 * (tensor<1x64xi8, {scale = 0.05 : f32, zero_point = -3 : i32}>)
 */

/* Channels 0 to 63. */
static const struct fully_connected_per_channel_layer fully_connected_1_layer = {
    .params = {
        .input_offset = 3,
        .filter_offset = 0,
        .output_offset = -3,
        .activation = {.min = -128, .max = 127},
    },
    .requantize = {
        .multiplier = (int32_t *)(uintptr_t)net_fully_connected_1_multiplier,
        .shift = (int32_t *)(uintptr_t)net_fully_connected_1_shift,
    },
    .input_dims = {.n = 1, .h = 1, .w = 1, .c = 12},
    .filter_dims = {.n = 12, .h = 1, .w = 1, .c = 8},
    .bias_dims = {.c = 8},
    .output_dims = {.n = 1, .h = 1, .w = 1, .c = 8},
    .weights = net_fully_connected_1_weights,
    .bias = net_fully_connected_1_bias,
    .kernel_sums = NULL,
};

static int run_fully_connected_1(const struct fully_connected_per_channel_layer *layer, int32_t part,
    const int8_t *input, int8_t *output)
{
    const cmsis_nn_per_channel_quant_params requantize = {
        .multiplier = layer->requantize.multiplier + 8 * part,
        .shift = layer->requantize.shift + 8 * part,
    };
    /* The library only reads the kernel sums; the context's pointer lacks const. */
    const cmsis_nn_context context = {.buf = (void *)(uintptr_t)layer->kernel_sums, .size = 0};

    return arm_fully_connected_per_channel_s8(&context, &layer->params, &requantize, &layer->input_dims, input,
        &layer->filter_dims, layer->weights + 96 * part, &layer->bias_dims, layer->bias + 8 * part, &layer->output_dims,
        output);
}

/*
 * net, operator 2 (FullyConnected)
 * %fully_connected_2 = "tinygen.fully_connected"(%fully_connected_1, %weights, %bias) {clamp = [-128, 127]} :
 * (tensor<1x64xi8, {scale = 0.05 : f32, zero_point = -3 : i32}>,
 * tensor<2x64xi8, {axis = 0 : i32, channels = 2 : i32}>, tensor<2xi32, {axis = 0 : i32, channels = 2 : i32}>) ->
 * (tensor<1x2xi8, {scale = 0.05 : f32, zero_point = -3 : i32}>)
 */

/* Input channels 0 to 7. */
static const struct add_channel_products_layer fully_connected_2_layer = {
    .products = {
        .weights = net_fully_connected_2_weights,
        .units = 2,
        .features = 8,
        .vectors = 1,
    },
    .is_first = 1,
};

/* Input channels 8 to 63. */
static const struct add_channel_products_layer fully_connected_2_layer_1 = {
    .products = {
        .weights = net_fully_connected_2_weights,
        .units = 2,
        .features = 8,
        .vectors = 1,
    },
    .is_first = 0,
};

static const struct scale_products_layer fully_connected_2_layer_2 = {
    .scaling = {
        .bias = net_fully_connected_2_bias,
        .multiplier = net_fully_connected_2_multiplier,
        .shift = net_fully_connected_2_shift,
        .zero_point = -3,
        .min = -128,
        .max = 127,
    },
    .units = 2,
    .vectors = 1,
};

static void run_fully_connected_2(const struct add_channel_products_layer *layer, int32_t part, const int8_t *input,
    int32_t *sums)
{
    struct tg_channel_products own = layer->products;

    own.weights += 16 * part;
    if (layer->is_first) {
        memset(sums, 0, sizeof *sums * (size_t)(layer->products.units * layer->products.vectors));
    }
    tg_add_channel_products_s8(&own, input, sums);
}

static int operators_1_to_2(net_context *context)
{
    int8_t *const arena = context->arena;

    if (run_fully_connected_1(&fully_connected_1_layer, 0, arena + AT_INPUT_0, arena + AT_FULLY_CONNECTED_1) != 0) {
        return NET_FULLY_CONNECTED_1;
    }
    NET_AFTER_CALL(context, NET_FULLY_CONNECTED_1, arena + AT_FULLY_CONNECTED_1, 8);
    run_fully_connected_2(&fully_connected_2_layer, 0, arena + AT_FULLY_CONNECTED_1,
        (int32_t *)(void *)(arena + AT_FULLY_CONNECTED_2_SUMS));
    NET_AFTER_CALL(context, NET_FULLY_CONNECTED_2, arena + AT_FULLY_CONNECTED_2_SUMS, 8);

    for (int32_t i = 0; i < 7; ++i) {
        if (run_fully_connected_1(&fully_connected_1_layer, 1 + i, arena + AT_INPUT_0,
            arena + AT_FULLY_CONNECTED_1) != 0) {
            return NET_FULLY_CONNECTED_1;
        }
        NET_AFTER_CALL(context, NET_FULLY_CONNECTED_1, arena + AT_FULLY_CONNECTED_1, 8);
        run_fully_connected_2(&fully_connected_2_layer_1, 1 + i, arena + AT_FULLY_CONNECTED_1,
            (int32_t *)(void *)(arena + AT_FULLY_CONNECTED_2_SUMS));
        NET_AFTER_CALL(context, NET_FULLY_CONNECTED_2, arena + AT_FULLY_CONNECTED_2_SUMS, 8);
    }
    run_tg_scale_products_s8(&fully_connected_2_layer_2, (int32_t *)(void *)(arena + AT_FULLY_CONNECTED_2_SUMS),
        arena + AT_FULLY_CONNECTED_2);
    NET_AFTER_CALL(context, NET_FULLY_CONNECTED_2, arena + AT_FULLY_CONNECTED_2, 2);
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
    if (index == 0) {
        return context->arena + AT_INPUT_0;
    }
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
        return context->arena + AT_FULLY_CONNECTED_2;
    }
    return NULL;
}

int net_run(const int8_t *input0, int8_t *output0)
{
    static _Alignas(NET_ARENA_ALIGN) int8_t arena[NET_ARENA_BYTES]
#ifdef NET_ARENA_SECTION
        __attribute__((section(NET_ARENA_SECTION)))
#endif
        ;
    net_context context = {.arena = untyped(arena)};
    int status;

    memcpy(context.arena + AT_INPUT_0, input0, NET_INPUT0_BYTES);
    status = net_invoke(&context);
    if (status != 0) {
        return status;
    }
    memcpy(output0, context.arena + AT_FULLY_CONNECTED_2, NET_OUTPUT0_BYTES);
    return 0;
}
