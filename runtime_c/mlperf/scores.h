/* Results as the runner reads them. */
#ifndef SCORES_H
#define SCORES_H

#include <stdint.h>

/** Print `m-results-[...]` with the real values of `count` outputs, cut off after three decimals. */
void print_classes(const int8_t *outputs, int32_t count, float scale, int32_t zero_point);

/** Print `m-results-[...]` with one value, not negative, rounded to three decimals; at most 2147483.647, also for NaN.
 */
void print_score(float score);

/** Mean squared error of the model's outputs against its input before quantization. */
float reconstruction_error(const float *input, const int8_t *outputs, int32_t count, float scale, int32_t zero_point);

#endif
