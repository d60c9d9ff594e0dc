/* The submitter's side of the API that is the same for all models: text, time, the main loop. */
#include "mlperf_api.h"
#include "port.h"

#include <stdarg.h>

#define MAX_DIGITS 20

static void print_text(const char *text)
{
    for (; *text != '\0'; text++) {
        port_write(*text);
    }
}

/* `value` in `base`, at least `width` digits. */
static void print_number(unsigned long value, unsigned base, unsigned width)
{
    char digits[MAX_DIGITS];
    unsigned count = 0;

    do {
        digits[count++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0);
    for (; width > count; width--) {
        port_write('0');
    }
    while (count > 0) {
        port_write(digits[--count]);
    }
}

static void print_signed(int value, unsigned width)
{
    if (value < 0) {
        port_write('-');
    }
    print_number(value < 0 ? 0UL - (unsigned long)value : (unsigned long)value, 10, width);
}

void th_printf(const char *format, ...)
{
    va_list values;

    va_start(values, format);
    for (; *format != '\0'; format++) {
        unsigned width = 0;

        if (*format != '%') {
            port_write(*format);
            continue;
        }
        for (format++; *format >= '0' && *format <= '9'; format++) {
            width = width * 10 + (unsigned)(*format - '0');
        }
        switch (*format) {
        case 's':
            print_text(va_arg(values, const char *));
            break;
        case 'c':
            port_write((char)va_arg(values, int));
            break;
        case 'd':
            print_signed(va_arg(values, int), width);
            break;
        case 'u':
            print_number(va_arg(values, unsigned), 10, width);
            break;
        case 'x':
            print_number(va_arg(values, unsigned), 16, width);
            break;
        case 'l': /* %lu */
            format++;
            print_number(va_arg(values, unsigned long), 10, width);
            break;
        default:
            port_write(*format);
        }
    }
    va_end(values);
}

char th_getchar(void)
{
    return port_read();
}

void th_timestamp(void)
{
    th_printf("m-lap-us-%lu\r\n", (unsigned long)port_microseconds());
}

void th_serialport_initialize(void)
{
    port_start();
}

void th_timestamp_initialize(void)
{
    th_printf("m-timestamp-mode-performance\r\n");
    th_timestamp();
}

void th_pre(void)
{
}

void th_post(void)
{
}

void th_command_ready(char volatile *command)
{
    ee_serial_command_parser_callback(
        (char *)(uintptr_t)command); /* volatile by the API only: nothing else writes it */
}
