/* The target segments: first fit in regions of the device, which it takes when nothing fits and
 * gives back before it does.  It stands on the kit. */
#include "targets/targets.h"

#include "kit/kit.h"

#include <string.h>

/* The deliberate defect: at most one of these. */
enum segments_defect {
    SEGMENTS_SOUND = 0,
    SEGMENTS_ACROSS,     /* a hole goes on in the next region */
    SEGMENTS_GIVEN_LIVE, /* a region is empty if nothing lies at its start */
    SEGMENTS_UNTRIMMED,  /* empty regions stay */
    SEGMENTS_UNGROWN,    /* half of the device is never taken */
    SEGMENTS_LEAKED,     /* close forgets the regions that came after a refused one */
    SEGMENTS_SPINS       /* what is refused is asked for SPIN_COUNT times more */
};

struct segment_block {
    struct segment_block *above; /* in the same segment */
    uint64_t offset, size_bytes;
};

/* A region of the device. */
struct device_segment {
    struct device_segment *above; /* ascending offsets */
    uint64_t offset, size_bytes;
    struct segment_block *lowest; /* NULL: it is empty */
    bool is_forgotten;            /* SEGMENTS_LEAKED */
};

struct segments {
    struct kit_host *host;
    enum segments_defect defect;
    uint64_t capacity_bytes, step_bytes, held_bytes;
    struct device_segment *lowest;
    bool keeps_empty, was_refused;
};

/* Options: empty says what it does with empty regions; grows and trims change only what it
 * declares. */
static const struct target_option_row option_rows[] = {
    {"empty", TARGET_OPTION_WORD, .values = "give|keep"},
    {"grows", TARGET_OPTION_FLAG, .values = "yes|no"},
    {"trims", TARGET_OPTION_FLAG, .values = "yes|no"},
    {.key = NULL},
};

/* Regions are taken in steps of it, but in those of the granule on a device of few of them. */
#define STEP_BYTES (UINT64_C(2) << 20)
enum { STEP_COUNT_MIN = 16 };

static uint64_t align_offset(uint64_t offset, uint64_t align_bytes)
{
    return (offset + align_bytes - 1) & ~(align_bytes - 1);
}

static uint64_t end_of(const struct device_segment *segment)
{
    return segment->offset + segment->size_bytes;
}

/* --- life --- */

static const char *segments_open(void *state, const struct kit_setup *setup)
{
    struct segments *segments = state;
    struct target_regions *regions = &setup->contract->regions;
    const bool is_large = setup->capacity_bytes >= STEP_COUNT_MIN * STEP_BYTES;
    *segments = (struct segments){.host = setup->host,
                                  .defect = (enum segments_defect)setup->variant,
                                  .capacity_bytes = setup->capacity_bytes,
                                  .step_bytes = is_large ? STEP_BYTES : setup->granule_bytes,
                                  .keeps_empty = kit_option_is(setup, "empty", "keep")};
    regions->step_bytes = segments->step_bytes;
    regions->trims = kit_option(setup, "trims") != NULL ? kit_option_is(setup, "trims", "yes")
                                                        : !segments->keeps_empty;
    if (!kit_option_is(setup, "grows", "yes")) {
        *regions = (struct target_regions){0};
    }
    return NULL;
}

static void drop_segment(struct segments *segments, struct device_segment **link)
{
    struct device_segment *segment = *link;
    *link = segment->above;
    segments->held_bytes -= segment->size_bytes;
    kit_host_free(segments->host, segment, sizeof *segment);
}

static void segments_close(void *state)
{
    struct segments *segments = state;
    while (segments->lowest != NULL) {
        if (!segments->lowest->is_forgotten) {
            kit_region_give(segments->host, segments->lowest->offset);
        }
        drop_segment(segments, &segments->lowest);
    }
}

/* --- growing and giving back --- */

static bool is_empty(const struct segments *segments, const struct device_segment *segment)
{
    return segment->lowest == NULL ||
           (segments->defect == SEGMENTS_GIVEN_LIVE && segment->lowest->offset > segment->offset);
}

static void trim_segments(struct segments *segments)
{
    if (segments->keeps_empty || segments->defect == SEGMENTS_UNTRIMMED) {
        return;
    }
    for (struct device_segment **link = &segments->lowest; *link != NULL;) {
        if (is_empty(segments, *link)) {
            while ((*link)->lowest != NULL) {
                struct segment_block *block = (*link)->lowest;
                (*link)->lowest = block->above;
                kit_host_free(segments->host, block, sizeof *block);
            }
            kit_region_give(segments->host, (*link)->offset);
            drop_segment(segments, link);
        } else {
            link = &(*link)->above;
        }
    }
}

static void link_segment(struct segments *segments, struct device_segment *segment,
                         const struct device_region *region)
{
    struct device_segment **link = &segments->lowest;
    while (*link != NULL && (*link)->offset < region->address) {
        link = &(*link)->above;
    }
    *segment = (struct device_segment){.above = *link,
                                       .offset = region->address,
                                       .size_bytes = region->size_bytes,
                                       .is_forgotten = segments->was_refused &&
                                                       segments->defect == SEGMENTS_LEAKED};
    segments->held_bytes += segment->size_bytes;
    *link = segment;
}

/* A region for a block of so many bytes.  NULL: there is none, or host memory was refused. */
enum { SPIN_COUNT = 100000 };

