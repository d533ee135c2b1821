/* Chooses the byte counts that a message with rounded sizes is taken to mean.  With them the
 * request is refused, and if the message leaves open whether there was room, it stays open. */
#include "formats/xla/private/tpu_message.h"

#include "formats/common/capacity.h"
#include "harness/base/align.h"

#include <inttypes.h>
#include <stdio.h>

enum { PIECE_COUNT_MAX = 100000 }; /* free pieces: beyond it nobody reads the list */
#define MEBIBYTE ((uint64_t)1 << 20)

/* Candidates of a range, in the order in which they are tried. */
enum { CANDIDATE_COUNT = 3 };
static uint64_t make_candidate(const struct size_range *range, int index)
{
    return index == 0 ? range->nominal : index == 1 ? range->low : range->high;
}

/* A request above all that is free: for a message that allows no other. */
static bool choose_plain(struct tpu_plan *plan, const struct size_range *requested,
                         const struct size_range *free)
{
    for (int i = 0; i < CANDIDATE_COUNT * CANDIDATE_COUNT; i++) {
        plan->requested_bytes = make_candidate(requested, i % CANDIDATE_COUNT);
        plan->free_bytes = make_candidate(free, i / CANDIDATE_COUNT);
        if (plan->requested_bytes > plan->free_bytes) {
            plan->bottom_bytes = plan->free_bytes;
            plan->piece_bytes = 0;
            return true;
        }
    }
    return false;
}

/* Pieces above the one at the bottom. */
static uint64_t count_pieces(const struct tpu_plan *plan)
{
    const uint64_t above_bytes = plan->free_bytes - plan->bottom_bytes;
    return above_bytes == 0 ? 0 : (above_bytes - 1) / plan->piece_bytes + 1;
}

/* A request that is free in sum but not in one piece: of the candidates, those that need the fewest
 * pieces. */
static bool choose_pieces(struct tpu_plan *plan, const struct size_range *requested,
                          const struct size_range *free, const struct size_range *largest)
{
    const int count = CANDIDATE_COUNT * CANDIDATE_COUNT * CANDIDATE_COUNT;
    struct tpu_plan try = *plan;
    bool is_found = false;
    for (int i = 0; i < count; i++) {
        try.requested_bytes = make_candidate(requested, i % CANDIDATE_COUNT);
        try.free_bytes = make_candidate(free, i / CANDIDATE_COUNT % CANDIDATE_COUNT);
        try.piece_bytes = make_candidate(largest, i / CANDIDATE_COUNT / CANDIDATE_COUNT);
        try.bottom_bytes = try.piece_bytes;
        const bool is_possible = try.requested_bytes > try.piece_bytes &&
                                 try.requested_bytes <= try.free_bytes && try.piece_bytes > 0;
        if (is_possible && (!is_found || count_pieces(&try) < count_pieces(plan))) {
            *plan = try;
            is_found = true;
        }
    }
    return is_found;
}

/* A request that may be free in sum: it must have been in pieces, and the largest is put just below
 * it. */
static bool choose_below_free(struct tpu_plan *plan, const struct size_range *requested,
                              const struct size_range *free)
{
    for (int i = 0; i < CANDIDATE_COUNT; i++) {
        const struct size_range one = printed_size_exact(make_candidate(requested, i));
        const uint64_t rounded_bytes = align_up(one.nominal, plan->granule_bytes);
        if (rounded_bytes > plan->granule_bytes) {
            const struct size_range below = printed_size_exact(rounded_bytes - plan->granule_bytes);
            plan->is_piece_assumed = choose_pieces(plan, &one, free, &below);
            if (plan->is_piece_assumed) {
                return true;
            }
        }
    }
    return false;
}

/* "Attempting to allocate".  NULL, or why not. */
static const char *choose_allocate(const struct tpu_message *message, struct tpu_plan *plan,
                                   const struct size_range *requested,
                                   const struct size_range *free)
{
    struct size_range largest = message->largest;
    if (message->has_largest && printed_size_align(&largest, plan->granule_bytes) &&
        choose_pieces(plan, requested, free, &largest)) {
        return NULL;
    }
    if (!message->has_largest && requested->low <= free->high &&
        choose_below_free(plan, requested, free)) {
        return NULL;
    }
    if (choose_plain(plan, requested, free)) {
        return NULL;
    }
    return message->has_largest ? "the request is not above the largest contiguous region"
                                : "the request would fit in the free bytes";
}

/* True if these numbers can be built: the piece at the bottom is what could be reserved beyond what
 * is. */
