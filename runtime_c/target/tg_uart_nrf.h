/*
 * The UART without DMA of nRF51 and nRF52, polled. UART_BASE, UART_CLOCK_HZ (16 MHz) and UART_BAUD say which and how;
 * its pins are registers of its own, which UART_SETUP sets.
 */
#ifndef TG_UART_NRF_H
#define TG_UART_NRF_H

#include <stdint.h>

#define UART_START_RX (*(volatile uint32_t *)(UART_BASE + 0x000U))
#define UART_START_TX (*(volatile uint32_t *)(UART_BASE + 0x008U))
#define UART_RX_READY (*(volatile uint32_t *)(UART_BASE + 0x108U))
#define UART_TX_READY (*(volatile uint32_t *)(UART_BASE + 0x11CU))
#define UART_ENABLE (*(volatile uint32_t *)(UART_BASE + 0x500U))
#define UART_RX_DATA (*(volatile uint32_t *)(UART_BASE + 0x518U))
#define UART_TX_DATA (*(volatile uint32_t *)(UART_BASE + 0x51CU))
#define UART_RATE (*(volatile uint32_t *)(UART_BASE + 0x524U)) /* 2^32 is the clock; the low 12 bits are 0 */

#define ENABLED 4U

static inline void uart_start(void)
{
    UART_RATE = (uint32_t)((((uint64_t)UART_BAUD << 32) / UART_CLOCK_HZ + 0x800U) & 0xFFFFF000U);
    UART_ENABLE = ENABLED;
    UART_RX_READY = 0;
    UART_TX_READY = 0;
    UART_START_RX = 1;
    UART_START_TX = 1;
}

static inline uint8_t uart_read(void)
{
    while (UART_RX_READY == 0) {
    }
    UART_RX_READY = 0; /* before the data are taken: the next byte may come at once */
    return (uint8_t)UART_RX_DATA;
}

static inline void uart_write(uint8_t byte)
{
    UART_TX_DATA = byte;
    while (UART_TX_READY == 0) {
    }
    UART_TX_READY = 0;
}

#endif
