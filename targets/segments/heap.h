/* The allocator of the target segments: first fit in regions of the device, which it takes when
 * nothing fits and gives back before it does.  It stands on the kit. */
#ifndef TARGETS_SEGMENTS_HEAP_H
#define TARGETS_SEGMENTS_HEAP_H

#include "kit/kit.h"

/* What is wrong with it on purpose: at most one of these. */
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
struct segment {
    struct segment *above; /* ascending offsets */
    uint64_t offset, size_bytes;
    struct segment_block *lowest; /* NULL: it is empty */
    bool is_forgotten;            /* SEGMENTS_LEAKED */
};

struct segments {
    struct kit_host *host;
    enum segments_defect defect;
    uint64_t capacity_bytes, step_bytes, held_bytes;
    struct segment *lowest;
    bool keeps_empty, was_refused;
};

/* Options: empty says what it does with empty regions; grows and trims change only what it
 * declares. */
extern const struct target_option_row segments_option_rows[];

/* The calls of struct kit_allocator; open with the defect is its open. */
const char *segments_open(void *state, const struct kit_setup *setup, enum segments_defect defect);
void segments_close(void *state);
uint64_t segments_allocate(void *state, uint64_t size_bytes, uint64_t align_bytes);
void segments_free(void *state, uint64_t offset, uint64_t size_bytes);
uint64_t segments_largest_free(void *state);

/* Defines a target with that defect. */
#define SEGMENTS_TARGET(storage, variable, name_, defect, rule, text)                          \
    static const char *begin_##variable(void *state, const struct kit_setup *setup)            \
    {                                                                                          \
        return segments_open(state, setup, defect);                                            \
    }                                                                                          \
    static enum target_result open_##variable(                                                 \
        const struct target_setup *setup, const struct device_services *device,                \
        struct target_instance **out, struct target_contract *contract, char *reason,          \
        size_t reason_bytes)                                                                   \
    {                                                                                          \
        static const struct kit_allocator allocator = {                                        \
            .state_bytes = sizeof(struct segments),                                            \
            .regions = {.grows = true, .trims = true},                                         \
            .options = segments_option_rows,                                                   \
            .open = begin_##variable,                                                          \
            .close = segments_close,                                                           \
            .allocate_offset = segments_allocate,                                              \
            .free_offset = segments_free,                                                      \
            .largest_free_bytes = segments_largest_free,                                       \
        };                                                                                     \
        return kit_open(&allocator, NULL, setup, device, out, contract, reason, reason_bytes); \
    }                                                                                          \
    storage const struct target variable = {                                                   \
        .abi_version = TARGET_ABI_VERSION,                                                     \
        .size_bytes = sizeof(struct target),                                                   \
        .name = name_,                                                                         \
        .summary = text,                                                                       \
        .breaks = rule,                                                                        \
        .options = segments_option_rows,                                                       \
        .open = open_##variable,                                                               \
        .close = kit_close,                                                                    \
        .alloc = kit_alloc,                                                                    \
        .free = kit_free,                                                                      \
        .use = kit_use,                                                                        \
        .hold = kit_hold,                                                                      \
        .release = kit_release,                                                                \
        .donate = kit_donate,                                                                  \
        .locate = kit_locate,                                                                  \
        .stats = kit_stats,                                                                    \
        .report = kit_report,                                                                  \
        .message = kit_message,                                                                \
    };

#endif
