/* The command parser on the host: commands from stdin, replies to stdout, a model that only counts. */
#include "mlperf_api.h"
#include "port.h"

#include <stdio.h>
#include <stdlib.h>

static unsigned inferences;
static uint32_t now;

void port_start(void)
{
}

char port_read(void)
{
    const int character = getchar();

    if (character == EOF) {
        exit(0);
    }
    return (char)character;
}

void port_write(char character)
{
    (void)putchar(character);
}

uint32_t port_microseconds(void)
{
    return now += 10;
}

void th_final_initialize(void)
{
}

void th_load_tensor(void)
{
    uint8_t *copy = malloc(MAX_DB_INPUT_SIZE);
    const size_t bytes = ee_get_buffer(copy, MAX_DB_INPUT_SIZE);
    unsigned sum = 0;

    for (size_t i = 0; i < bytes; i++) {
        sum = (sum * 31U + copy[i]) % 65521U;
    }
    free(copy);
    th_printf("m-input-%u-%u\r\n", (unsigned)bytes, sum);
}

void th_infer(void)
{
    inferences++;
}

void th_results(void)
{
    th_printf("m-results-[%u]\r\n", inferences);
}
