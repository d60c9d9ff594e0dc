/*
 * A TCG plugin that counts executed instructions by address, between the calls of two functions of the guest.
 *
 * Arguments (all addresses are the guest's, in hexadecimal):
 *     out=FILE       where the counts go when QEMU ends
 *     start=ADDRESS  a function that begins (or begins again) to count
 *     stop=ADDRESS   a function that ends it
 *     table=ADDRESS  an array of uint64_t, optional: a store into element n after `stop` assigns what was
 *     entries=N      counted last to n; without a table everything is assigned to 0
 *     handler=A:B    an interrupt's code from A to before B is as if it did not run, optional
 *     flash=A:B:W    code and constants from A to before B are read W bytes at a time, through two caches
 *     icache=N:S:K   N lines of S bytes for instructions, in sets of K: the one used longest ago makes room
 *     dcache=N:S:K   the same for loads
 *     misaligned=FILE  counted loads and stores at addresses that are no multiple of their size, optional: a line
 *                    "address_of_the_instruction address size" for each, at most a thousand
 *     fences=FILE    ranges of memory that nothing counted may touch, optional: a line "begin end" for each, ascending
 *     crossed=FILE   counted loads and stores that touch one, as lines like those above; needed with fences
 *
 * A line of the file is "n address executed fallen_through instruction_fetches data_fetches". The fourth column counts
 * how often the instruction was followed by the one behind it, for instructions that end a translation block. The rest
 * of a branch's executions were taken. The last two are reads of flash that no cache has spared: to get the
 * instruction, and what it loads. Caches are empty when the program starts, and know nothing of what is not counted.
 * A line of a cache is filled by as many reads as are asked for, each of W bytes. Without flash there is none of this,
 * and no load is looked at.
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
enum { MEM_RW = 3 };     /* of enum qemu_plugin_mem_rw; QEMU 7.2 takes loads for stores where only one is asked for */

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
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, exit_callback callback, void *data);

EXPORT int qemu_plugin_version = PLUGIN_API_VERSION;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv);

enum { MOST_READS_OF_A_LINE = 64 }; /* bits of `present` */
enum { MOST_REPORTED = 1000 };      /* accesses of a kind that are written */

struct line {
    uint64_t tag;     /* address over the size of a line, and 1: 0 is none */
    uint64_t present; /* a bit for each read that fills a part of it */
    uint64_t used;    /* when, by the clock of the cache */
};

struct cache {
    size_t sets, ways;
    uint64_t line_bytes;
    uint64_t clock; /* looks so far */
    struct line *last;
    struct line *lines; /* sets one behind the other */
};

/* A read that a translation block begins with, or goes on to. */
struct fetch {
    uint64_t address; /* a multiple of the width of reads */
    size_t index;     /* of the instruction that asks for it */
};

/* What an instruction has read from flash itself. */
struct fetches {
    uint64_t instruction, data;
};

/* Accesses of a kind. */
struct report {
    FILE *file; /* NULL: nobody asks for them */
    size_t count;
};

struct range {
    uint64_t begin, end;
};

/* A translation block: QEMU may translate the same code again; each translation has its own. */
struct block {
    struct block *next;
    uint64_t executed;
    uint64_t fallen_through; /* of its last instruction */
    uint64_t *assigned;      /* per entry: executed, then fallen through */
    uint64_t first;          /* address */
    uint64_t end;            /* address behind the last instruction */
    struct fetch *reads;     /* NULL without flash, as the next two */
    size_t read_count;
    struct fetches *fetched;    /* by instruction: counted, and not yet assigned */
    struct fetches *fetched_of; /* the same per entry */
    size_t count;               /* instructions */
    uint64_t addresses[];
};

static const char *out_file;
static uint64_t start_address, stop_address, table_address;
static size_t entries = 1;
static uint64_t handler_begin, handler_end;
static bool counting, waiting; /* waiting: counted, and not yet assigned */
static struct block *blocks;
static struct block *previous;                      /* block that was executed before this one */
static uint64_t flash_begin, flash_end, read_bytes; /* no flash where they are 0 */
static struct cache instruction_cache, data_cache;
static struct report misaligned, crossed;
static struct range *fences;
static size_t fence_count;

static bool has_flash(void)
{
    return flash_end != 0;
}

/* The line of `tag` in its set, or the one that makes room for it. */
static struct line *line_of(struct cache *cache, uint64_t tag)
{
    struct line *set = &cache->lines[(tag % cache->sets) * cache->ways];
    struct line *oldest = set;

    for (size_t way = 0; way < cache->ways; way++) {
        if (set[way].tag == tag) {
            return &set[way];
        }
        if (set[way].used < oldest->used) {
            oldest = &set[way];
        }
    }
    oldest->tag = tag;
    oldest->present = 0;
    return oldest;
}

