/* The counters of PyTorch's caching allocator: torch.cuda.memory_stats() as Python or JSON, and the
 * table of torch.cuda.memory_summary().  They become the parts of what PyTorch has reserved. */
#include "formats/common/heap_image.h"
#include "formats/common/import.h"
#include "formats/counters/private/counters.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Bytes of all pools together; the table has them in this order, and other rows between. */
enum torch_metric {
    TORCH_METRIC_ALLOCATED,
    TORCH_METRIC_ACTIVE,
    TORCH_METRIC_REQUESTED,
    TORCH_METRIC_RESERVED,
    TORCH_METRIC_SPLIT, /* free in segments of which another part is in use */
    TORCH_METRIC_COUNT
};

/* The last two are running totals. */
enum torch_kind {
    TORCH_KIND_CURRENT,
    TORCH_KIND_PEAK,
    TORCH_KIND_ALLOCATED,
    TORCH_KIND_FREED,
    TORCH_KIND_COUNT
};

enum torch_number {
    TORCH_RETRIES,
    TORCH_OOMS,
    TORCH_REJECTIONS,
    TORCH_SEGMENTS,
    TORCH_NUMBER_COUNT
};

struct torch_counters {
    struct unit_size bytes[TORCH_METRIC_COUNT][TORCH_KIND_COUNT];
    uint32_t known[TORCH_METRIC_COUNT]; /* bit 1 << kind */
    uint64_t numbers[TORCH_NUMBER_COUNT];
    uint32_t known_numbers; /* bit 1 << number */
    bool is_cut_down;       /* sizes are whole units, and the rest is cut off: the table */
    bool has_second;        /* the text has those of another moment or device, which are not read */
};

static inline bool torch_counters_have(const struct torch_counters *counters,
                                       enum torch_metric metric, enum torch_kind kind)
{
    return (counters->known[metric] & 1u << kind) != 0;
}

/* --- a dictionary: "allocated_bytes.all.current": 42817536 --- */

static const char *const metric_names[TORCH_METRIC_COUNT] = {
    "allocated_bytes", "active_bytes", "requested_bytes", "reserved_bytes", "inactive_split_bytes"};
static const char *const kind_names[TORCH_KIND_COUNT] = {"current", "peak", "allocated", "freed"};
static const char *const number_names[TORCH_NUMBER_COUNT] = {
    "num_alloc_retries", "num_ooms", "num_oom_rejections", "segment.all.current"};

/* METRIC.all.KIND */
static bool take_bytes(const struct counter *counter, struct torch_counters *counters)
{
    static const char pool[] = ".all.";
    const char *at = memmem(counter->name, counter->name_length, pool, sizeof pool - 1);
    if (at == NULL) {
        return false;
    }
    const char *kind_name = at + sizeof pool - 1;
    const size_t metric = text_find_name(metric_names, TORCH_METRIC_COUNT, counter->name,
                                         (size_t)(at - counter->name));
    const size_t kind = text_find_name(kind_names, TORCH_KIND_COUNT, kind_name,
                                       (size_t)(counter->name + counter->name_length - kind_name));
    if (metric == TORCH_METRIC_COUNT || kind == TORCH_KIND_COUNT) {
        return false;
    }
    counters->has_second = torch_counters_have(counters, (enum torch_metric)metric,
                                               (enum torch_kind)kind);
    if (!counters->has_second) {
        counters->known[metric] |= 1u << kind;
        counters->bytes[metric][kind] = counter->value;
    }
    return true;
}

static void torch_counters_read_names(const char *text, size_t length,
                                      struct torch_counters *counters)
{
    struct phrase_cursor cursor = {.text = text, .length = length};
    struct counter counter;
    *counters = (struct torch_counters){0};
    while (!counters->has_second && counter_next(&cursor, &counter)) {
        if (counter.is_negative || take_bytes(&counter, counters)) {
            continue;
        }
        const size_t number = text_find_name(number_names, TORCH_NUMBER_COUNT, counter.name,
                                             counter.name_length);
        if (number < TORCH_NUMBER_COUNT) {
            counters->numbers[number] = counter.value.bytes;
            counters->known_numbers |= 1u << number;
        }
    }
}

/* --- the table of torch.cuda.memory_summary() --- */

static const char *const row_names[TORCH_METRIC_COUNT] = {
    "| Allocated memory", "| Active memory", "| Requested memory", "| GPU reserved memory",
    "| Non-releasable memory"};

/* Places the cursor behind the first place of the words. */
static bool find_behind(const char *text, size_t length, const char *words,
                        struct phrase_cursor *cursor)
{
    const char *at = memmem(text, length, words, strlen(words));
    *cursor = (struct phrase_cursor){.text = text, .length = length};
    cursor->at = at == NULL ? length : (size_t)(at - text) + strlen(words);
    return at != NULL;
}

static void take_number(const char *text, size_t length, const char *label,
                        enum torch_number number, struct torch_counters *counters)
{
    struct phrase_cursor cursor;
    if (find_behind(text, length, label, &cursor) &&
        phrase_take_count(&cursor, &counters->numbers[number])) {
        counters->known_numbers |= 1u << number;
    }
}

