/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An operator on two broadcast tensors, row by row; TG_FUNCTION is its name, TG_ELEMENT the type of an element,
 * TG_ROW_FUNCTION that of what computes a row, which struct TG_ROW describes.
 */
void TG_FUNCTION(const struct tg_broadcast *shape, TG_ROW_FUNCTION *function, const void *params,
    const TG_ELEMENT *first, const TG_ELEMENT *second, TG_ELEMENT *output)
{
    const int32_t *const sizes = shape->sizes;
    const int32_t *const first_strides = shape->first_strides;
    const int32_t *const second_strides = shape->second_strides;

    for (int32_t i = 0; i < sizes[0]; i++) {
        for (int32_t j = 0; j < sizes[1]; j++) {
            for (int32_t k = 0; k < sizes[2]; k++) {
                const struct TG_ROW row = {
                    .first = first + i * first_strides[0] + j * first_strides[1] + k * first_strides[2],
                    .second = second + i * second_strides[0] + j * second_strides[1] + k * second_strides[2],
                    .output = output,
                    .first_step = first_strides[3],
                    .second_step = second_strides[3],
                    .size = sizes[3],
                };
                function(params, &row);
                output += sizes[3];
            }
        }
    }
}
