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
 * holds the same heap makes the refusal premature (docs/promise.md, "A message alone"). */
#include "formats/common/tags.h"
#include "formats/xla/private/tpu_message.h"
#include "harness/base/align.h"
#include "harness/base/check.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TAG_PROGRAM = 1, TAG_IN_USE = 2, TAG_PIECE = 3, TAG_BUSY = 4, TAG_ASSUMED = 5 };

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

/* A program that executes for ever keeps its stack reserved. */
static void append_busy_program(struct import *import, const struct tpu_plan *plan)
{
    const uint32_t program = append_load(import, plan->granule_bytes, plan->reserved_bytes,
                                         TAG_BUSY);
    (void)import_append(import, &OP_ON(OP_EXECUTE, program, .delay_ns = DELAY_NEVER));
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

static void append_ops(const struct tpu_message *message, const struct tpu_plan *plan,
                       struct import *import)
{
    const uint8_t tag = message->name[0] != '\0' ? TAG_PROGRAM : 0;
    uint32_t program = OP_NONE;
    if (plan->is_loaded_first) {
        program = append_load(import, plan->image_bytes, plan->requested_bytes, tag);
    }
    if (plan->reserved_bytes > 0) {
        append_busy_program(import, plan);
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
}

/* Says what a run is compared with: the bytes that were chosen for what the message prints. */
static void say_results(const struct tpu_message *message, const struct tpu_plan *plan,
                        struct import *import)
{
    const uint32_t request = (uint32_t)(import->ops.count - 1);
    import_say(import, request, SAID_FAILED, 0);
    import_say(import, request, SAID_FREE_BYTES, plan->free_bytes);
    if (message->has_largest && plan->piece_bytes > 0) {
        import_say(import, request, SAID_LARGEST_HOLE_BYTES, plan->piece_bytes);
    }
}

/* --- setup and notes --- */

/* If the message says how large the largest piece was, no other arrangement has room either. */
static const char *name_of_assumed(const struct tpu_plan *plan)
{
    return plan->is_piece_assumed ? SETUP_ASSUMED_NAME SETUP_PLACED_ENDING : SETUP_ASSUMED_NAME;
}

static void name_tags(const struct tpu_message *message, const struct tpu_plan *plan,
                      struct import *import)
{
    const char *const names[] = {message->name, "in use", SETUP_FILLER_NAME, "busy program",
                                 name_of_assumed(plan)};
    tags_name_used(&import->setup, &import->ops, names, TAG_ASSUMED);
    if (strlen(message->name) >= SETUP_NAME_BYTES) {
        import_note(import, "the program's name is cut to %d characters", SETUP_NAME_BYTES - 1);
    }
}

static void fill_setup(const struct tpu_message *message, const struct setup *fixed,
                       const struct tpu_plan *plan, struct import *import)
{
    import_apply_fixed(fixed, &import->setup);
    import->setup.capacity_bytes = plan->capacity_bytes;
    import->setup.granule_bytes = plan->granule_bytes;
    snprintf(import->setup.system, sizeof import->setup.system, "xla_tpu");
    if (plan->chip != NULL) {
        snprintf(import->setup.chip, sizeof import->setup.chip, "%s", plan->chip);
    }
    if (message->has_coordinate) {
        memcpy(import->setup.coordinate, message->coordinate, sizeof import->setup.coordinate);
    }
    if (tpu_plan_is_open(message, plan)) {
        import->setup.reported = (struct setup_reported){
            .is_there = true,
            .requested_low = message->requested.low,
            .requested_high = message->requested.high,
            .free_low = message->free.low,
            .free_high = message->free.high,
            .image_least = plan->is_image_assumed ? plan->granule_bytes : 0};
    }
}

static void assume_capacity(const struct tpu_message *message, const struct setup *fixed,
                            const struct tpu_plan *plan, struct import *import)
{
    char size[SIZE_TEXT_BYTES];
    size_print_field(plan->capacity_bytes, size);
    if (import_fixed_capacity(fixed, plan->granule_bytes) != 0) {
        import_note(import, "capacity %s: as given", size);
    } else if (message->has_capacity) {
        import_note(import, "capacity %s: from the message", size);
    } else if (plan->is_chip_named) {
        import_assume(import, "capacity %s: that of chip %s, which the log names: \"%s\"", size,
                      plan->chip, message->chip_words);
    } else if (plan->chip != NULL) {
        import_assume(
            import, "capacity %s: the smallest known chip (%s) that holds what the message reports",
            size, plan->chip);
    } else {
        import_assume(import, "capacity %s: the least that holds what the message reports", size);
    }
}

static void assume_image(const struct tpu_plan *plan, struct import *import)
{
    if (plan->image_bytes > plan->granule_bytes) {
        import_assume(import,
                      "the stack alone would fit: the image took %" PRIu64 " bytes in addition",
                      plan->image_bytes);
    } else {
        import_assume(import,
                      "the message does not give the size of the image: it took one granule");
    }
}

/* A request that is larger than what is free, whatever may move. */
static void assume_no_more_room(const struct tpu_message *message, const struct tpu_plan *plan,
                                struct import *import)
{
    const uint64_t have_bytes = plan->free_bytes + plan->reserved_bytes;
    const bool is_stack = message->form == TPU_MESSAGE_PROGRAM_STACK;
    const uint64_t need_bytes = is_stack ? plan->requested_bytes + plan->image_bytes
                                         : plan->requested_bytes + plan->reserved_bytes;
    import_assume(import,
                  "none of what was in use was %san unfinished free: with %" PRIu64
                  " bytes of those the refusal would be premature",
                  message->form == TPU_MESSAGE_BUFFER ? "an idle program or " : "",
                  align_up(need_bytes, plan->granule_bytes) - have_bytes);
}

static void assume_pinned(const struct tpu_message *message, const struct tpu_plan *plan,
                          struct import *import)
{
    import_assume(
        import,
        "all that was in use was pinned (tag '%s'): the message does not say what could move",
        name_of_assumed(plan));
    if (plan->is_piece_assumed) {
        import_assume(import, "the largest free piece was just smaller than the request");
    }
    if (message->has_largest) {
        import_note(import, "a replay prints the sentence on fragmentation only with "
                            "--target-option defrag=none");
    }
}

static void assume_heap(const struct tpu_message *message, const struct tpu_plan *plan,
                        struct import *import)
{
    if (plan->piece_bytes > 0) {
        assume_pinned(message, plan, import);
    }
    if (message->form == TPU_MESSAGE_PROGRAM_STACK) {
        assume_image(plan, import);
    }
    if (!tpu_plan_is_open(message, plan)) {
        assume_no_more_room(message, plan, import);
    }
    if (message->has_largest && plan->piece_bytes == 0) {
        import_note(
            import,
            "the request is above the free bytes: a replay leaves out the sentence on fragmentation");
    }
}

static void add_notes(const struct tpu_message *message, const struct setup *fixed,
                      const struct tpu_plan *plan, struct import *import)
{
    assume_capacity(message, fixed, plan, import);
    import_assume(import,
                  "printed sizes are rounded; chosen: %" PRIu64 " requested, %" PRIu64 " free",
                  plan->requested_bytes, plan->free_bytes);
    assume_heap(message, plan, import);
    if (message->has_cut_coordinate) {
        import_note(import, "the coordinate is cut off and not used");
    }
}

enum import_result tpu_message_build(const struct tpu_message *message, const struct setup *fixed,
                                     struct import *import, struct import_error *error)
{
    struct tpu_plan plan;
    if (message->missing != NULL) {
        return import_fail(error, IMPORT_INCOMPLETE, error->line, error->column,
                           "the message is cut off or damaged: it lacks %s", message->missing);
    }
    char reason[TPU_PLAN_REASON_BYTES];
    if (!tpu_plan_choose(message, fixed, &plan, reason)) {
        return import_fail(error, IMPORT_INVALID, error->line, error->column, "%s", reason);
    }
    import->view = IMPORT_SUMS;
    append_ops(message, &plan, import);
    say_results(message, &plan, import);
    fill_setup(message, fixed, &plan, import);
    name_tags(message, &plan, import);
    add_notes(message, fixed, &plan, import);
    return IMPORT_OK;
}
