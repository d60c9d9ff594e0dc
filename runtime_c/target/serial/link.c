/*
 * tg_target.h and tg_link.h over a serial line: the program asks, the host answers. docs/serial.md has the frames.
 *
 * One question is open at a time. Its number stays until the answer with that number has come: frames that are damaged
 * are dropped, those of an earlier question say that the host has not got the last one. Only the host has a clock.
 */
#include "tg_embedded.h"
#include "tg_link.h"
#include "tg_target.h"
#include "tg_uart_setup.h"
#include UART_HEADER

#define PAYLOAD 256U
#define HEADER 5U /* type, session, number */
#define CHECK 4U  /* CRC-32 */
#define LARGEST (HEADER + PAYLOAD + CHECK)
#define LONGEST_RUN 254U /* of bytes that are not 0, behind one length */
#define PROTOCOL 1U
#define FILES 4U

enum type { START = 1, ANSWER = 2, HELLO = 16, OPEN = 17, READ = 18, WRITE = 19, PRINT = 20, EXIT = 21 };

static uint8_t received[LARGEST];
static uint8_t asked[LARGEST];
static uint32_t asked_bytes;
static uint16_t session; /* 0: none yet */
static uint16_t number;
static uint32_t positions[FILES];
static uint32_t transferred; /* CRC-32 of all that was read and written */

static uint16_t half(const uint8_t *from)
{
    return (uint16_t)(from[0] | from[1] << 8);
}

static uint32_t word(const uint8_t *from)
{
    return half(from) | (uint32_t)half(from + 2) << 16;
}

static void put(uint8_t *to, uint32_t value, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; ++i) {
        to[i] = (uint8_t)(value >> (8U * i));
    }
}

/* CRC-32 of ISO 3309, half a byte at a time; `crc` is that of what stands before, at first 0. */
static uint32_t crc32(uint32_t crc, const uint8_t *bytes, uint32_t count)
{
    static const uint32_t table[16] = {
        0x00000000U,
        0x1DB71064U,
        0x3B6E20C8U,
        0x26D930ACU,
        0x76DC4190U,
        0x6B6B51F4U,
        0x4DB26158U,
        0x5005713CU,
        0xEDB88320U,
        0xF00F9344U,
        0xD6D6A3E8U,
        0xCB61B38CU,
        0x9B64C2B0U,
        0x86D3D2D4U,
        0xA00AE278U,
        0xBDBDF21CU,
    };

    crc = ~crc;
    for (uint32_t i = 0; i < count; ++i) {
        crc = table[(crc ^ bytes[i]) & 15U] ^ (crc >> 4);
        crc = table[(crc ^ (uint32_t)(bytes[i] >> 4)) & 15U] ^ (crc >> 4);
    }
    return ~crc;
}

/* Sends what is asked, between zeros: runs of other bytes behind their length plus 1 (COBS). */
static void send(void)
{
    uint32_t at = 0;

    uart_write(0);
    while (at <= asked_bytes) {
        uint32_t run = 0;

        while (run < LONGEST_RUN && at + run < asked_bytes && asked[at + run] != 0) {
            ++run;
        }
        uart_write((uint8_t)(run + 1U));
        for (uint32_t i = 0; i < run; ++i) {
            uart_write(asked[at + i]);
        }
        at += run;
        if (run < LONGEST_RUN) {
            ++at; /* the zero, or the end */
        } else if (at == asked_bytes) {
            break;
        }
    }
    uart_write(0);
}

/* Waits for a frame that is whole. Returns the bytes of its payload. */
static uint32_t receive(void)
{
    uint32_t length = 0;
    uint32_t left = 0; /* of the run */
    uint8_t last = LONGEST_RUN + 1U;

    for (;;) {
        uint8_t byte = uart_read();

        if (byte == 0) {
            if (left == 0 && length >= HEADER + CHECK && length <= LARGEST &&
                crc32(0, received, length - CHECK) == word(received + length - CHECK)) {
                return length - HEADER - CHECK;
            }
            length = 0;
            left = 0;
            last = LONGEST_RUN + 1U;
            continue;
        }
        if (left == 0) {
            const int has_zero = last <= LONGEST_RUN;

            last = byte;
            left = byte - 1U;
            if (!has_zero) {
                continue;
            }
            byte = 0;
        } else {
            --left;
        }
        if (length < LARGEST) {
            received[length] = byte;
        }
        length += length <= LARGEST; /* one too many is remembered */
    }
}

