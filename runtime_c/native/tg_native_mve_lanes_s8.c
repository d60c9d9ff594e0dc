/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_MVE_LANES_NAME tg_native_mve_lanes_s8
#define TG_MVE_LANES_IS_RELU 0

#include "tg_native_mve_lanes_body.h"
