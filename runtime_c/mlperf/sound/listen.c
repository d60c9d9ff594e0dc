/* `start` and `stop`: blocks of samples become activations, and the pins of the interface board move. */
#include "listen.h"
#include "command_line.h"
#include "mlperf_api.h"
#include "sound_port.h"

#ifndef MAX_ACTIVATIONS
#define MAX_ACTIVATIONS (1280 * 16000 / BLOCK_SAMPLES) /* of more seconds at 16 kHz than the benchmark's 20 minutes */
#endif
#define ACTIVATIONS_PER_LINE 16

static bool is_listening;
static int status;     /* of the blocks since `start`: 0 is good */
static uint32_t heard; /* blocks */
static int8_t activations[MAX_ACTIVATIONS];

void start_command(char *rest)
{
    (void)rest;
    if (is_listening) {
        th_printf("e-[Already listening]\r\n");
        return;
    }
    model_forget();
    status = 0;
    heard = 0;
    is_listening = true;
    th_timestamp(); /* energy is measured from here on */
    port_set_processing(true);
    port_set_processing(false);
    port_listen();
}

static void print_activations(void)
{
    const uint32_t count = heard < MAX_ACTIVATIONS ? heard : MAX_ACTIVATIONS;

    th_printf("target activations:\r\n[");
    for (uint32_t i = 0; i < count; i++) {
        const bool is_last = i + 1 == count;
        const bool ends_line = i % ACTIVATIONS_PER_LINE == ACTIVATIONS_PER_LINE - 1;

        th_printf("%d%s%s", activations[i], is_last ? "" : ", ", ends_line && !is_last ? "\r\n" : "");
    }
    th_printf("]\r\n");
}

void stop_command(char *rest)
{
    (void)rest;
    if (!is_listening) {
        th_printf("m-[Not listening]\r\n");
        return;
    }
    port_stop_listening();
    is_listening = false;
    th_timestamp(); /* up to here */
    if (status != 0) {
        th_printf("e-[No activations: status %d]\r\n", status);
        return;
    }
    print_activations();
}

/* The first block is marked as if the word was in it: times count from there. */
static bool is_detection(int8_t activation)
{
    return heard == 1 || (heard >= WARMUP_BLOCKS && activation > DETECTION_THRESHOLD);
}

bool listen_to_block(void)
{
    const int16_t *const samples = is_listening ? port_block() : NULL;
    int8_t activation = 0;
    int failed;

    if (samples == NULL) {
        return false;
    }
    port_set_processing(true);
    failed = model_hear(samples, &activation);
    status = status == 0 ? failed : status;
    if (heard < MAX_ACTIVATIONS) {
        activations[heard] = activation;
    }
    heard++;
    if (is_detection(activation)) {
        port_pulse_detected();
    }
    port_set_processing(false);
    return true;
}
