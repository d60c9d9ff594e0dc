/* The commands of the runner, but `db`: who the device is, what time it is, inferences. */
#include "command_line.h"
#include "mlperf_api.h"

#define DEFAULT_WARMUPS 10

struct command {
    const char *name;
    void (*execute)(char *rest); /* `rest`: what follows the name */
};

static void name_command(char *rest)
{
    (void)rest;
    th_printf("m-name-dut-[%s]\r\n", TH_VENDOR_NAME_STRING);
}

static void timestamp_command(char *rest)
{
    (void)rest;
    th_timestamp();
}

static void profile_command(char *rest)
{
    (void)rest;
    th_printf("m-profile-[%s]\r\n", EE_FW_VERSION);
    th_printf("m-model-[%s]\r\n", TH_MODEL_VERSION);
}

static void help_command(char *rest)
{
    (void)rest;
    th_printf("%s\r\n", EE_FW_VERSION);
    th_printf("name           who this device is\r\n");
    th_printf("profile        benchmark and model\r\n");
    th_printf("timestamp      microseconds of the device's clock\r\n");
    th_printf("db load N      begin a download of N bytes\r\n");
    th_printf("db HH[HH...]   its next bytes, in hex\r\n");
    th_printf("db print       what has been downloaded\r\n");
    th_printf("infer [N [W]]  W warm-up inferences, then N measured ones\r\n");
    th_printf("results        outputs of the last inference\r\n");
#ifdef BLOCK_SAMPLES
    th_printf("start          listen for the word\r\n");
    th_printf("stop           listen no more; print the activations since then\r\n");
#endif
}

static void repeat(int32_t inferences)
{
    for (int32_t i = 0; i < inferences; i++) {
        th_infer();
    }
}

/* The runner divides by the time between the two lines of the clock: nothing is printed between them. */
static void repeat_on_the_clock(int32_t inferences)
{
    th_timestamp();
    th_pre();
    repeat(inferences);
    th_post();
    th_timestamp();
}

/* A part of the reply to `infer`: a line with its name and how many inferences it has, those, a line at its end. */
static void reply_part(const char *name, void (*run)(int32_t inferences), int32_t inferences)
{
    th_printf("m-%s-start-%d\r\n", name, (int)inferences);
    run(inferences);
    th_printf("m-%s-done\r\n", name);
}

static void infer_command(char *rest)
{
    const char *iterations = next_word(&rest);
    const char *warmups = next_word(&rest);
    const int32_t n = iterations == NULL ? 1 : decimal(iterations);
    const int32_t w = warmups == NULL ? DEFAULT_WARMUPS : decimal(warmups);

    if (n <= 0) {
        th_printf("e-[Inference iterations must be >0]\r\n");
    } else if (w < 0) {
        th_printf("e-[Inference warmup must be >=0]\r\n");
    } else {
        th_load_tensor();
        reply_part("warmup", repeat, w);
        reply_part("infer", repeat_on_the_clock, n);
        th_results();
    }
}

static void results_command(char *rest)
{
    (void)rest;
    th_results();
}

static const struct command commands[] = {
    {"name", name_command},
    {"timestamp", timestamp_command},
    {"profile", profile_command},
    {"help", help_command},
    {"db", download_command},
    {"infer", infer_command},
    {"results", results_command},
#ifdef BLOCK_SAMPLES
    {"start", start_command},
    {"stop", stop_command},
#endif
};

static void dispatch(const char *name, char *rest)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (is_word(name, commands[i].name)) {
            commands[i].execute(rest);
            return;
        }
    }
    th_printf("e-[Unknown command: %s]\r\n", name);
}

void ee_serial_command_parser_callback(char *command)
{
    char *rest = command;
    const char *name = next_word(&rest);

    dispatch(name == NULL ? "" : name, rest);
    th_printf(EE_MSG_READY);
}

void ee_benchmark_initialize(void)
{
    th_serialport_initialize();
    th_timestamp_initialize();
    th_final_initialize();
    th_printf("m-init-done\r\n");
    th_printf(EE_MSG_READY);
}
