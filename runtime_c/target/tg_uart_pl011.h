/* Arm's PrimeCell UART, PL011, and those like it, polled. UART_BASE, UART_CLOCK_HZ and UART_BAUD say which and how. */
#ifndef TG_UART_PL011_H
#define TG_UART_PL011_H

#include <stdint.h>

#define UART_DATA (*(volatile uint32_t *)(UART_BASE + 0x00U))
#define UART_STATE (*(volatile uint32_t *)(UART_BASE + 0x18U))
#define UART_DIVISOR (*(volatile uint32_t *)(UART_BASE + 0x24U))
#define UART_FRACTION (*(volatile uint32_t *)(UART_BASE + 0x28U)) /* 64ths of the divisor */
#define UART_LINE (*(volatile uint32_t *)(UART_BASE + 0x2CU))
#define UART_CTRL (*(volatile uint32_t *)(UART_BASE + 0x30U))

#define STATE_RX_EMPTY (1U << 4)
#define STATE_TX_FULL (1U << 5)
#define LINE_8N1_FIFO 0x70U
#define CTRL_ENABLE 0x301U /* UART, transmitter and receiver */

#define UART_DIVISOR_64THS ((UART_CLOCK_HZ * 4U + UART_BAUD / 2U) / UART_BAUD)

static inline void uart_start(void)
{
    UART_CTRL = 0;
    UART_DIVISOR = UART_DIVISOR_64THS >> 6;
    UART_FRACTION = UART_DIVISOR_64THS & 63U;
    UART_LINE = LINE_8N1_FIFO; /* behind the divisor, which it takes over */
    UART_CTRL = CTRL_ENABLE;
}

static inline uint8_t uart_read(void)
{
    while ((UART_STATE & STATE_RX_EMPTY) != 0) {
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
