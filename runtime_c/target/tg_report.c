/* Numbers as text without printf and without 64-bit division, which would pull in the C library. */
#include "tg_target.h"

#define MAX_DIGITS 20 /* of UINT64_MAX */

/* Decimal digits of `value` into `text` by repeated subtraction of powers of ten. */
static void to_decimal(uint64_t value, char text[MAX_DIGITS + 1])
{
    static const uint64_t powers[MAX_DIGITS] = {
        10000000000000000000U,
        1000000000000000000U,
        100000000000000000U,
        10000000000000000U,
        1000000000000000U,
        100000000000000U,
        10000000000000U,
        1000000000000U,
        100000000000U,
        10000000000U,
        1000000000U,
        100000000U,
        10000000U,
        1000000U,
        100000U,
        10000U,
        1000U,
        100U,
        10U,
        1U,
    };
    int length = 0;

    for (int i = 0; i < MAX_DIGITS; i++) {
        char digit = '0';
        for (; value >= powers[i]; value -= powers[i]) {
            digit++;
        }
        if (digit != '0' || length > 0 || i == MAX_DIGITS - 1) {
            text[length++] = digit;
        }
    }
    text[length] = '\0';
}

void tg_report(const char *key, uint64_t value)
{
    char text[MAX_DIGITS + 1];

    to_decimal(value, text);
    tg_print(key);
    tg_print("=");
    tg_print(text);
    tg_print("\n");
}
