/*
 * The USART of STM32F1, F2, F4 and L1, whose state and data lie at offsets 0 and 4, polled. UART_BASE, UART_CLOCK_HZ
 * (of its bus) and UART_BAUD say which and how.
 */
#ifndef TG_UART_STM32_H
#define TG_UART_STM32_H

#include <stdint.h>

#define UART_STATE (*(volatile uint32_t *)(UART_BASE + 0x00U))
#define UART_DATA (*(volatile uint32_t *)(UART_BASE + 0x04U))
#define UART_DIVISOR (*(volatile uint32_t *)(UART_BASE + 0x08U)) /* 16ths */
#define UART_CTRL (*(volatile uint32_t *)(UART_BASE + 0x0CU))

#define STATE_RX_FULL (1U << 5)
#define STATE_TX_EMPTY (1U << 7)
#define CTRL_ENABLE 0x200CU /* USART, transmitter and receiver */

static inline void uart_start(void)
{
    UART_DIVISOR = (UART_CLOCK_HZ + UART_BAUD / 2U) / UART_BAUD;
    UART_CTRL = CTRL_ENABLE;
}

static inline uint8_t uart_read(void)
{
    while ((UART_STATE & STATE_RX_FULL) == 0) {
    }
    return (uint8_t)UART_DATA; /* behind the state, so that an overrun is cleared too */
}

static inline void uart_write(uint8_t byte)
{
    while ((UART_STATE & STATE_TX_EMPTY) == 0) {
    }
    UART_DATA = byte;
}

#endif
