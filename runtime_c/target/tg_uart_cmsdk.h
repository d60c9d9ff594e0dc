/* The APB UART of Arm's Cortex-M System Design Kit, polled. UART_BASE, UART_CLOCK_HZ and UART_BAUD say which and how.
 */
#ifndef TG_UART_CMSDK_H
#define TG_UART_CMSDK_H

#include <stdint.h>

#define UART_DATA (*(volatile uint32_t *)(UART_BASE + 0x00U))
#define UART_STATE (*(volatile uint32_t *)(UART_BASE + 0x04U))
#define UART_CTRL (*(volatile uint32_t *)(UART_BASE + 0x08U))
#define UART_BAUDDIV (*(volatile uint32_t *)(UART_BASE + 0x10U))

#define STATE_TX_FULL (1U << 0)
#define STATE_RX_FULL (1U << 1)
#define CTRL_TX_ENABLE (1U << 0)
#define CTRL_RX_ENABLE (1U << 1)

static inline void uart_start(void)
{
    UART_BAUDDIV = UART_CLOCK_HZ / UART_BAUD;
    UART_CTRL = CTRL_TX_ENABLE | CTRL_RX_ENABLE;
}

static inline uint8_t uart_read(void)
{
    while ((UART_STATE & STATE_RX_FULL) == 0) {
    }
    return (uint8_t)UART_DATA;
}

static inline void uart_write(uint8_t byte)
{
    while ((UART_STATE & STATE_TX_FULL) != 0) {
    }
    UART_DATA = byte;
}

#endif
