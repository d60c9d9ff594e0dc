/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define NAME tg_softmax_s8_s16
#define OUTPUT int16_t
#define OUTPUT_BITS 16
#include "tg_softmax_body.h"