/* Whether flash has to be read for what is at `address`. */
static bool is_missed(struct cache *cache, uint64_t address)
{
    const uint64_t tag = address / cache->line_bytes + 1;
    const uint64_t part = (uint64_t)1 << (address % cache->line_bytes / read_bytes);
    struct line *line = cache->last != NULL && cache->last->tag == tag ? cache->last : line_of(cache, tag);
    const bool missed = (line->present & part) == 0;

    line->used = ++cache->clock;
    line->present |= part;
    cache->last = line;
    return missed;
}

static void fetch_instructions(struct block *block)
{
    for (size_t i = 0; i < block->read_count; i++) {
        if (is_missed(&instruction_cache, block->reads[i].address)) {
            block->fetched[block->reads[i].index].instruction++;
        }
    }
}

static void forget(void)
{
    for (struct block *block = blocks; block != NULL; block = block->next) {
        block->executed = 0;
        block->fallen_through = 0;
        if (has_flash()) {
            memset(block->fetched, 0, block->count * sizeof *block->fetched);
        }
    }
}

static void assign(size_t entry)
{
    for (struct block *block = blocks; block != NULL; block = block->next) {
        block->assigned[2 * entry] += block->executed;
        block->assigned[2 * entry + 1] += block->fallen_through;
        for (size_t i = 0; has_flash() && i < block->count; i++) {
            block->fetched_of[entry * block->count + i].instruction += block->fetched[i].instruction;
            block->fetched_of[entry * block->count + i].data += block->fetched[i].data;
        }
    }
    forget();
    waiting = false;
}

static bool is_handler(const struct block *block)
{
    return block->first >= handler_begin && block->first < handler_end;
}

static void executed(unsigned int cpu, void *data)
{
    struct block *block = data;

    (void)cpu;
    if (is_handler(block)) {
        return; /* when it comes depends on the host's clock */
    }
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
        fetch_instructions(block);
        if (previous != NULL && previous->end == block->first) {
            previous->fallen_through++;
        }
    }
    previous = block;
}

static void stored(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    (void)cpu;
    (void)data;
    if (waiting && qemu_plugin_mem_is_store(info) && address >= table_address &&
        address < table_address + 8 * entries) {
        assign((size_t)(address - table_address) / 8);
    }
}

static void loaded(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    const uint64_t behind = address + ((uint64_t)1 << qemu_plugin_mem_size_shift(info));
    struct fetches *fetched = data;

    (void)cpu;
    if (!counting || qemu_plugin_mem_is_store(info) || address < flash_begin || address >= flash_end) {
        return;
    }
    for (uint64_t at = address / read_bytes * read_bytes; at < behind; at += read_bytes) {
        if (is_missed(&data_cache, at)) {
            fetched->data++;
        }
    }
}

/* Whether a byte from `address` on lies in a fence. */
static bool is_crossing(uint64_t address, uint64_t bytes)
{
    size_t low = 0;
    size_t high = fence_count; /* the first fence that ends behind the address */

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (fences[middle].end <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < fence_count && fences[low].begin < address + bytes;
}

static void say(struct report *report, uint64_t instruction, uint64_t address, uint64_t bytes)
{
    if (report->count < MOST_REPORTED) {
        report->count++;
        fprintf(report->file, "%llx %llx %llu\n", (unsigned long long)instruction, (unsigned long long)address,
            (unsigned long long)bytes);
    }
}

static void accessed(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    const uint64_t bytes = (uint64_t)1 << qemu_plugin_mem_size_shift(info);
    const uint64_t *instruction = data;

    (void)cpu;
    if (counting && misaligned.file != NULL && address % bytes != 0) {
        say(&misaligned, *instruction, address, bytes);
    }
    if (counting && is_crossing(address, bytes)) {
        say(&crossed, *instruction, address, bytes);
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

/* The reads that get all instructions of `block`, in their order, each once where it is asked for twice in a row. */
static void find_reads(struct block *block)
{
    uint64_t last = UINT64_MAX;

    block->reads = allocate((block->end - block->first) / read_bytes + 2, sizeof *block->reads);
    for (size_t i = 0; i < block->count; i++) {
        const uint64_t end = i + 1 < block->count ? block->addresses[i + 1] : block->end;

        for (uint64_t at = block->addresses[i] / read_bytes * read_bytes; at < end; at += read_bytes) {
            if (at != last && at >= flash_begin && at < flash_end) {
                block->reads[block->read_count++] = (struct fetch){at, i};
            }
            last = at;
        }
    }
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    const size_t count = qemu_plugin_tb_n_insns(tb);
    struct block *block = allocate(1, sizeof *block + count * sizeof block->addresses[0]);

    (void)id;
    block->count = count;
    block->first = qemu_plugin_tb_vaddr(tb);
    block->assigned = allocate(2 * entries, sizeof *block->assigned);
    if (has_flash()) {
        block->fetched = allocate(count, sizeof *block->fetched);
        block->fetched_of = allocate(entries * count, sizeof *block->fetched_of);
    }
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

        block->addresses[i] = qemu_plugin_insn_vaddr(insn);
        block->end = block->addresses[i] + qemu_plugin_insn_size(insn);
        if (table_address != 0) {
            qemu_plugin_register_vcpu_mem_cb(insn, stored, CB_NO_REGS, MEM_RW, NULL);
        }
        if (misaligned.file != NULL || crossed.file != NULL) {
            qemu_plugin_register_vcpu_mem_cb(insn, accessed, CB_NO_REGS, MEM_RW, &block->addresses[i]);
        }
        if (has_flash() && !is_handler(block)) {
            qemu_plugin_register_vcpu_mem_cb(insn, loaded, CB_NO_REGS, MEM_RW, &block->fetched[i]);
        }
    }
    if (has_flash()) {
        find_reads(block);
    }
    block->next = blocks;
    blocks = block;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, CB_NO_REGS, block);
}

static void finish(const struct report *report)
{
    if (report->file != NULL) {
        fclose(report->file);
    }
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
                const struct fetches none = {0, 0};
                const struct fetches fetched = has_flash() ? block->fetched_of[entry * block->count + i] : none;

                fprintf(file, "%zu %llx %llu %llu %llu %llu\n", entry, (unsigned long long)block->addresses[i],
                    (unsigned long long)assigned[0], through, (unsigned long long)fetched.instruction,
                    (unsigned long long)fetched.data);
            }
        }
    }
    fclose(file);
    finish(&misaligned);
    finish(&crossed);
}

