/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_MVE_DOTS_NAME tg_native_mve_dots_relu_s8
#define TG_MVE_DOTS_IS_RELU 1

#include "tg_native_mve_dots_body.h"
