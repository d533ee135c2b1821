/* Prints how many megabytes a second the importers of line formats read, on one core: text drawn
 * from a seed, in memory, imported from the first byte to the last op. */
#include "formats/formats.h"
#include "harness/base/check.h"
#include "harness/base/random.h"
#include "measure/clock.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIVE_COUNT = 20000, ROUND_COUNT = 5, LINE_BYTES_MAX = 128 };

/* A text in the making. */
struct text_drawing {
    struct random random;
    char *text;
    size_t length, room;
};

/* A live block, by its place here: an address or an id, and a size. */
struct named_block {
    uint64_t name, size_bytes;
};

static bool has_room(const struct text_drawing *drawing)
{
    return drawing->length + LINE_BYTES_MAX < drawing->room;
}

static void add_line(struct text_drawing *drawing, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add_line(struct text_drawing *drawing, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    drawing->length += (size_t)vsnprintf(drawing->text + drawing->length,
                                         drawing->room - drawing->length, format, arguments);
    va_end(arguments);
}

/* --- one text of each format --- */

static void draw_rmm(struct text_drawing *drawing)
{
    struct named_block *live = calloc(LIVE_COUNT, sizeof *live);
    CHECK(live != NULL);
    add_line(drawing, "Thread,Time,Action,Pointer,Size,Stream\n");
    for (uint64_t row = 0; has_room(drawing); row++) {
        const uint64_t place = random_below(&drawing->random, LIVE_COUNT);
        const bool is_free = live[place].size_bytes != 0;
        if (!is_free) {
            live[place] = (struct named_block){0x7f1400000000 + place * 0x1000000,
                                               random_log_uniform(&drawing->random, 1, 1 << 16) *
                                                   256};
        }
        add_line(drawing, "%u,%02u:%02u:%02u.%06u,%s,0x%" PRIx64 ",%" PRIu64 ",0x0\n", 23110,
                 (unsigned)(row / 3600000000 % 24), (unsigned)(row / 60000000 % 60),
                 (unsigned)(row / 1000000 % 60), (unsigned)(row % 1000000),
                 is_free ? "free" : "allocate", live[place].name, live[place].size_bytes);
        live[place].size_bytes = is_free ? 0 : live[place].size_bytes;
    }
    free(live);
}

/* The header, whose counts are known at the end, has room for them in blanks' stead: leading zeros.
 */
static void draw_malloc_lab(struct text_drawing *drawing)
{
    uint64_t *live = calloc(LIVE_COUNT, sizeof *live); /* id + 1; 0 = none */
    uint64_t ids = 0;
    uint64_t ops = 0;
    char header[64];
    CHECK(live != NULL);
    add_line(drawing, "1\n%012u\n%012u\n1\n", 0, 0);
    for (; has_room(drawing); ops++) {
        const uint64_t place = random_below(&drawing->random, LIVE_COUNT);
        if (live[place] != 0) {
            add_line(drawing, "f %" PRIu64 "\n", live[place] - 1);
            live[place] = 0;
        } else {
            live[place] = ++ids;
            add_line(drawing, "a %" PRIu64 " %" PRIu64 "\n", ids - 1,
                     random_log_uniform(&drawing->random, 1, 1 << 20));
        }
    }
    const int length = snprintf(header, sizeof header, "1\n%012" PRIu64 "\n%012" PRIu64 "\n1\n",
                                ids, ops);
    memcpy(drawing->text, header, (size_t)length);
    free(live);
}

static void draw_static_planning(struct text_drawing *drawing)
{
    add_line(drawing, "id,lower,upper,size\n");
    for (uint64_t row = 0; has_room(drawing) && row < (1 << 22); row++) {
        const uint64_t lower = row / 4 + random_below(&drawing->random, 1000);
        add_line(drawing, "b%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", row, lower,
                 lower + random_between(&drawing->random, 1, 5000),
                 random_log_uniform(&drawing->random, 1, 1 << 16) * 512);
    }
}

static void draw_azure_llm(struct text_drawing *drawing)
{
    add_line(drawing, "TIMESTAMP,ContextTokens,GeneratedTokens\r\n");
    for (uint64_t ticks = 0; has_room(drawing); ticks += random_below(&drawing->random, 2000000)) {
        const uint64_t seconds = ticks / 10000000;
        const uint64_t days = seconds / 86400; /* 28 a month are days of every month */
        add_line(drawing, "%04u-%02u-%02u %02u:%02u:%02u.%07u,%" PRIu64 ",%" PRIu64 "\r\n",
                 (unsigned)(2023 + days / 336), (unsigned)(1 + days / 28 % 12),
                 (unsigned)(1 + days % 28), (unsigned)(seconds / 3600 % 24),
                 (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60),
                 (unsigned)(ticks % 10000000), random_log_uniform(&drawing->random, 1, 8000),
                 random_log_uniform(&drawing->random, 1, 1000));
    }
}

/* One message behind lines that no format knows. */
static void draw_noise(struct text_drawing *drawing)
{
    for (unsigned step = 0; drawing->length + 2 * LINE_BYTES_MAX < drawing->room; step++) {
        add_line(drawing,
                 "I%04u 12:%02u:%02u.%06u 4711 trainer.py:%u] step %u loss %u.%04u lr 3.0e-04\n",
                 101 + step / 100000 % 28, step / 60 % 60, step % 60,
                 (unsigned)random_below(&drawing->random, 1000000),
                 (unsigned)random_below(&drawing->random, 900), step,
                 (unsigned)random_below(&drawing->random, 9),
                 (unsigned)random_below(&drawing->random, 10000));
    }
    add_line(
        drawing,
        "Attempting to allocate 8.00M. That was not possible. There are 6.43M free.; (0x0x1_HBM0)\n");
}

static const struct {
    const char *format;
    void (*draw)(struct text_drawing *drawing);
} texts[] = {
    {"rmm", draw_rmm},
    {"malloc_lab", draw_malloc_lab},
    {"static_planning", draw_static_planning},
    {"azure_llm", draw_azure_llm},
    {"auto", draw_noise},
};

/* --- measuring --- */

/* The fastest of some rounds: others run on this machine, too. */
static void measure_format(const char *format, const struct text_drawing *drawing)
{
    double best_ns = INFINITY;
    size_t ops = 0;
    for (int round = 0; round < ROUND_COUNT; round++) {
        struct import import;
        struct import_error error = {0};
        char text[512];
        import_init(&import);
        const double before_ns = read_cpu_ns();
        const enum import_result result = import_text(drawing->text, drawing->length, format, NULL,
                                                      &import, &error);
        const double elapsed_ns = read_cpu_ns() - before_ns;
        if (result != IMPORT_OK) {
            (void)fprintf(stderr, "%s\n", import_error_print(format, &error, text, sizeof text));
            exit(EXIT_FAILURE);
        }
        ops = import.ops.count;
        best_ns = elapsed_ns < best_ns ? elapsed_ns : best_ns;
        import_deinit(&import);
    }
    printf("%-16s %6zu MB  %9zu ops  %6.0f MB/s  %5.1f ns per op\n", format,
           drawing->length / 1000000, ops, (double)drawing->length * 1000.0 / best_ns,
           best_ns / (double)ops);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    const bool is_quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
    const size_t megabytes = is_quick ? 1 : argc >= 2 ? strtoul(argv[1], NULL, 10) : 256;
    if (argc > 3 || megabytes == 0 || megabytes > 100000) {
        (void)fprintf(stderr, "usage: bench_import [--quick | MEGABYTES [FORMAT]]\n"
                              "Prints how fast each importer reads a log of MEGABYTES.\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct text_drawing drawing = {.room = megabytes * 1000000};
        if (argc == 3 && strcmp(argv[2], texts[i].format) != 0) {
            continue;
        }
        random_init(&drawing.random, 1);
        drawing.text = malloc(drawing.room);
        CHECK(drawing.text != NULL);
        texts[i].draw(&drawing);
        measure_format(texts[i].format, &drawing);
        free(drawing.text);
    }
    return 0;
}