/* The text behind `key` in `argument`, or NULL. */
static const char *value_of(const char *argument, const char *key)
{
    const size_t length = strlen(key);

    return strncmp(argument, key, length) == 0 ? argument + length : NULL;
}

/* Numbers with colons between them, the first two of `base`; whether there are `count` and no more. */
static bool numbers(const char *text, int base, unsigned long long *found, int count)
{
    for (int i = 0; i < count; i++) {
        char *end;

        found[i] = strtoull(text, &end, i == 2 ? 10 : base);
        if (end == text || *end != (i + 1 == count ? '\0' : ':')) {
            return false;
        }
        text = end + 1;
    }
    return true;
}

static bool parsed_cache(struct cache *cache, const char *value)
{
    unsigned long long found[3];

    if (!numbers(value, 10, found, 3) || found[0] == 0 || found[1] == 0 || found[2] == 0 || found[0] % found[2] != 0) {
        return false;
    }
    cache->ways = found[2];
    cache->sets = found[0] / found[2];
    cache->line_bytes = found[1];
    cache->lines = allocate(found[0], sizeof *cache->lines);
    return true;
}

static bool parsed_handler(const char *value)
{
    unsigned long long found[2];

    if (!numbers(value, 16, found, 2)) {
        return false;
    }
    handler_begin = found[0];
    handler_end = found[1];
    return true;
}

static bool parsed_flash(const char *value)
{
    unsigned long long found[3];

    if (!numbers(value, 16, found, 3) || found[0] >= found[1] || found[2] == 0) {
        return false;
    }
    flash_begin = found[0];
    flash_end = found[1];
    read_bytes = found[2];
    return true;
}

static bool begun(struct report *report, const char *name)
{
    report->file = fopen(name, "w");
    return report->file != NULL;
}

static bool parsed_fences(const char *name)
{
    FILE *file = fopen(name, "r");
    unsigned long long begin;
    unsigned long long end;

    if (file == NULL) {
        return false;
    }
    while (fscanf(file, "%llx %llx", &begin, &end) == 2) {
        fences = realloc(fences, (fence_count + 1) * sizeof *fences);
        if (fences == NULL) {
            break;
        }
        fences[fence_count++] = (struct range){begin, end};
    }
    fclose(file);
    return fences != NULL;
}

/* Whether the lines of a cache are filled by a number of reads that can be kept. */
static bool is_filled_by_reads(const struct cache *cache)
{
    return cache->lines != NULL && cache->line_bytes % read_bytes == 0 &&
           cache->line_bytes / read_bytes <= MOST_READS_OF_A_LINE;
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
    } else if ((value = value_of(argument, "handler=")) != NULL) {
        return parsed_handler(value);
    } else if ((value = value_of(argument, "flash=")) != NULL) {
        return parsed_flash(value);
    } else if ((value = value_of(argument, "icache=")) != NULL) {
        return parsed_cache(&instruction_cache, value);
    } else if ((value = value_of(argument, "dcache=")) != NULL) {
        return parsed_cache(&data_cache, value);
    } else if ((value = value_of(argument, "misaligned=")) != NULL) {
        return begun(&misaligned, value);
    } else if ((value = value_of(argument, "fences=")) != NULL) {
        return parsed_fences(value);
    } else if ((value = value_of(argument, "crossed=")) != NULL) {
        return begun(&crossed, value);
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
    if ((fence_count != 0) != (crossed.file != NULL)) {
        fprintf(stderr, "instruction_counter: fences and crossed are needed together\n");
        return 1;
    }
    if (has_flash() && !(is_filled_by_reads(&instruction_cache) && is_filled_by_reads(&data_cache))) {
        fprintf(stderr, "instruction_counter: flash needs two caches with lines of whole reads\n");
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, write_counts, NULL);
    return 0;
}
