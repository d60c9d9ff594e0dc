/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_MVE_DOTS_NAME tg_native_mve_dots_s8
#define TG_MVE_DOTS_IS_RELU 0

#include "tg_native_mve_dots_body.h"
