/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define POOL arm_max_pool_s8
#define ELEMENT int8_t
#define CLAMP clamp_s8
#define LOWEST INT8_MIN
#include "max_pool_body.h"
