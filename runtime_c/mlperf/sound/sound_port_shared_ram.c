/*
 * Sound from RAM that an emulated interface board shares with the emulator: blocks of samples as if by DMA, and pins as
 * a list of when they moved.
 */
#include "port_timer.h"
#include "sound_port.h"

#include <stddef.h>

#define UART_STATE (*(volatile uint32_t *)(UART_BASE + 0x04U))
#define STATE_RX_FULL (1U << 1)

#define BLOCKS 8 /* numbers as in tinygen/mlperf/sound_link.py */
#define EVENTS 1024

enum event_kind { PROCESSING_ENDS, PROCESSING_BEGINS, DETECTED };

struct event {
    uint32_t block; /* how many were taken before it */
    uint32_t kind;
    uint32_t microseconds;
};

struct sound_link {
    uint32_t is_listening;
    uint32_t given; /* blocks since `is_listening` was set; written by the interface board */
    uint32_t taken;
    uint32_t events; /* since the board started */
    struct event event[EVENTS];
    int16_t samples[BLOCKS][BLOCK_SAMPLES];
};

#define LINK ((volatile struct sound_link *)SOUND_BASE)

static int16_t block[BLOCK_SAMPLES];

static void record(enum event_kind kind)
{
    const uint32_t number = LINK->events;
    volatile struct event *const event = &LINK->event[number % EVENTS];

    event->block = LINK->taken;
    event->kind = kind;
    event->microseconds = timer_microseconds();
    LINK->events = number + 1;
}

bool port_has_character(void)
{
    return (UART_STATE & STATE_RX_FULL) != 0;
}

void port_listen(void)
{
    LINK->given = 0;
    LINK->taken = 0;
    LINK->is_listening = 1;
}

void port_stop_listening(void)
{
    LINK->is_listening = 0;
}

const int16_t *port_block(void)
{
    const uint32_t number = LINK->taken;

    if (number == LINK->given) {
        return NULL;
    }
    for (uint32_t i = 0; i < BLOCK_SAMPLES; i++) {
        block[i] = LINK->samples[number % BLOCKS][i];
    }
    LINK->taken = number + 1;
    return block;
}

void port_set_processing(bool is_high)
{
    record(is_high ? PROCESSING_BEGINS : PROCESSING_ENDS);
}

void port_pulse_detected(void)
{
    record(DETECTED);
}
