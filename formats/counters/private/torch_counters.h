/* The counters of PyTorch's caching allocator, from a dictionary or from the printed table. */
#ifndef FORMATS_COUNTERS_PRIVATE_TORCH_COUNTERS_H
#define FORMATS_COUNTERS_PRIVATE_TORCH_COUNTERS_H

#include "formats/common/import.h"
#include "formats/common/phrase.h"

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

/* The first set of counters of the text; nothing is known where there is none. */
void torch_counters_read_names(const char *text, size_t length, struct torch_counters *counters);
void torch_counters_read_table(const char *text, size_t length, struct torch_counters *counters);

#endif
