/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_FUNCTION tg_rnn_s8
#define TG_ELEMENT int8_t
#define TG_MIN INT8_MIN
#define TG_MAX INT8_MAX
#include "tg_rnn_body.h"
