/*
 * Port that talks over two files of the host instead of the UART, through semihosting: the same commands, faster.
 * Ends the program where the host closes its side.
 */
#include "port.h"
#include "port_timer.h"
#include "tg_target.h"

#define COMMAND_FILE "mlperf.commands"
#define REPLY_FILE "mlperf.replies"
#define CHUNK_BYTES 512

static int commands;
static int replies;
static char received[CHUNK_BYTES];
static uint32_t received_bytes;
static uint32_t taken_bytes;
static char waiting[CHUNK_BYTES]; /* replies, until the host has to see them */
static uint32_t waiting_bytes;

static void flush(void)
{
    if (tg_write(replies, waiting, waiting_bytes) != waiting_bytes) {
        tg_exit(1);
    }
    waiting_bytes = 0;
}

void port_start(void)
{
    timer_start();
    commands = tg_open_read(COMMAND_FILE);
    replies = tg_open_write(REPLY_FILE);
    if (commands < 0 || replies < 0) {
        tg_print("error=" COMMAND_FILE " or " REPLY_FILE " cannot be opened\n");
        tg_exit(2);
    }
}

char port_read(void)
{
    if (taken_bytes == received_bytes) {
        flush();
        received_bytes = tg_read(commands, received, CHUNK_BYTES);
        taken_bytes = 0;
        if (received_bytes == 0) {
            tg_exit(0);
        }
    }
    return received[taken_bytes++];
}

void port_write(char character)
{
    if (waiting_bytes == CHUNK_BYTES) {
        flush();
    }
    waiting[waiting_bytes++] = character;
}

uint32_t port_microseconds(void)
{
    return timer_microseconds();
}
