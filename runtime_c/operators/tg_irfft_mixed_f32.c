/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_FUNCTION tg_irfft_mixed_f32
#define TG_SHARE(number, count) ((number) / (float)(count))
#include "tg_fft_f32.h"

#include "tg_fft_mixed.h"
#include "tg_irfft_body.h"