/* Asks the host with the payload that stands in `asked`. Returns the bytes of its answer, in `received`. */
static uint32_t ask(enum type type, uint32_t payload_bytes)
{
    asked[0] = (uint8_t)type;
    put(asked + 1, session, 2);
    put(asked + 3, number, 2);
    put(asked + HEADER + payload_bytes, crc32(0, asked, HEADER + payload_bytes), CHECK);
    asked_bytes = HEADER + payload_bytes + CHECK;
    send();
    for (;;) {
        const uint32_t bytes = receive();

        if (half(received + 1) != session) {
            if (received[0] == START) {
                tg_restart(); /* another host, or this one anew */
            }
        } else if (received[0] == ANSWER && half(received + 3) == number) {
            ++number;
            return bytes;
        } else if (received[0] == (number == 0 ? START : ANSWER) && half(received + 3) == (uint16_t)(number - 1U)) {
            send();
        }
    }
}

enum tg_mode tg_wait_for_host(const uint8_t program[8])
{
    uart_setup();
    uart_start();
    do {
        (void)receive();
    } while (received[0] != START);
    session = half(received + 1);
    asked[HEADER] = PROTOCOL;
    asked[HEADER + 1] = (uint8_t)tg_counter_kind();
    for (uint32_t i = 0; i < 8U; ++i) {
        asked[HEADER + 2U + i] = program[i];
    }
    return ask(HELLO, 10) == 0 ? TG_MODE_CYCLES : (enum tg_mode)received[HEADER];
}

static int open_file(const char *name, uint8_t writes)
{
    uint32_t length = 1;

    asked[HEADER] = writes;
    for (const volatile char *at = name; *at != '\0' && length < PAYLOAD; ++at) {
        asked[HEADER + length] = (uint8_t)*at;
        ++length;
    }
    if (ask(OPEN, length) != 1U || received[HEADER] >= FILES) {
        return -1;
    }
    positions[received[HEADER]] = 0;
    return received[HEADER];
}

int tg_open_read(const char *name)
{
    return open_file(name, 0);
}

int tg_open_write(const char *name)
{
    return open_file(name, 1);
}

uint32_t tg_read(int file, void *to, uint32_t bytes)
{
    uint8_t *const bytes_to = to;
    uint32_t done = 0;

    while (done < bytes) {
        const uint32_t wanted = bytes - done < PAYLOAD ? bytes - done : PAYLOAD;
        uint32_t came;

        asked[HEADER] = (uint8_t)file;
        put(asked + HEADER + 1, positions[file], 4);
        put(asked + HEADER + 5, wanted, 2);
        came = ask(READ, 7);
        came = came < wanted ? came : wanted;
        for (uint32_t i = 0; i < came; ++i) {
            bytes_to[done + i] = received[HEADER + i];
        }
        transferred = crc32(transferred, received + HEADER, came);
        positions[file] += came;
        done += came;
        if (came < wanted) {
            break;
        }
    }
    return done;
}

uint32_t tg_write(int file, const void *from, uint32_t bytes)
{
    const uint8_t *const bytes_from = from;
    const uint32_t most = PAYLOAD - 5U; /* behind file and position */

    for (uint32_t done = 0; done < bytes;) {
        const uint32_t count = bytes - done < most ? bytes - done : most;

        asked[HEADER] = (uint8_t)file;
        put(asked + HEADER + 1, positions[file], 4);
        for (uint32_t i = 0; i < count; ++i) {
            asked[HEADER + 5U + i] = bytes_from[done + i];
        }
        transferred = crc32(transferred, bytes_from + done, count);
        (void)ask(WRITE, 5U + count);
        positions[file] += count;
        done += count;
    }
    return bytes;
}

void tg_close(int file)
{
    (void)file;
}

void tg_print(const char *text)
{
    const volatile char *at = text;

    while (*at != '\0') {
        uint32_t length = 0;

        while (at[length] != '\0' && length < PAYLOAD) {
            asked[HEADER + length] = (uint8_t)at[length];
            ++length;
        }
        (void)ask(PRINT, length);
        at += length;
    }
}

void tg_exit(int code)
{
    put(asked + HEADER, (uint32_t)code, 4);
    put(asked + HEADER + 4, transferred, 4);
    (void)ask(EXIT, 8);
    tg_restart();
}
