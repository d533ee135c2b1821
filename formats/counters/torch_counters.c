#include "formats/counters/private/torch_counters.h"

#include "formats/counters/private/counters.h"

#include <string.h>

/* --- a dictionary: "allocated_bytes.all.current": 42817536 --- */

static const char *const metric_names[TORCH_METRIC_COUNT] = {
    "allocated_bytes", "active_bytes", "requested_bytes", "reserved_bytes", "inactive_split_bytes"};
static const char *const kind_names[TORCH_KIND_COUNT] = {"current", "peak", "allocated", "freed"};
static const char *const number_names[TORCH_NUMBER_COUNT] = {
    "num_alloc_retries", "num_ooms", "num_oom_rejections", "segment.all.current"};

/* The index of the name with that text among count; count: none. */
static unsigned find_name(const char *const *names, unsigned count, const char *text, size_t length)
{
    unsigned i = 0;
    while (i < count && (strlen(names[i]) != length || memcmp(names[i], text, length) != 0)) {
        i++;
    }
    return i;
}

/* METRIC.all.KIND */
static bool take_bytes(const struct counter *counter, struct torch_counters *counters)
{
    static const char pool[] = ".all.";
    const char *at = memmem(counter->name, counter->name_length, pool, sizeof pool - 1);
    if (at == NULL) {
        return false;
    }
    const char *kind_name = at + sizeof pool - 1;
    const unsigned metric = find_name(metric_names, TORCH_METRIC_COUNT, counter->name,
                                      (size_t)(at - counter->name));
    const unsigned kind = find_name(kind_names, TORCH_KIND_COUNT, kind_name,
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

void torch_counters_read_names(const char *text, size_t length, struct torch_counters *counters)
{
    struct phrase_cursor cursor = {.text = text, .length = length};
    struct counter counter;
    *counters = (struct torch_counters){0};
    while (!counters->has_second && counter_next(&cursor, &counter)) {
        if (counter.is_negative || take_bytes(&counter, counters)) {
            continue;
        }
        const unsigned number = find_name(number_names, TORCH_NUMBER_COUNT, counter.name,
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

static void take_row(const char *text, size_t length, enum torch_metric metric,
                     struct torch_counters *counters)
{
    const char *name = row_names[metric];
    const char *at = memmem(text, length, name, strlen(name));
    if (at == NULL) {
        return;
    }
    struct phrase_cursor cursor = {
        .text = text, .length = length, .at = (size_t)(at - text) + strlen(name)};
    for (unsigned kind = 0; kind < TORCH_KIND_COUNT; kind++) {
        if (!phrase_take(&cursor, "|") ||
            !phrase_take_unit_size(&cursor, &counters->bytes[metric][kind])) {
            return;
        }
        counters->known[metric] |= 1u << kind;
    }
}

static void take_number(const char *text, size_t length, const char *label,
                        enum torch_number number, struct torch_counters *counters)
{
    const char *at = memmem(text, length, label, strlen(label));
    if (at == NULL) {
        return;
    }
    struct phrase_cursor cursor = {
        .text = text, .length = length, .at = (size_t)(at - text) + strlen(label)};
    if (phrase_take_count(&cursor, &counters->numbers[number])) {
        counters->known_numbers |= 1u << number;
    }
}

void torch_counters_read_table(const char *text, size_t length, struct torch_counters *counters)
{
    static const char title[] = "memory summary";
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
        take_row(begin, length, (enum torch_metric)metric, counters);
    }
    take_number(begin, length, "CUDA OOMs:", TORCH_OOMS, counters);
    take_number(begin, length, "cudaMalloc retries:", TORCH_RETRIES, counters);
}
