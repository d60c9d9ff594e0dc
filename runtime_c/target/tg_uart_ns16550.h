/* A UART of the 16550 kind whose registers are bytes next to each other, polled. UART_BASE, UART_CLOCK_HZ and UART_BAUD
 * say which and how. */
#ifndef TG_UART_NS16550_H
#define TG_UART_NS16550_H

#include <stdint.h>

#define UART_DATA (*(volatile uint8_t *)(UART_BASE + 0U))
#define UART_DIVISOR_LOW (*(volatile uint8_t *)(UART_BASE + 0U)) /* with LINE_DIVISOR */
#define UART_INTERRUPTS (*(volatile uint8_t *)(UART_BASE + 1U))
#define UART_DIVISOR_HIGH (*(volatile uint8_t *)(UART_BASE + 1U)) /* with LINE_DIVISOR */
#define UART_FIFO (*(volatile uint8_t *)(UART_BASE + 2U))
#define UART_LINE (*(volatile uint8_t *)(UART_BASE + 3U))
#define UART_STATE (*(volatile uint8_t *)(UART_BASE + 5U))

#define FIFO_ENABLE 0x01U
#define LINE_8N1 0x03U
#define LINE_DIVISOR 0x80U
#define STATE_RX_FULL 0x01U
#define STATE_TX_EMPTY 0x20U

#define UART_DIVISOR (UART_CLOCK_HZ < 16U * UART_BAUD ? 1U : UART_CLOCK_HZ / (16U * UART_BAUD))

static inline void uart_start(void)
{
    UART_INTERRUPTS = 0;
    UART_LINE = LINE_8N1 | LINE_DIVISOR;
    UART_DIVISOR_LOW = (uint8_t)(UART_DIVISOR & 0xFFU);
    UART_DIVISOR_HIGH = (uint8_t)(UART_DIVISOR >> 8);
    UART_LINE = LINE_8N1;
    UART_FIFO = FIFO_ENABLE;
}

static inline uint8_t uart_read(void)
{
    while ((UART_STATE & STATE_RX_FULL) == 0) {
    }
    return UART_DATA;
}

static inline void uart_write(uint8_t byte)
{
    while ((UART_STATE & STATE_TX_EMPTY) == 0) {
    }
    UART_DATA = byte;
}

#endif
