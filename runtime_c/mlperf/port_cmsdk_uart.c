/* Port of boards with an APB UART of Arm's Cortex-M System Design Kit, polled. */
#include "mlperf_config.h"
#include "port.h"
#include "port_timer.h"

#define UART_DATA (*(volatile uint32_t *)(UART_BASE + 0x00U))
#define UART_STATE (*(volatile uint32_t *)(UART_BASE + 0x04U))
#define UART_CTRL (*(volatile uint32_t *)(UART_BASE + 0x08U))
#define UART_BAUDDIV (*(volatile uint32_t *)(UART_BASE + 0x10U))

#define STATE_TX_FULL (1U << 0)
#define STATE_RX_FULL (1U << 1)
#define CTRL_TX_ENABLE (1U << 0)
#define CTRL_RX_ENABLE (1U << 1)

void port_start(void)
{
    UART_BAUDDIV = UART_CLOCK_HZ / UART_BAUD;
    UART_CTRL = CTRL_TX_ENABLE | CTRL_RX_ENABLE;
    timer_start();
}

char port_read(void)
{
    while ((UART_STATE & STATE_RX_FULL) == 0) {
    }
    return (char)UART_DATA;
}

void port_write(char character)
{
    while ((UART_STATE & STATE_TX_FULL) != 0) {
    }
    UART_DATA = (uint8_t)character;
}

uint32_t port_microseconds(void)
{
    return timer_microseconds();
}
