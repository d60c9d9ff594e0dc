/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define POOL arm_max_pool_s16
#define ELEMENT int16_t
#define CLAMP clamp_s16
#define LOWEST INT16_MIN
#include "max_pool_body.h"
