/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_FUNCTION tg_rnn_s16
#define TG_ELEMENT int16_t
#define TG_MIN INT16_MIN
#define TG_MAX INT16_MAX
#define TG_WIDE
#include "tg_rnn_body.h"
