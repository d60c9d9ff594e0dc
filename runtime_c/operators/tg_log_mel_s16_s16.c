/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_FUNCTION tg_log_mel_s16_s16
#define TG_OUTPUT int16_t
#define TG_STORED(value) (int16_t)(value)
#include "tg_log_mel_body.h"
