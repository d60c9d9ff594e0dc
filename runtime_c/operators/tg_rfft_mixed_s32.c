/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_FUNCTION tg_rfft_mixed_s32
#include "tg_fft_s32.h"

#include "tg_fft_mixed.h"
#include "tg_rfft_body.h"
