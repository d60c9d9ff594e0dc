/* Port of boards with a UART of a known kind, polled: mlperf_config.h says which. */
#include "mlperf_config.h"
#include "port.h"
#include "port_timer.h"
#include "tg_uart_setup.h"
#include UART_HEADER

void port_start(void)
{
    uart_setup();
    uart_start();
    timer_start();
}

char port_read(void)
{
    return (char)uart_read();
}

void port_write(char character)
{
    uart_write((uint8_t)character);
}

uint32_t port_microseconds(void)
{
    return timer_microseconds();
}
