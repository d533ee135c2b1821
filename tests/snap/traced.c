/* For formats_trace.snap: what the events of a log become.
 *
 *     traced [--capacity BYTES] [--granule BYTES] [--chosen-capacity BYTES] <EVENTS
 *
 * Each line of standard input is a log, of events that ';' parts: KIND ADDRESS SIZE [stream=N]
 * [host=N] [tag=N] [requested=N].  Kinds: alloc, free, requested and completed (a free), failed,
 * there (in the final state); live asks whether a block is.  The event number counts as the line of
 * the log. */
#include "formats/common/trace.h"
#include "harness/op/ops_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct setup fixed;
static uint64_t chosen_capacity_bytes;

static uint64_t read_key(const char *words, const char *key)
{
    const char *at = strstr(words, key);
    return at == NULL ? 0 : strtoull(at + strlen(key), NULL, 10);
}

static enum import_result play_event(struct event_trace *trace, const char *words, size_t line)
{
    static const struct {
        const char *kind;
        enum import_result (*play)(struct event_trace *trace, const struct trace_event *event);
    } kinds[] = {{"alloc", trace_alloc},
                 {"free", trace_free},
                 {"requested", trace_free_requested},
                 {"completed", trace_free_completed},
                 {"failed", trace_failed},
                 {"there", trace_was_there}};
    char kind[32] = "";
    struct trace_event event = {.line = line};
    (void)sscanf(words, " %31s %" SCNu64 " %" SCNu64, kind, &event.address, &event.size_bytes);
    event.stream = read_key(words, "stream=");
    event.host = (uint8_t)read_key(words, "host=");
    event.tag = (uint8_t)read_key(words, "tag=");
    event.requested_bytes = read_key(words, "requested=");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].kind, kind) == 0) {
            return kinds[i].play(trace, &event);
        }
    }
    printf("  %" PRIu64 " is %slive on host %u\n", event.address,
           trace_is_live(trace, event.host, event.address) ? "" : "not ", (unsigned)event.host);
    return IMPORT_OK;
}

static void print_trace(const struct import *import, const struct trace_totals *totals)
{
    char op[OP_TEXT_BYTES];
    const char *defrag = setup_option(&import->setup, "defrag");
    printf("  capacity %" PRIu64 ", granule %" PRIu64 ", hosts %" PRIu32 ", defrag %s; %" PRIu64
           " allocs, %" PRIu64 " frees, %" PRIu64 " unknown, %" PRIu64 " failures, %" PRIu64
           " at the start, %" PRIu64 " streams; live %" PRIu64 " in %" PRIu64 ", peak %" PRIu64
           "\n",
           import->setup.capacity_bytes, (uint64_t)import->setup.granule_bytes,
           import->setup.host_count, defrag == NULL ? "not said" : defrag, (uint64_t)totals->allocs,
           (uint64_t)totals->frees, (uint64_t)totals->unknown_frees, (uint64_t)totals->failures,
           (uint64_t)totals->at_start, (uint64_t)totals->streams, totals->live_bytes,
           (uint64_t)totals->live_count, totals->peak_bytes);
    for (size_t i = 0, said = 0; i < import->ops.count; i++) {
        printf("  %zu: %s", i, op_print(&import->ops.ops[i], op));
        for (; said < import->said_count && import->said[said].op == i; said++) {
            printf(import->said[said].kind == SAID_FAILED ? "  [failed]" : "  [said]");
        }
        printf("\n");
    }
    printf("%s%s", import->notes, import->notes[0] == '\0' ? "" : "\n");
}

static void tell_log(char *log)
{
    struct import import;
    struct import_error error = {0};
    struct trace_totals totals = {0};
    const struct import_input input = {.text = "", .fixed = &fixed};
    enum import_result result = IMPORT_OK;
    size_t line = 1;
    import_init(&import);
    struct event_trace *trace = trace_begin(&input, &import, &error);
    import.setup.capacity_bytes = chosen_capacity_bytes;
    for (char *rest = NULL, *words = strtok_r(log, ";\n", &rest);
         words != NULL && result == IMPORT_OK; words = strtok_r(NULL, ";\n", &rest), line++) {
        result = play_event(trace, words, line);
    }
    if (result == IMPORT_OK) {
        result = trace_end(trace, &totals);
    } else {
        trace_abandon(trace);
    }
    if (result == IMPORT_OK) {
        print_trace(&import, &totals);
    } else {
        printf("  %s at event %zu: %s\n", result == IMPORT_INVALID ? "invalid" : "incomplete",
               error.line, error.reason);
    }
    import_deinit(&import);
}

int main(int count, char *words[])
{
    char *line = NULL;
    size_t room = 0;
    for (int i = 1; i + 1 < count; i += 2) {
        uint64_t *value = strcmp(words[i], "--capacity") == 0 ? &fixed.capacity_bytes
                                                              : &chosen_capacity_bytes;
        if (strcmp(words[i], "--granule") == 0) {
            fixed.granule_bytes = strtoull(words[i + 1], NULL, 10);
        } else {
            *value = strtoull(words[i + 1], NULL, 10);
        }
    }
    while (getline(&line, &room, stdin) > 0) {
        printf("%s", line);
        tell_log(line);
    }
    free(line);
    return 0;
}
