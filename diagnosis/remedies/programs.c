/* No more than n loaded programs: idle ones are unloaded, and loaded again when they are executed.
 */
#include "diagnosis/remedy.h"

#include "diagnosis/private/variant.h"
#include "harness/base/array.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The loaded programs of all hosts, the one that was used longest ago first. */
struct loaded {
    uint32_t *loads; /* count of them */
    size_t count, room;
    uint32_t count_by_host[OP_HOST_COUNT_MAX];
};

static void remove_loaded(struct loaded *loaded, size_t at, uint8_t host)
{
    for (size_t i = at + 1; i < loaded->count; i++) {
        loaded->loads[i - 1] = loaded->loads[i];
    }
    loaded->count--;
    loaded->count_by_host[host]--;
}

static void add_loaded(struct loaded *loaded, uint32_t load, uint8_t host)
{
    loaded->loads = array_grown(loaded->loads, loaded->count, &loaded->room, sizeof *loaded->loads);
    loaded->loads[loaded->count++] = load;
    loaded->count_by_host[host]++;
}

/* Returns the place of the program; loaded->count when it is not loaded. */
static size_t find_loaded(const struct loaded *loaded, uint32_t load)
{
    size_t i = 0;
    while (i < loaded->count && loaded->loads[i] != load) {
        i++;
    }
    return i;
}

/* The most programs that one host has loaded at a time. */
static uint32_t count_most_loaded(const struct remedy_case *given)
{
    uint32_t count[OP_HOST_COUNT_MAX] = {0};
    uint32_t most = 0;
    for (size_t i = 0; i < given->ops->count; i++) {
        const struct op *op = &given->ops->ops[i];
        count[op->host] += op->kind == OP_LOAD;
        count[op->host] -= op->kind == OP_UNLOAD && count[op->host] > 0;
        most = count[op->host] > most ? count[op->host] : most;
    }
    return most;
}

struct programs {
    struct rewrite rewrite;
    struct loaded loaded;
    uint64_t n, unloaded, again;
};

/* Makes room for one more program on the host. */
static void unload_oldest(struct programs *programs, uint8_t host)
{
    struct loaded *loaded = &programs->loaded;
    for (size_t i = 0; i < loaded->count && loaded->count_by_host[host] >= programs->n;) {
        const uint32_t load = loaded->loads[i];
        if (programs->rewrite.from->ops[load].host != host) {
            i++;
            continue;
        }
        rewrite_add_on(&programs->rewrite, OP_UNLOAD, load);
        remove_loaded(loaded, i, host);
        programs->unloaded++;
    }
}

static void keep_execute(struct programs *programs, uint32_t i, uint32_t load)
{
    const uint8_t host = programs->rewrite.from->ops[i].host;
    const size_t at = find_loaded(&programs->loaded, load);
    if (at < programs->loaded.count) {
        remove_loaded(&programs->loaded, at, host);
    } else {
        unload_oldest(programs, host);
        rewrite_keep(&programs->rewrite, load);
        programs->again++;
    }
    add_loaded(&programs->loaded, load, host);
    rewrite_keep(&programs->rewrite, i);
}

static void keep_op(struct programs *programs, uint32_t i)
{
    const struct op *op = &programs->rewrite.from->ops[i];
    if (op->kind == OP_LOAD) {
        unload_oldest(programs, op->host);
        add_loaded(&programs->loaded, i, op->host);
        rewrite_keep(&programs->rewrite, i);
    } else if (op->kind == OP_EXECUTE && op->ref < i) {
        keep_execute(programs, i, op->ref);
    } else if (op->kind == OP_UNLOAD) {
        const size_t at = find_loaded(&programs->loaded, op->ref);
        if (at < programs->loaded.count) { /* else it is unloaded already */
            remove_loaded(&programs->loaded, at, op->host);
            rewrite_keep(&programs->rewrite, i);
        }
    } else {
        rewrite_keep(&programs->rewrite, i);
    }
}

static bool programs_apply(const struct remedy_case *given, uint64_t parameter,
                           struct remedy_result *result)
{
    struct programs programs = {.n = parameter};
    rewrite_init(&programs.rewrite, given->ops, &result->ops);
    for (uint32_t i = 0; i < given->ops->count; i++) {
        keep_op(&programs, i);
    }
    rewrite_deinit(&programs.rewrite);
    free(programs.loaded.loads);
    snprintf(result->note, sizeof result->note, "unloaded: %" PRIu64 ", loaded again: %" PRIu64,
             programs.unloaded, programs.again);
    return true;
}

/* One less than there are, and then half of that, down to 1. */
static bool programs_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                               char note[REMEDY_NOTE_BYTES])
{
    const uint32_t most = count_most_loaded(given);
    snprintf(note, REMEDY_NOTE_BYTES, "no host has more than one program loaded");
    *parameter = most < 2 || index > 31 ? 0 : (most - 1) >> index;
    return *parameter >= 1;
}

const struct remedy remedy_programs = {
    .name = "programs",
    .summary = "at most n programs are loaded at a time: the one used longest ago is unloaded",
    .parameter_name = "n",
    .assumes = "The cost of loading a program again is not counted.",
    .search = REMEDY_REFINED,
    .parameter = programs_parameter,
    .apply = programs_apply,
};
