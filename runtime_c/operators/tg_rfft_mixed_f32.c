/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_FUNCTION tg_rfft_mixed_f32
#include "tg_fft_f32.h"

#include "tg_fft_mixed.h"
#include "tg_rfft_body.h"