static struct device_segment *grow_segments(struct segments *segments, uint64_t size_bytes)
{
    const uint64_t step = segments->step_bytes;
    struct device_region region;
    if (size_bytes > segments->capacity_bytes ||
        (segments->defect == SEGMENTS_UNGROWN &&
         segments->held_bytes >= segments->capacity_bytes / 2)) {
        return NULL;
    }
    struct device_segment *segment = kit_host_alloc(segments->host, sizeof *segment);
    if (segment == NULL) {
        return NULL;
    }
    const uint64_t wanted_bytes = (size_bytes + step - 1) / step * step;
    bool is_taken = kit_region_take(segments->host, wanted_bytes, &region);
    const uint64_t tries = segments->defect == SEGMENTS_SPINS ? SPIN_COUNT : 0;
    for (uint64_t i = 0; i < tries && !is_taken; i++) {
        is_taken = kit_region_take(segments->host, wanted_bytes, &region);
    }
    if (!is_taken) {
        segments->was_refused = true;
        kit_host_free(segments->host, segment, sizeof *segment);
        return NULL;
    }
    link_segment(segments, segment, &region);
    return segment;
}

/* --- blocks --- */

/* Returns where the hole below the block at the link ends; in the highest hole of a segment, that
 * is the segment's end. */
static uint64_t find_hole_end(const struct segments *segments, const struct device_segment *segment,
                              const struct segment_block *block)
{
    const struct device_segment *next = segment->above;
    if (block != NULL) {
        return block->offset;
    }
    if (segments->defect != SEGMENTS_ACROSS || next == NULL || next->offset != end_of(segment)) {
        return end_of(segment);
    }
    return next->lowest != NULL ? next->lowest->offset : end_of(next);
}

/* The lowest place in the segment; NULL: none. */
static struct segment_block **find_place(const struct segments *segments,
                                         struct device_segment *segment, uint64_t size_bytes,
                                         uint64_t align_bytes, uint64_t *offset)
{
    uint64_t start = segment->offset;
    for (struct segment_block **link = &segment->lowest;; link = &(*link)->above) {
        const uint64_t end = find_hole_end(segments, segment, *link);
        *offset = align_offset(start, align_bytes);
        if (*offset <= end && size_bytes <= end - *offset) {
            return link;
        }
        if (*link == NULL) {
            return NULL;
        }
        start = (*link)->offset + (*link)->size_bytes;
    }
}

static uint64_t put_block(struct segments *segments, struct device_segment *segment,
                          uint64_t size_bytes, uint64_t align_bytes)
{
    uint64_t offset = 0;
    struct segment_block **link = find_place(segments, segment, size_bytes, align_bytes, &offset);
    struct segment_block *block = link == NULL ? NULL
                                               : kit_host_alloc(segments->host, sizeof *block);
    if (block == NULL) {
        return KIT_NOTHING;
    }
    *block = (struct segment_block){*link, offset, size_bytes};
    *link = block;
    return offset;
}

static uint64_t segments_allocate(void *state, uint64_t size_bytes, uint64_t align_bytes)
{
    struct segments *segments = state;
    uint64_t offset = 0;
    for (struct device_segment *segment = segments->lowest; segment != NULL;
         segment = segment->above) {
        if (find_place(segments, segment, size_bytes, align_bytes, &offset) != NULL) {
            return put_block(segments, segment, size_bytes, align_bytes);
        }
    }
    trim_segments(segments);
    struct device_segment *segment = grow_segments(segments, size_bytes);
    return segment == NULL ? KIT_NOTHING : put_block(segments, segment, size_bytes, align_bytes);
}

static void segments_free(void *state, uint64_t offset, uint64_t size_bytes)
{
    struct segments *segments = state;
    (void)size_bytes;
    for (struct device_segment *segment = segments->lowest; segment != NULL;
         segment = segment->above) {
        struct segment_block **link = &segment->lowest;
        while (*link != NULL && (*link)->offset != offset) {
            link = &(*link)->above;
        }
        if (*link != NULL) {
            struct segment_block *block = *link;
            *link = block->above;
            kit_host_free(segments->host, block, sizeof *block);
            return;
        }
    }
}

static uint64_t segments_largest_free(void *state)
{
    const struct segments *segments = state;
    uint64_t largest = 0;
    for (const struct device_segment *segment = segments->lowest; segment != NULL;
         segment = segment->above) {
        uint64_t start = segment->offset;
        for (const struct segment_block *block = segment->lowest; block != NULL;
             block = block->above) {
            largest = block->offset - start > largest ? block->offset - start : largest;
            start = block->offset + block->size_bytes;
        }
        const uint64_t end = end_of(segment);
        largest = end > start && end - start > largest ? end - start : largest;
    }
    return largest;
}

/* --- the tables --- */

/* Defines a target with that defect. */
#define DEFINE_TARGET(storage, variable, name_, defect_, rule, text)                            \
    KIT_OPEN(open_##variable, NULL, .options = option_rows,                                     \
             .state_bytes = sizeof(struct segments), .regions = {.grows = true, .trims = true}, \
             .variant = defect_, .open = segments_open, .close = segments_close,                \
             .allocate_offset = segments_allocate, .free_offset = segments_free,                \
             .largest_free_bytes = segments_largest_free)                                       \
    storage const struct target variable = {KIT_TABLE(name_, text, NULL, open_##variable),      \
                                            .options = option_rows, .breaks = rule};

DEFINE_TARGET(
    , target_segments, "segments", SEGMENTS_SOUND, NULL,
    "first fit in regions that it takes from the device and gives back before it gives up")

#define SEGMENTS(noun, defect, rule, text) \
    DEFINE_TARGET(static, segments_##noun, "segments_" #noun, defect, rule, text)
#include "targets/segments/list.h"
#undef SEGMENTS

const struct target *const segments_plants[] = {
#define SEGMENTS(noun, defect, rule, text) &segments_##noun,
#include "targets/segments/list.h"
#undef SEGMENTS
    NULL,
};
