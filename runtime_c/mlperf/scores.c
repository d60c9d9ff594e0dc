/* Results as the runner reads them: decimals without a printf of floats. */
#include "scores.h"
#include "mlperf_api.h"

#define MAX_THOUSANDTHS 2147483648.0f /* 2^31, beyond the largest int32_t */

static float real(int8_t output, float scale, int32_t zero_point)
{
    return scale * (float)(output - zero_point);
}

/* Thousandths of a value, cut off; values that do not fit, and NaN, become the largest. */
static int32_t thousandths(float value)
{
    const float scaled = value * 1000.0f;

    return scaled > -MAX_THOUSANDTHS && scaled < MAX_THOUSANDTHS ? (int32_t)scaled : INT32_MAX;
}

static void print_decimal(int32_t value)
{
    const uint32_t magnitude = value < 0 ? 0U - (uint32_t)value : (uint32_t)value;

    th_printf("%s%u.%03u", value < 0 ? "-" : "", (unsigned)(magnitude / 1000U), (unsigned)(magnitude % 1000U));
}

void print_classes(const int8_t *outputs, int32_t count, float scale, int32_t zero_point)
{
    th_printf("m-results-[");
    for (int32_t i = 0; i < count; i++) {
        th_printf(i > 0 ? "," : "");
        print_decimal(thousandths(real(outputs[i], scale, zero_point)));
    }
    th_printf("]\r\n");
}

void print_score(float score)
{
    th_printf("m-results-[");
    print_decimal(thousandths(score + 0.0005f));
    th_printf("]\r\n");
}

float reconstruction_error(const float *input, const int8_t *outputs, int32_t count, float scale, int32_t zero_point)
{
    float sum = 0.0f;

    for (int32_t i = 0; i < count; i++) {
        const float difference = input[i] - real(outputs[i], scale, zero_point);

        sum += difference * difference;
    }
    return sum / (float)count;
}