static void torch_counters_read_table(const char *text, size_t length,
                                      struct torch_counters *counters)
{
    static const char title[] = "memory summary";
    struct phrase_cursor cursor;
    *counters = (struct torch_counters){.is_cut_down = true};
    const char *begin = memmem(text, length, title, sizeof title - 1);
    if (begin == NULL) {
        begin = text; /* the title is often not pasted */
    } else {
        length -= (size_t)(begin - text) + 1;
        begin++;
        const char *second = memmem(begin, length, title, sizeof title - 1);
        counters->has_second = second != NULL;
        length = second == NULL ? length : (size_t)(second - begin);
    }
    for (unsigned metric = 0; metric < TORCH_METRIC_COUNT; metric++) {
        bool is_there = find_behind(begin, length, row_names[metric], &cursor);
        for (unsigned kind = 0; is_there && kind < TORCH_KIND_COUNT; kind++) {
            is_there = phrase_scan(&cursor, "| %U", &counters->bytes[metric][kind]);
            counters->known[metric] |= is_there ? 1u << kind : 0;
        }
    }
    take_number(begin, length, "CUDA OOMs:", TORCH_OOMS, counters);
    take_number(begin, length, "cudaMalloc retries:", TORCH_RETRIES, counters);
}

/* The parts of the reserved bytes, exact or as far as the table has them. */
struct counted_parts {
    uint64_t allocated, waiting, split, whole, reserved;
    bool is_rounded; /* they do not add up by themselves */
};

static uint64_t current(const struct torch_counters *counters, enum torch_metric metric)
{
    return counters->bytes[metric][TORCH_KIND_CURRENT].bytes;
}

/* Each part has at most what the ones before it leave. */
static struct counted_parts choose_parts(const struct torch_counters *counters)
{
    const uint64_t allocated = current(counters, TORCH_METRIC_ALLOCATED);
    const uint64_t active = torch_counters_have(counters, TORCH_METRIC_ACTIVE, TORCH_KIND_CURRENT)
                                ? current(counters, TORCH_METRIC_ACTIVE)
                                : allocated;
    const uint64_t split = current(counters, TORCH_METRIC_SPLIT);
    struct counted_parts parts = {.reserved = current(counters, TORCH_METRIC_RESERVED)};
    uint64_t left = parts.reserved;
    parts.allocated = allocated < left ? allocated : left;
    left -= parts.allocated;
    const uint64_t waiting = active > allocated ? active - allocated : 0;
    parts.waiting = waiting < left ? waiting : left;
    left -= parts.waiting;
    parts.split = split < left ? split : left;
    parts.whole = left - parts.split;
    parts.is_rounded = parts.allocated != allocated || parts.split != split;
    return parts;
}

static enum import_result build_heap(const struct counted_parts *parts,
                                     const struct import_input *input, struct import *import,
                                     struct import_error *error)
{
    const struct {
        const char *name;
        uint64_t bytes;
    } all[] = {{"cached: whole free segments", parts->whole},
               {"cached: free in segments in use", parts->split},
               {"freed, waiting for a stream", parts->waiting},
               {"allocated", parts->allocated}};
    struct heap_parts heap;
    heap_parts_init(&heap);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        heap_parts_add(&heap, import, all[i].name, all[i].bytes, HEAP_SPAN_IN_USE);
    }
    const enum import_result result = heap_image_build(&heap.image, input->fixed, import, error);
    heap_parts_deinit(&heap);
    return result;
}

/* --- what is told --- */

static void tell_parts(const struct counted_parts *parts, struct import *import)
{
    const uint64_t cached = parts->split + parts->whole;
    import_tell(
        import,
        "PyTorch has %s reserved: %s allocated, %s freed and waiting for a stream, %s cached",
        size_text_of(parts->reserved).text, size_text_of(parts->allocated).text,
        size_text_of(parts->waiting).text, size_text_of(cached).text);
    if (cached > 0) {
        import_tell(
            import,
            "of what is cached, %s are whole free segments, which empty_cache() returns, and %s lie in segments that are in use, which it cannot return: %" PRIu64
            " %% of what is reserved (fragmentation)",
            size_text_of(parts->whole).text, size_text_of(parts->split).text,
            parts->split * 100 / parts->reserved);
    }
}

static void tell_numbers(const struct torch_counters *counters, struct import *import)
{
    const struct unit_size *peak = counters->bytes[TORCH_METRIC_ALLOCATED];
    if ((counters->known_numbers & 1u << TORCH_OOMS) != 0) {
        import_tell(import,
                    "out-of-memories that were raised: %" PRIu64
                    "; requests that were tried again: %" PRIu64,
                    counters->numbers[TORCH_OOMS], counters->numbers[TORCH_RETRIES]);
    }
    if (torch_counters_have(counters, TORCH_METRIC_RESERVED, TORCH_KIND_PEAK)) {
        import_tell(
            import, "at most %s were allocated and %s reserved, each at its own moment",
            size_text_of(peak[TORCH_KIND_PEAK].bytes).text,
            size_text_of(counters->bytes[TORCH_METRIC_RESERVED][TORCH_KIND_PEAK].bytes).text);
    }
    const uint64_t asked = current(counters, TORCH_METRIC_REQUESTED);
    if (asked > 0 && current(counters, TORCH_METRIC_ALLOCATED) > asked) {
        import_tell(import, "rounding up of requests takes %s of what is allocated",
                    size_text_of(current(counters, TORCH_METRIC_ALLOCATED) - asked).text);
    }
}

