/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_MVE_LANES_NAME tg_native_mve_lanes_relu_s8
#define TG_MVE_LANES_IS_RELU 1

#include "tg_native_mve_lanes_body.h"
