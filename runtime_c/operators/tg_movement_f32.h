/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Padding of float32 tensors with a number: tg_fill_f32(), then tg_strided_copy().
 */
#ifndef TG_MOVEMENT_F32_H
#define TG_MOVEMENT_F32_H

#include "tg_float.h"
#include "tg_movement.h"

#endif
