/* What a board supplies beside port.h where the firmware listens: samples, and two pins for the interface board. */
#ifndef SOUND_PORT_H
#define SOUND_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "mlperf_config.h"

/** Whether `port_read` would return at once. */
bool port_has_character(void);

/** Begin to receive samples: the first of a block is the next that comes. */
void port_listen(void);

/** Receive no more. */
void port_stop_listening(void);

/** The next BLOCK_SAMPLES samples as soon as all are there, else NULL; they stay until this is called again. */
const int16_t *port_block(void);

/** The pin by which the interface board measures how long a block takes: high while one is processed. */
void port_set_processing(bool is_high);

/** The pin that says that the word was heard: low for at least a microsecond. */
void port_pulse_detected(void);

#endif
