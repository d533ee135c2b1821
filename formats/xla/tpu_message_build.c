/* From a message to the shortest ops that end in it.
 *
 * The device is filled from the top down, and what the message calls free is left over: all of it
 * at the bottom, or, when it must have been in pieces, one piece at the bottom and the others
 * above, each a buffer that is freed at the end.  Then comes the request.
 *
 *     top   [ busy image ][ piece ][ separator ][ piece ][ separator ... ][ free at the bottom ][
 * stack ]   0
 *
 * A request that is not above the free bytes is refused under the documented contract only if
 * blocks could not move.  So where there are pieces, all that was in use is held, under a tag that
 * says so, and the head has what the message reports: the verdict is unknown, because without these
 * holds the same heap makes the refusal premature (docs/promise.md, "A message alone").
 *
 * The byte counts are those that a message with rounded sizes is taken to mean.  With them the
 * request is refused, and if the message leaves open whether there was room, it stays open. */
#include "formats/common/import.h"
#include "formats/common/tags.h"
#include "formats/xla/private/tpu_message.h"
#include "harness/base/align.h"
#include "harness/base/check.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TAG_PROGRAM = 1, TAG_IN_USE = 2, TAG_PIECE = 3, TAG_BUSY = 4, TAG_ASSUMED = 5 };

enum { REASON_BYTES = 128 };

/* The exact byte counts that are chosen, all but `requested` and `stack` multiples of the granule.
 */
struct tpu_plan {
    uint64_t granule_bytes;
    uint64_t capacity_bytes;
    uint64_t requested_bytes;
    uint64_t free_bytes;
    uint64_t reserved_bytes;
    uint64_t bottom_bytes; /* of free, in one piece at the bottom */
    uint64_t piece_bytes;  /* the other pieces are at most so large; 0 = there are none */
    uint64_t image_bytes;  /* of the program that is loaded */
    bool is_loaded_first; /* its image has no place any more at the end: load first, execute last */
    bool is_piece_assumed;      /* the message does not say how large the pieces are */
    bool is_image_assumed;      /* a stack that would fit alone: the image is in the way */
    const char *chip;           /* assumed; NULL = fixed, or said by the message */
    bool is_chip_named;         /* by the text around the message */
    char refusal[REASON_BYTES]; /* a reason with numbers in it */
};

struct tpu_building {
    const struct tpu_message *message;
    const struct setup *fixed;
    struct import *import;
    struct tpu_plan plan;
};

/* --- the numbers --- */

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
    for (int i = 0; i < CANDIDATE_COUNT && !plan->is_piece_assumed; i++) {
        const struct size_range one = printed_size_exact(make_candidate(requested, i));
        const uint64_t rounded_bytes = align_up(one.nominal, plan->granule_bytes);
        if (rounded_bytes > plan->granule_bytes) {
            const struct size_range below = printed_size_exact(rounded_bytes - plan->granule_bytes);
            plan->is_piece_assumed = choose_pieces(plan, &one, free, &below);
        }
    }
    return plan->is_piece_assumed;
}

/* "Attempting to allocate".  NULL, or why not. */
static const char *choose_allocate(const struct tpu_message *message, struct tpu_plan *plan,
                                   const struct size_range *requested,
                                   const struct size_range *free)
{
    struct size_range largest = message->largest;
    const bool is_chosen = message->has_largest
                               ? printed_size_align(&largest, plan->granule_bytes) &&
                                     choose_pieces(plan, requested, free, &largest)
                               : requested->low <= free->high &&
                                     choose_below_free(plan, requested, free);
    return is_chosen || choose_plain(plan, requested, free) ? NULL
           : message->has_largest ? "the request is not above the largest contiguous region"
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

static uint64_t find_usable(const struct chip *chip, const struct tpu_plan *plan)
{
    return align_down(chip->capacity_bytes, plan->granule_bytes);
}

/* The one that the log names, or else the smallest that holds so much; without one, what holds it.
 */
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
    plan->capacity_bytes = plan->chip != NULL ? plan->capacity_bytes
                                              : align_up(need_bytes, MEBIBYTE);
}

