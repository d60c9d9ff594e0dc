/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define POOL arm_avgpool_s16
#define ELEMENT int16_t
#define CLAMP clamp_s16
#include "avgpool_body.h"
