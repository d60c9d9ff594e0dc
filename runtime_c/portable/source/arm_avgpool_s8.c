/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define POOL arm_avgpool_s8
#define ELEMENT int8_t
#define CLAMP clamp_s8
#include "avgpool_body.h"