static const char *choose_capacity(const struct tpu_message *message, const struct setup *fixed,
                                   struct tpu_plan *plan)
{
    /* In use beside what is free and reserved: the image of the busy program, the one that is
     * loaded first, and the separators. */
    const uint64_t granules = (plan->reserved_bytes > 0) + (plan->is_loaded_first ? 1u : 0) +
                              (plan->piece_bytes > 0 ? count_pieces(plan) : 0);
    uint64_t need_bytes = plan->free_bytes + plan->reserved_bytes + granules * plan->granule_bytes;
    if (plan->is_loaded_first && need_bytes < plan->requested_bytes + plan->granule_bytes) {
        need_bytes = align_up(plan->requested_bytes + plan->granule_bytes, plan->granule_bytes);
    }
    if (need_bytes > IMPORT_CAPACITY_MAX - MEBIBYTE ||
        (message->has_capacity && message->capacity.nominal > IMPORT_CAPACITY_MAX)) {
        return "a device of more than 1P would be needed";
    }
    plan->capacity_bytes = import_fixed_capacity(fixed, plan->granule_bytes);
    if (plan->capacity_bytes == 0 && message->has_capacity) {
        plan->capacity_bytes = message->capacity.nominal;
    }
    if (plan->capacity_bytes == 0) {
        choose_chip(message, need_bytes, plan);
        return NULL;
    }
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

static const char *choose_numbers(const struct tpu_message *message, const struct setup *fixed,
                                  struct tpu_plan *plan)
{
    struct size_range requested = message->requested;
    struct size_range free = message->free;
    if (!printed_size_align(&free, plan->granule_bytes)) {
        return "no multiple of the granule prints as the free bytes";
    }
    /* A request need not be a multiple. */
    (void)printed_size_align(&requested, plan->granule_bytes);
    const char *reason = message->form == TPU_MESSAGE_PROGRAM_STACK
                             ? choose_reserve(message, plan, &requested, &free)
                             : choose_allocate(message, plan, &requested, &free);
    if (reason != NULL) {
        return reason;
    }
    if (plan->requested_bytes == 0) {
        return "a request of 0 bytes";
    }
    if (plan->free_bytes > IMPORT_CAPACITY_MAX / 4 ||
        plan->reserved_bytes > IMPORT_CAPACITY_MAX / 4) {
        return "more than 256T are free or reserved";
    }
    return plan->piece_bytes > 0 && count_pieces(plan) > PIECE_COUNT_MAX
               ? "the free bytes are in more than 100000 pieces"
               : choose_capacity(message, fixed, plan);
}

/* Chooses the byte counts for the largest granule for which they can be had: the printed sizes
 * leave little room for odd ones.  False: there is none, and reason is what is wrong with the
 * largest. */
static bool choose_plan(struct tpu_building *building, char reason[REASON_BYTES])
{
    const uint64_t fixed_bytes = building->fixed->granule_bytes;
    const uint64_t first = fixed_bytes != 0 ? fixed_bytes : IMPORT_GRANULE_BYTES;
    for (uint64_t granule_bytes = first; granule_bytes >= (fixed_bytes != 0 ? fixed_bytes : 1);
         granule_bytes /= 2) {
        building->plan = (struct tpu_plan){.granule_bytes = granule_bytes};
        const char *refusal = choose_numbers(building->message, building->fixed, &building->plan);
        if (refusal == NULL) {
            return true;
        }
        if (granule_bytes == first) {
            snprintf(reason, REASON_BYTES, "%s", refusal);
        }
    }
    return false;
}

/* True if heaps that the message allows disagree. */
static bool is_open(const struct tpu_building *building)
{
    return building->message->form == TPU_MESSAGE_PROGRAM_STACK ? fits_in_sum(&building->plan)
                                                                : building->plan.piece_bytes > 0;
}

/* --- making ops --- */

static void append_alloc(struct import *import, uint64_t size_bytes, uint8_t tag)
{
    (void)import_append(import, &OP_TO_MAKE(OP_ALLOC, .size_bytes = size_bytes, .tag = tag));
}

static uint32_t append_load(struct import *import, uint64_t image_bytes, uint64_t stack_bytes,
                            uint8_t tag)
{
    return import_append(import, &OP_TO_MAKE(OP_LOAD, .size_bytes = image_bytes,
                                             .stack_bytes = stack_bytes, .tag = tag));
}

/* An op on each buffer with that tag, from op `first` on. */
static void append_on_tag(struct import *import, enum op_kind kind, size_t first, uint8_t tag)
{
    const size_t end = import->ops.count;
    for (size_t i = first; i < end; i++) {
        const struct op *made = &import->ops.ops[i];
        if (made->kind == OP_ALLOC && made->tag == tag) {
            (void)import_append(import, &OP_ON(kind, (uint32_t)i, .host = 0));
        }
    }
}

/* Fills what is in use, from the top down, with the pieces between; the rest stays free at the
 * bottom. */
static void append_contents(struct import *import, const struct tpu_plan *plan)
{
    uint64_t above_bytes = plan->free_bytes - plan->bottom_bytes;
    uint64_t rest_bytes = plan->capacity_bytes - plan->free_bytes - plan->reserved_bytes;
    rest_bytes -= plan->reserved_bytes > 0 ? plan->granule_bytes : 0;
    rest_bytes -= plan->is_loaded_first ? plan->granule_bytes : 0;
    const size_t first = import->ops.count;
    while (above_bytes > 0) {
        const uint64_t piece_bytes = above_bytes < plan->piece_bytes ? above_bytes
                                                                     : plan->piece_bytes;
        above_bytes -= piece_bytes;
        const uint64_t separator_bytes = above_bytes > 0 ? plan->granule_bytes : rest_bytes;
        CHECK(separator_bytes > 0 && separator_bytes <= rest_bytes);
        rest_bytes -= separator_bytes;
        append_alloc(import, piece_bytes, TAG_PIECE);
        append_alloc(import, separator_bytes, TAG_ASSUMED);
    }
    if (rest_bytes > 0) {
        append_alloc(import, rest_bytes, plan->piece_bytes > 0 ? TAG_ASSUMED : TAG_IN_USE);
    }
    append_on_tag(import, OP_HOLD, first, TAG_ASSUMED);
    append_on_tag(import, OP_FREE, first, TAG_PIECE);
}

/* The ops, and what a run is compared with: the bytes that were chosen for what the message prints.
 * A program that executes for ever keeps its stack reserved. */
static void append_ops(const struct tpu_building *building)
{
    const struct tpu_message *message = building->message;
    const struct tpu_plan *plan = &building->plan;
    struct import *import = building->import;
    const uint8_t tag = message->name[0] != '\0' ? TAG_PROGRAM : 0;
    uint32_t program = OP_NONE;
    if (plan->is_loaded_first) {
        program = append_load(import, plan->image_bytes, plan->requested_bytes, tag);
    }
    if (plan->reserved_bytes > 0) {
        const uint32_t busy = append_load(import, plan->granule_bytes, plan->reserved_bytes,
                                          TAG_BUSY);
        (void)import_append(import, &OP_ON(OP_EXECUTE, busy, .delay_ns = DELAY_NEVER));
    }
    append_contents(import, plan);
    if (plan->is_loaded_first) {
        (void)import_append(import, &OP_ON(OP_EXECUTE, program, .host = 0));
    } else if (message->form == TPU_MESSAGE_PROGRAM_STACK) {
        (void)append_load(import, plan->image_bytes, plan->requested_bytes, tag);
    } else if (message->form == TPU_MESSAGE_PROGRAM_IMAGE) {
        (void)append_load(import, plan->requested_bytes, 0, tag);
    } else {
        append_alloc(import, plan->requested_bytes, 0);
    }
    const uint32_t request = (uint32_t)(import->ops.count - 1);
    import_say(import, request, SAID_FAILED, 0);
    import_say(import, request, SAID_FREE_BYTES, plan->free_bytes);
    if (message->has_largest && plan->piece_bytes > 0) {
        import_say(import, request, SAID_LARGEST_HOLE_BYTES, plan->piece_bytes);
    }
}

/* --- setup and notes --- */

static void fill_setup(const struct tpu_building *building)
{
    const struct tpu_message *message = building->message;
    const struct tpu_plan *plan = &building->plan;
    struct setup *setup = &building->import->setup;
    import_apply_fixed(building->fixed, setup);
    setup->capacity_bytes = plan->capacity_bytes;
    setup->granule_bytes = plan->granule_bytes;
    snprintf(setup->system, sizeof setup->system, "xla_tpu");
    if (plan->chip != NULL) {
        snprintf(setup->chip, sizeof setup->chip, "%s", plan->chip);
    }
    if (message->has_coordinate) {
        memcpy(setup->coordinate, message->coordinate, sizeof setup->coordinate);
    }
    if (is_open(building)) {
        setup->reported = (struct setup_reported){
            .is_there = true,
            .requested_low = message->requested.low,
            .requested_high = message->requested.high,
            .free_low = message->free.low,
            .free_high = message->free.high,
            .image_least = plan->is_image_assumed ? plan->granule_bytes : 0};
    }
}

static void assume_capacity(const struct tpu_building *building)
{
    const struct tpu_plan *plan = &building->plan;
    struct import *import = building->import;
    char size[SIZE_TEXT_BYTES];
    size_print_field(plan->capacity_bytes, size);
    if (import_fixed_capacity(building->fixed, plan->granule_bytes) != 0) {
        import_note(import, "capacity %s: as given", size);
    } else if (building->message->has_capacity) {
        import_note(import, "capacity %s: from the message", size);
    } else if (plan->is_chip_named) {
        import_assume(import, "capacity %s: that of chip %s, which the log names: \"%s\"", size,
                      plan->chip, building->message->chip_words);
    } else if (plan->chip != NULL) {
        import_assume(
            import, "capacity %s: the smallest known chip (%s) that holds what the message reports",
            size, plan->chip);
    } else {
        import_assume(import, "capacity %s: the least that holds what the message reports", size);
    }
}

static void assume_heap(const struct tpu_building *building, const char *name_of_assumed)
{
    const struct tpu_message *message = building->message;
    const struct tpu_plan *plan = &building->plan;
    struct import *import = building->import;
    if (plan->piece_bytes > 0) {
        import_assume(
            import,
            "all that was in use was pinned (tag '%s'): the message does not say what could move",
            name_of_assumed);
    }
    if (plan->is_piece_assumed) {
        import_assume(import, "the largest free piece was just smaller than the request");
    }
    if (message->has_largest && plan->piece_bytes > 0) {
        import_note(import, "a replay prints the sentence on fragmentation only with "
                            "--target-option defrag=none");
    }
    if (message->form == TPU_MESSAGE_PROGRAM_STACK && plan->image_bytes > plan->granule_bytes) {
        import_assume(import,
                      "the stack alone would fit: the image took %" PRIu64 " bytes in addition",
                      plan->image_bytes);
    } else if (message->form == TPU_MESSAGE_PROGRAM_STACK) {
        import_assume(import,
                      "the message does not give the size of the image: it took one granule");
    }
    if (!is_open(building)) { /* the request is larger than what is free, whatever may move */
        const uint64_t need_bytes = plan->requested_bytes +
                                    (message->form == TPU_MESSAGE_PROGRAM_STACK
                                         ? plan->image_bytes
                                         : plan->reserved_bytes);
        import_assume(import,
                      "none of what was in use was %san unfinished free: with %" PRIu64
                      " bytes of those the refusal would be premature",
                      message->form == TPU_MESSAGE_BUFFER ? "an idle program or " : "",
                      align_up(need_bytes, plan->granule_bytes) - plan->free_bytes -
                          plan->reserved_bytes);
    }
    if (message->has_largest && plan->piece_bytes == 0) {
        import_note(
            import,
            "the request is above the free bytes: a replay leaves out the sentence on fragmentation");
    }
}

/* If the message says how large the largest piece was, no other arrangement has room either: its
 * blocks are not placed by assumption. */
static void name_and_note(const struct tpu_building *building)
{
    const struct tpu_message *message = building->message;
    const struct tpu_plan *plan = &building->plan;
    struct import *import = building->import;
    const char *const names[] = {message->name, "in use", SETUP_FILLER_NAME, "busy program",
                                 plan->is_piece_assumed ? SETUP_ASSUMED_NAME SETUP_PLACED_ENDING
                                                        : SETUP_ASSUMED_NAME};
    tags_name_used(&import->setup, &import->ops, names, TAG_ASSUMED);
    if (strlen(message->name) >= SETUP_NAME_BYTES) {
        import_note(import, "the program's name is cut to %d characters", SETUP_NAME_BYTES - 1);
    }
    assume_capacity(building);
    import_assume(import,
                  "printed sizes are rounded; chosen: %" PRIu64 " requested, %" PRIu64 " free",
                  plan->requested_bytes, plan->free_bytes);
    assume_heap(building, names[TAG_ASSUMED - 1]);
    if (message->has_cut_coordinate) {
        import_note(import, "the coordinate is cut off and not used");
    }
}

enum import_result tpu_message_build(const struct tpu_message *message, const struct setup *fixed,
                                     struct import *import, struct import_error *error)
{
    struct tpu_building building = {.message = message, .fixed = fixed, .import = import};
    char reason[REASON_BYTES];
    if (message->missing != NULL) {
        return import_fail(error, IMPORT_INCOMPLETE, error->line, error->column,
                           "the message is cut off or damaged: it lacks %s", message->missing);
    }
    if (!choose_plan(&building, reason)) {
        return import_fail(error, IMPORT_INVALID, error->line, error->column, "%s", reason);
    }
    import->view = IMPORT_SUMS;
    append_ops(&building);
    fill_setup(&building);
    name_and_note(&building);
    return IMPORT_OK;
}
