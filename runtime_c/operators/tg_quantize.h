/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Conversions between the values that an application has and the int8 or int16 ones of a model.
 */
#ifndef TG_QUANTIZE_H
#define TG_QUANTIZE_H

#include <stdint.h>

#include "tg_operator_names.h"

/** Real values to the nearest stored ones, halves away from zero, saturated; NaN becomes the zero point. */
void tg_quantize_f32_s8(const float *input, int8_t *output, int32_t size, float scale, int32_t zero_point);

void tg_quantize_f32_s16(const float *input, int16_t *output, int32_t size, float scale, int32_t zero_point);

/** Stored values to real ones. */
void tg_dequantize_s8_f32(const int8_t *input, float *output, int32_t size, float scale, int32_t zero_point);

void tg_dequantize_s16_f32(const int16_t *input, float *output, int32_t size, float scale, int32_t zero_point);

/** uint8 to int8 of the same scale, with the zero point 128 below. */
void tg_quantize_u8_s8(const uint8_t *input, int8_t *output, int32_t size);

/** int8 to uint8 of the same scale, with the zero point 128 above. */
void tg_dequantize_s8_u8(const int8_t *input, uint8_t *output, int32_t size);

#endif
