/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_FUNCTION tg_log_mel_s16_s8
#define TG_OUTPUT int8_t
#define TG_STORED(value) (int8_t)(value)
#include "tg_log_mel_body.h"
