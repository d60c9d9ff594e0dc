/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define NAME tg_softmax_s8
#define OUTPUT int8_t
#define OUTPUT_BITS 8
#include "tg_softmax_body.h"
