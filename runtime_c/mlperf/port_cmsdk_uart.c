/* Port of boards with an APB UART of Arm's Cortex-M System Design Kit, polled. */
#include "mlperf_config.h"
#include "port.h"
#include "port_timer.h"
#include "tg_uart_cmsdk.h"

void port_start(void)
{
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