/* current = allocated - freed, as far as the table's whole units can show it. */
static void tell_checks(const struct torch_counters *counters, struct import *import)
{
    static const char *const names[TORCH_METRIC_COUNT] = {"allocated", "active", "requested",
                                                          "reserved", "inactive split"};
    const uint32_t all = (1u << TORCH_KIND_COUNT) - 1;
    for (unsigned metric = 0; metric < TORCH_METRIC_COUNT; metric++) {
        const struct unit_size *bytes = counters->bytes[metric];
        if ((counters->known[metric] & all) != all) {
            continue;
        }
        uint64_t slack = 0;
        for (unsigned kind = 0; kind < TORCH_KIND_COUNT && counters->is_cut_down; kind++) {
            slack += kind == TORCH_KIND_PEAK ? 0 : bytes[kind].step_bytes + 1;
        }
        const uint64_t sum = bytes[TORCH_KIND_CURRENT].bytes + bytes[TORCH_KIND_FREED].bytes;
        const uint64_t total = bytes[TORCH_KIND_ALLOCATED].bytes;
        if ((sum > total ? sum - total : total - sum) > slack) {
            import_tell(import,
                        "a check fails: of the %s bytes, current (%" PRIu64
                        ") is not allocated - freed (%" PRIu64 " - %" PRIu64 ")",
                        names[metric], bytes[TORCH_KIND_CURRENT].bytes, total,
                        bytes[TORCH_KIND_FREED].bytes);
        }
        if (bytes[TORCH_KIND_PEAK].bytes + slack < bytes[TORCH_KIND_CURRENT].bytes) {
            import_tell(import, "a check fails: the peak of the %s bytes is below the current ones",
                        names[metric]);
        }
    }
    if (current(counters, TORCH_METRIC_ALLOCATED) > current(counters, TORCH_METRIC_RESERVED)) {
        import_tell(import, "a check fails: more is allocated than reserved");
    }
}

/* --- the format --- */

static const char pool_bytes[] = "allocated_bytes.all.";

static enum import_result check_counters(const struct torch_counters *counters,
                                         struct import_error *error)
{
    if (!torch_counters_have(counters, TORCH_METRIC_ALLOCATED, TORCH_KIND_CURRENT) ||
        !torch_counters_have(counters, TORCH_METRIC_RESERVED, TORCH_KIND_CURRENT)) {
        return IMPORT_LACKS(
            error, "the counters lack what is allocated or reserved now: the text may be cut");
    }
    for (unsigned metric = 0; metric < TORCH_METRIC_COUNT; metric++) {
        if (current(counters, (enum torch_metric)metric) > IMPORT_CAPACITY_MAX / 8) {
            return IMPORT_REFUSE(error, 0, "a counter is above 128T");
        }
    }
    if (current(counters, TORCH_METRIC_RESERVED) == 0) {
        return IMPORT_LACKS(
            error,
            "nothing is reserved: the counters were read before the process used the device, or in another process");
    }
    return IMPORT_OK;
}

static enum import_result import_torch_stats(const struct import_input *input,
                                             struct import *import, struct import_error *error)
{
    struct torch_counters counters;
    if (text_has(input->text, input->length, pool_bytes)) {
        torch_counters_read_names(input->text, input->length, &counters);
    } else {
        torch_counters_read_table(input->text, input->length, &counters);
    }
    IMPORT_TRY(check_counters(&counters, error));
    const struct counted_parts parts = choose_parts(&counters);
    IMPORT_TRY(build_heap(&parts, input, import, error));
    snprintf(import->setup.system, sizeof import->setup.system, "pytorch");
    tell_parts(&parts, import);
    tell_numbers(&counters, import);
    tell_checks(&counters, import);
    if (import_fixed_capacity(input->fixed, 0) == 0) {
        import_assume(
            import,
            "capacity %s: what PyTorch has reserved, as the device's is not among the counters; --capacity gives it",
            size_text_of(import->setup.capacity_bytes).text);
    }
    if (counters.is_cut_down) {
        import_note(import, "the table has whole units, cut down: sums are off by a unit or two");
    }
    if (counters.has_second) {
        import_note(import, "the text has more than one set of counters; this is the first");
    }
    return IMPORT_OK;
}

static unsigned recognise_torch_stats(const char *text, size_t length)
{
    return text_has(text, length, pool_bytes)              ? 70
           : text_has(text, length, "| Allocated memory ") ? 65
                                                           : 0;
}

const struct format format_torch_stats = {
    .name = "torch_stats",
    .summary =
        "counters of PyTorch's allocator: torch.cuda.memory_stats(), or the table of memory_summary()",
    .recognise = recognise_torch_stats,
    .import = import_torch_stats,
};
