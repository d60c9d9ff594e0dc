/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_FUNCTION tg_log_mel_s16_f32
#define TG_OUTPUT float
#define TG_STORED(value) ((float)(value) * 0x1p-16f)
#include "tg_log_mel_body.h"
