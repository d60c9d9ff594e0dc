/*
 * A TCG plugin that counts executed instructions by address, between the calls of two functions of the guest.
 *
 * Arguments (all addresses are the guest's, in hexadecimal):
 *     out=FILE       where the counts go when QEMU ends
 *     start=ADDRESS  a function that begins (or begins again) to count
 *     stop=ADDRESS   a function that ends it
 *     table=ADDRESS  an array of uint64_t, optional: a store into element n after `stop` assigns what was
 *     entries=N      counted last to n; without a table everything is assigned to 0
 *
 * A line of the file is "n address executed fallen_through": the last column counts how often the instruction was
 * followed by the one behind it, for instructions that end a translation block. The rest of a branch's executions
 * were taken.
 *
 * Only functions are used that QEMU has had since plugins exist, so that the one thing that changes from version to
 * version is the number that QEMU asks for: PLUGIN_API_VERSION. QEMU's header is not packaged by distributions, so
 * the few prototypes stand here.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info_t;

enum { CB_NO_REGS = 0 }; /* of enum qemu_plugin_cb_flags */
enum { MEM_W = 2 };      /* of enum qemu_plugin_mem_rw */

typedef void (*tb_trans_callback)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*exec_callback)(unsigned int, void *);
typedef void (*mem_callback)(unsigned int, qemu_plugin_meminfo_t, uint64_t, void *);
typedef void (*exit_callback)(qemu_plugin_id_t, void *);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, tb_trans_callback callback);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, exec_callback callback, int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(
    struct qemu_plugin_insn *insn, mem_callback callback, int flags, int rw, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, exit_callback callback, void *data);

EXPORT int qemu_plugin_version = PLUGIN_API_VERSION;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv);

/* A translation block: QEMU may translate the same code again; each translation has its own. */
struct block {
    struct block *next;
    uint64_t executed;
    uint64_t fallen_through; /* of its last instruction */
    uint64_t *assigned;      /* per entry: executed, then fallen through */
    uint64_t first;          /* address */
    uint64_t end;            /* address behind the last instruction */
    size_t count;            /* instructions */
    uint64_t addresses[];
};

static const char *out_file;
static uint64_t start_address, stop_address, table_address;
static size_t entries = 1;
static bool counting, waiting; /* waiting: counted, and not yet assigned */
static struct block *blocks;
static struct block *previous; /* block that was executed before this one */

static void forget(void)
{
    for (struct block *block = blocks; block != NULL; block = block->next) {
        block->executed = 0;
        block->fallen_through = 0;
    }
}

static void assign(size_t entry)
{
    for (struct block *block = blocks; block != NULL; block = block->next) {
        block->assigned[2 * entry] += block->executed;
        block->assigned[2 * entry + 1] += block->fallen_through;
    }
    forget();
    waiting = false;
}

static void executed(unsigned int cpu, void *data)
{
    struct block *block = data;

    (void)cpu;
    if (block->first == stop_address && counting) {
        counting = false;
        waiting = true;
        if (table_address == 0) {
            assign(0);
        }
    } else if (block->first == start_address) {
        if (waiting) { /* counted between two marks, and nobody's */
            forget();
            waiting = false;
        }
        counting = true;
    }
    if (counting) {
        block->executed++;
        if (previous != NULL && previous->end == block->first) {
            previous->fallen_through++;
        }
    }
    previous = block;
}

static void stored(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    (void)cpu;
    (void)info;
    (void)data;
    if (waiting && address >= table_address && address < table_address + 8 * entries) {
        assign((size_t)(address - table_address) / 8);
    }
}

static void *allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);

    if (memory == NULL) {
        fprintf(stderr, "instruction_counter: out of memory\n");
        exit(1);
    }
    return memory;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    const size_t count = qemu_plugin_tb_n_insns(tb);
    struct block *block = allocate(1, sizeof *block + count * sizeof block->addresses[0]);

    (void)id;
    block->count = count;
    block->first = qemu_plugin_tb_vaddr(tb);
    block->assigned = allocate(2 * entries, sizeof *block->assigned);
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

        block->addresses[i] = qemu_plugin_insn_vaddr(insn);
        block->end = block->addresses[i] + qemu_plugin_insn_size(insn);
        if (table_address != 0) {
            qemu_plugin_register_vcpu_mem_cb(insn, stored, CB_NO_REGS, MEM_W, NULL);
        }
    }
    block->next = blocks;
    blocks = block;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, CB_NO_REGS, block);
}

static void write_counts(qemu_plugin_id_t id, void *data)
{
    FILE *file = fopen(out_file, "w");

    (void)id;
    (void)data;
    if (file == NULL) {
        fprintf(stderr, "instruction_counter: %s cannot be written\n", out_file);
        return;
    }
    for (const struct block *block = blocks; block != NULL; block = block->next) {
        for (size_t entry = 0; entry < entries; entry++) {
            const uint64_t *assigned = &block->assigned[2 * entry];

            for (size_t i = 0; i < block->count && assigned[0] != 0; i++) {
                const unsigned long long through = i + 1 == block->count ? assigned[1] : assigned[0];

                fprintf(file, "%zu %llx %llu %llu\n", entry, (unsigned long long)block->addresses[i],
                    (unsigned long long)assigned[0], through);
            }
        }
    }
    fclose(file);
}

/* The text behind `key` in `argument`, or NULL. */
static const char *value_of(const char *argument, const char *key)
{
    const size_t length = strlen(key);

    return strncmp(argument, key, length) == 0 ? argument + length : NULL;
}

static bool parsed(const char *argument)
{
    const char *value;

    if ((value = value_of(argument, "out=")) != NULL) {
        out_file = value;
    } else if ((value = value_of(argument, "start=")) != NULL) {
        start_address = strtoull(value, NULL, 16);
    } else if ((value = value_of(argument, "stop=")) != NULL) {
        stop_address = strtoull(value, NULL, 16);
    } else if ((value = value_of(argument, "table=")) != NULL) {
        table_address = strtoull(value, NULL, 16);
    } else if ((value = value_of(argument, "entries=")) != NULL) {
        entries = strtoull(value, NULL, 10);
    } else {
        return false;
    }
    return true;
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (!parsed(argv[i])) {
            fprintf(stderr, "instruction_counter: %s is not an argument\n", argv[i]);
            return 1;
        }
    }
    if (out_file == NULL || start_address == 0 || stop_address == 0 || entries == 0) {
        fprintf(stderr, "instruction_counter: out, start and stop are needed\n");
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, write_counts, NULL);
    return 0;
}