static bool is_possible_reserve(struct tpu_plan *plan, uint64_t reservable_bytes)
{
    if (reservable_bytes < plan->reserved_bytes ||
        reservable_bytes - plan->reserved_bytes > plan->free_bytes) {
        return false;
    }
    plan->bottom_bytes = reservable_bytes - plan->reserved_bytes;
    plan->piece_bytes = plan->free_bytes - plan->bottom_bytes;
    plan->image_bytes = plan->granule_bytes;
    plan->is_loaded_first = plan->free_bytes < plan->granule_bytes;
    plan->is_image_assumed = false;
    if (plan->requested_bytes > reservable_bytes) {
        return true;
    }
    /* The stack alone would fit: the image must have been in the way, and must have had a place
     * itself. */
    plan->is_image_assumed = true;
    const uint64_t rounded_bytes = align_up(plan->requested_bytes, plan->granule_bytes);
    if (plan->piece_bytes != 0 || rounded_bytes < plan->reserved_bytes + plan->granule_bytes) {
        return false;
    }
    plan->image_bytes = reservable_bytes - rounded_bytes + plan->granule_bytes;
    return true;
}

/* A stack and the least image, if nothing were in the way. */
static bool fits_in_sum(const struct tpu_plan *plan)
{
    return align_up(plan->requested_bytes, plan->granule_bytes) + plan->granule_bytes <=
           plan->free_bytes + plan->reserved_bytes;
}

/* "Attempting to reserve".  NULL, or why not.  Whole free memory comes before pieces, a stack that
 * is too large by itself before one that its image displaces; but where the message allows that the
 * whole free memory takes the stack, that comes first of all. */
static const char *choose_reserve(const struct tpu_message *message, struct tpu_plan *plan,
                                  const struct size_range *requested, const struct size_range *free)
{
    struct size_range reserved = message->reserved;
    struct size_range reservable = message->reservable;
    if (!printed_size_align(&reserved, plan->granule_bytes) ||
        !printed_size_align(&reservable, plan->granule_bytes)) {
        return "no multiples of the granule print as the reserved and reservable bytes";
    }
    /* must_fit: what is free would take it next to the least image, if it were in one piece. */
    static const struct {
        bool is_whole, is_too_large, must_fit;
    } passes[] = {{true, false, true}, {true, true, false},  {true, false, false},
                  {false, true, true}, {false, true, false}, {false, false, false}};
    const bool may_fit = requested->low <= free->high + reserved.high;
    for (int pass = may_fit ? 0 : 1; pass < (int)(sizeof passes / sizeof passes[0]); pass++) {
        const bool is_whole = passes[pass].is_whole;
        const bool is_too_large = passes[pass].is_too_large;
        for (int i = 0; i < 3 * 3 * 3 * 3; i++) {
            plan->requested_bytes = make_candidate(requested, i % 3);
            plan->free_bytes = make_candidate(free, i / 3 % 3);
            plan->reserved_bytes = make_candidate(&reserved, i / 9 % 3);
            const uint64_t reservable_bytes = is_whole ? plan->free_bytes + plan->reserved_bytes
                                                       : make_candidate(&reservable, i / 27);
            if (reservable_bytes >= reservable.low && reservable_bytes <= reservable.high &&
                (plan->requested_bytes > reservable_bytes) == is_too_large &&
                is_possible_reserve(plan, reservable_bytes) &&
                (!passes[pass].must_fit || fits_in_sum(plan))) {
                return NULL;
            }
        }
    }
    return "the free, reserved and reservable bytes contradict each other or the request";
}

/* Bytes that must be in use beside what is free and reserved. */
static uint64_t find_in_use_min(const struct tpu_plan *plan)
{
    uint64_t granules = plan->reserved_bytes > 0 ? 1 : 0; /* the image of the busy program */
    granules += plan->is_loaded_first ? 1 : 0;
    if (plan->piece_bytes > 0) {
        granules += count_pieces(plan); /* separators */
    }
    return granules * plan->granule_bytes;
}

static uint64_t find_usable(const struct chip *chip, const struct tpu_plan *plan)
{
    return chip->capacity_bytes / plan->granule_bytes * plan->granule_bytes;
}

