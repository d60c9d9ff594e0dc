/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * classifier: made by tinygen VERSION from classifier.tflite for mps3-an547 (cortex-m55, mve), solver builtin. Do
 * not edit.
 */
#ifndef CLASSIFIER_H
#define CLASSIFIER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory that classifier_init takes: activations, scratch and state, in bytes. */
#define CLASSIFIER_ARENA_BYTES 60
#define CLASSIFIER_ARENA_ALIGN 4

#define CLASSIFIER_INPUT_COUNT 1
#define CLASSIFIER_OUTPUT_COUNT 1

/* Input 0: 'image', int8_t[1x4x4x1]. */
#define CLASSIFIER_INPUT0_BYTES 16
#define CLASSIFIER_INPUT0_ELEMENTS 16
#define CLASSIFIER_INPUT0_RANK 4
#define CLASSIFIER_INPUT0_SHAPE {1, 4, 4, 1}
#define CLASSIFIER_INPUT0_SCALE 6.25e-02f
#define CLASSIFIER_INPUT0_ZERO_POINT (-8)

/* Output 0: 'probabilities', int8_t[1x3]. */
#define CLASSIFIER_OUTPUT0_BYTES 3
#define CLASSIFIER_OUTPUT0_ELEMENTS 3
#define CLASSIFIER_OUTPUT0_RANK 2
#define CLASSIFIER_OUTPUT0_SHAPE {1, 3}
#define CLASSIFIER_OUTPUT0_SCALE 3.90625e-03f
#define CLASSIFIER_OUTPUT0_ZERO_POINT (-128)

/* One instance of the network. Several may live side by side, each with its own arena. */
typedef struct {
    int8_t *arena;
} classifier_context;

/*
 * Give the instance its memory: CLASSIFIER_ARENA_BYTES bytes, aligned to CLASSIFIER_ARENA_ALIGN.
 * Returns 0, or -1 where `arena` is NULL or not aligned.
 */
int classifier_init(classifier_context *context, void *arena);

/*
 * Where input `index` is to be written before each inference, or NULL where there is no such input.
 * classifier_invoke overwrites it: write all inputs again before the next call.
 */
int8_t *classifier_input(const classifier_context *context, int index);

/*
 * What classifier_invoke returns.
 *
 * The number of the operator that failed is its place in the model's file, from 1. Of operators that were fused it is
 * that of the one whose result is written; several that one was made of share it.
 */
enum classifier_status {
    CLASSIFIER_OK = 0,
    CLASSIFIER_CONV_2D_1 = 1, /* CONV_2D 'stem' */
    CLASSIFIER_FULLY_CONNECTED_2 = 2, /* FULLY_CONNECTED 'logits' */
    CLASSIFIER_SOFTMAX_3 = 3, /* SOFTMAX 'probabilities' */
};

/* Run the network. Returns a value of enum classifier_status: 0, or what failed. */
int classifier_invoke(classifier_context *context);

/*
 * Where output `index` lies after classifier_invoke, or NULL where there is no such output.
 * It stays valid until an input is written or classifier_invoke is called again.
 */
const int8_t *classifier_output(const classifier_context *context, int index);

/*
 * One inference on a static arena of its own, from and to the caller's buffers; not reentrant.
 * Returns what classifier_invoke returns.
 */
int classifier_run(const int8_t *input0, int8_t *output0);

/*
 * Runs one inference on the input in classifier_selftest.c, and compares its outputs with what tinygen expects:
 * by classifier_run.
 * Returns 0, CLASSIFIER_SELFTEST_DIFFERS, or what classifier_invoke returns where that fails.
 */
#define CLASSIFIER_SELFTEST_DIFFERS (-3)
int classifier_selftest(void);

#ifdef __cplusplus
}
#endif

#endif
