/*
 * The two sides of MLPerf Tiny firmware, under the names of the benchmark's own API: ee_* reads the runner's
 * commands, th_* is what a submitter supplies.
 *
 * The API (names, arguments, texts of the protocol) is EEMBC's and the MLPerf authors' (benchmark/api of
 * github.com/mlcommons/tiny, Apache-2.0); the implementation is tinygen's, from the protocol. Their
 * internally_implemented.cpp can take the place of command_line.c, commands.c and download.c.
 */
#ifndef MLPERF_API_H
#define MLPERF_API_H

#include <stddef.h>
#include <stdint.h>

#include "mlperf_config.h"

#ifndef MAX_DB_INPUT_SIZE
#define MAX_DB_INPUT_SIZE (96 * 96 * 3) /* bytes of the largest input of all tasks */
#endif

#define EE_CMD_SIZE 80u /* characters of a command, without its terminator */
#define EE_CMD_TERMINATOR '%'
#define EE_FW_VERSION "ULPMark for tinyML Firmware V0.0.1" /* the profile that the runner expects */
#define EE_MSG_READY "m-ready\r\n"

/** Take one character from the host; the terminator of a command has it executed. */
void ee_serial_callback(char character);

/** Execute a command, without its terminator; its text is overwritten. Every reply ends with EE_MSG_READY. */
void ee_serial_command_parser_callback(char *command);

/** Set the board up and say that it is ready: called once, first. */
void ee_benchmark_initialize(void);

/**
 * Copy what `db` commands have downloaded, at most `max_bytes`, to `to`, or only count it where `to` is NULL.
 * Returns how many bytes that is: 0 where nothing has been downloaded.
 */
size_t ee_get_buffer(uint8_t *to, size_t max_bytes);

/** Convert the download to the model's input. */
void th_load_tensor(void);

/** Run one inference on the loaded input. */
void th_infer(void);

/** Print `m-results-[...]` of the last inference. */
void th_results(void);

/** Print `m-lap-us-N`: microseconds of the board's clock, 32 bits wide. */
void th_timestamp(void);

/** Print text; understands %s, %c, %d, %u, %x and %lu, with a field width that is filled up with zeros (%02x). */
void th_printf(const char *format, ...);

/** Wait for a character from the host. */
char th_getchar(void);

/** Make the serial port ready. */
void th_serialport_initialize(void);

/** Make the clock ready and print the timestamp mode. */
void th_timestamp_initialize(void);

/** Make the model ready. */
void th_final_initialize(void);

/** Called right before and right after the measured inferences. */
void th_pre(void);
void th_post(void);

/** A command is complete: execute it. */
void th_command_ready(char volatile *command);

#endif
