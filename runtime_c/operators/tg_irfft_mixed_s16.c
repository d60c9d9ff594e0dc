/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_FUNCTION tg_irfft_mixed_s16
#include "tg_fft_s16.h"

#include "tg_fft_mixed.h"
#include "tg_irfft_body.h"