/* The one that the log names, or else the smallest that holds so much. */
static void choose_chip(const struct tpu_message *message, uint64_t need_bytes,
                        struct tpu_plan *plan)
{
    if (message->chip != NULL && message->chip->kind == CHIP_TPU &&
        find_usable(message->chip, plan) >= need_bytes) {
        plan->chip = message->chip->name;
        plan->is_chip_named = true;
        plan->capacity_bytes = find_usable(message->chip, plan);
        return;
    }
    for (size_t i = 0; chips[i] != NULL && chips[i]->kind == CHIP_TPU; i++) {
        /* A compiled program was within its chip's memory, so the request was too, if any chip is
         * so large. */
        if (find_usable(chips[i], plan) >= need_bytes &&
            (plan->chip == NULL || plan->capacity_bytes < plan->requested_bytes)) {
            plan->capacity_bytes = find_usable(chips[i], plan);
            plan->chip = chips[i]->name;
        }
    }
}

static const char *choose_capacity(const struct tpu_message *message, const struct setup *fixed,
                                   struct tpu_plan *plan)
{
    uint64_t need_bytes = plan->free_bytes + plan->reserved_bytes + find_in_use_min(plan);
    if (plan->is_loaded_first && need_bytes < plan->requested_bytes + plan->granule_bytes) {
        need_bytes = align_up(plan->requested_bytes + plan->granule_bytes, plan->granule_bytes);
    }
    if (need_bytes > CAPACITY_BYTES_MAX - MEBIBYTE ||
        (message->has_capacity && message->capacity.nominal > CAPACITY_BYTES_MAX)) {
        return "a device of more than 1P would be needed";
    }
    plan->capacity_bytes = import_fixed_capacity(fixed, plan->granule_bytes);
    if (plan->capacity_bytes == 0 && message->has_capacity) {
        plan->capacity_bytes = message->capacity.nominal;
    }
    if (plan->capacity_bytes != 0) {
        if (plan->capacity_bytes % plan->granule_bytes != 0) {
            return "the capacity is not a multiple of the granule";
        }
        if (plan->capacity_bytes < need_bytes) {
            snprintf(plan->refusal, sizeof plan->refusal,
                     "the capacity of %" PRIu64 " bytes is below the %" PRIu64
                     " bytes that the message needs",
                     plan->capacity_bytes, need_bytes);
            return plan->refusal;
        }
        return NULL;
    }
    choose_chip(message, need_bytes, plan);
    if (plan->chip == NULL) {
        plan->capacity_bytes = align_up(need_bytes, MEBIBYTE);
    }
    return NULL;
}

static const char *choose_numbers(const struct tpu_message *message, const struct setup *fixed,
                                  struct tpu_plan *plan)
{
    struct size_range requested = message->requested;
    struct size_range free = message->free;
    if (!printed_size_align(&free, plan->granule_bytes)) {
        return "no multiple of the granule prints as the free bytes";
    }
    (void)printed_size_align(&requested,
                             plan->granule_bytes); /* a request need not be a multiple */
    const char *reason = message->form == TPU_MESSAGE_PROGRAM_STACK
                             ? choose_reserve(message, plan, &requested, &free)
                             : choose_allocate(message, plan, &requested, &free);
    if (reason != NULL) {
        return reason;
    }
    if (plan->requested_bytes == 0) {
        return "a request of 0 bytes";
    }
    if (plan->free_bytes > CAPACITY_BYTES_MAX / 4 ||
        plan->reserved_bytes > CAPACITY_BYTES_MAX / 4) {
        return "more than 256T are free or reserved";
    }
    return plan->piece_bytes > 0 && count_pieces(plan) > PIECE_COUNT_MAX
               ? "the free bytes are in more than 100000 pieces"
               : choose_capacity(message, fixed, plan);
}

/* The printed sizes leave little room for odd ones. */
bool tpu_plan_choose(const struct tpu_message *message, const struct setup *fixed,
                     struct tpu_plan *plan, char reason[TPU_PLAN_REASON_BYTES])
{
    const uint64_t first = fixed->granule_bytes != 0 ? fixed->granule_bytes : GRANULE_BYTES_DEFAULT;
    const uint64_t last = fixed->granule_bytes != 0 ? fixed->granule_bytes : 1;
    for (uint64_t granule_bytes = first; granule_bytes >= last; granule_bytes /= 2) {
        *plan = (struct tpu_plan){.granule_bytes = granule_bytes};
        const char *refusal = choose_numbers(message, fixed, plan);
        if (refusal == NULL) {
            return true;
        }
        if (granule_bytes == first) {
            snprintf(reason, TPU_PLAN_REASON_BYTES, "%s", refusal);
        }
    }
    return false;
}

bool tpu_plan_is_open(const struct tpu_message *message, const struct tpu_plan *plan)
{
    return message->form == TPU_MESSAGE_PROGRAM_STACK ? fits_in_sum(plan) : plan->piece_bytes > 0;
}
