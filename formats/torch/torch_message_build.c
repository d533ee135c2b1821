/* One heap that a message of PyTorch allows.
 *
 *     0 [ free on the device ][ not for this process ][ free in private pools ][ not PyTorch's ]
 *       [ allocated, unallocated, allocated ... ] capacity
 *
 * The request fits nowhere, as it did not.  Where the message allows that it did, because enough is
 * unallocated, or free on the device, that lies in pieces, and the blocks between are placed by
 * assumption: with what is free around them in one piece it fits, so that the verdict is unknown.
 * What is free on the device and what is unallocated never join: PyTorch has given back all
 * segments without a block before it gives up, and moves no block.  Numbers that are rounded are
 * chosen so that they leave open what they may. */
#include "formats/common/heap_image.h"
#include "formats/common/import.h"
#include "formats/torch/private/torch_message.h"
#include "harness/base/align.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    GRANULE = HEAP_PART_GRANULE_BYTES,
    PIECE_COUNT_MAX = 100000,
    SEPARATORS_BYTES = 3 * GRANULE /* around two pieces */
};
#define SEGMENT_BYTES (UINT64_C(2) << 20)  /* CUDA segments are multiples of it */
#define NO_LIMIT_BYTES IMPORT_CAPACITY_MAX /* a limit from here on is none */

static const char name_of_allocated[] = "allocated by PyTorch";
static const char name_of_placed[] = "allocated by PyTorch" SETUP_PLACED_ENDING;
static const char name_of_cache[] = "reserved by PyTorch, not usable here";
static const char name_of_pools[] = "free in private pools (graphs)";
static const char name_of_barred[] = "free, but not given to this process" SETUP_PLACED_ENDING;
static const char name_of_unsaid[] = "free, or in use by others" SETUP_PLACED_ENDING;

/* The bytes that are chosen; all are whole granules. */
struct torch_plan {
    uint64_t requested, total, usable, barred, allocated, pools, unallocated, outside;
    uint64_t reserved;    /* allocated and unallocated together */
    uint64_t piece;       /* the size of the pieces of what is unallocated */
    uint64_t piece_count; /* 0: nobody could use them here, so that they are one block */
    uint64_t unusable;    /* of what is unallocated: more than so many pieces have */
    bool is_limited;      /* by what this process is allowed, and not by the device */
    bool is_close;        /* rounding leaves open whether there was room */
    bool is_barred_close; /* barred is more than the request by rounding alone, if at all */
    bool is_free_assumed; /* the message does not say what is free */
    bool is_over;         /* more is in use than the device has */
    /* which of the processes is this one, though the message does not say so; process_count: none
     */
    size_t own;
};

static uint64_t fact(const struct torch_message *message, enum torch_fact number)
{
    return align_down(message->facts[number].bytes + GRANULE / 2, GRANULE);
}

/* Returns how far rounding may have taken the sum of these numbers. */
static uint64_t slack(const struct torch_message *message, uint32_t facts)
{
    uint64_t bytes = GRANULE;
    for (size_t i = 0; i < TORCH_FACT_COUNT; i++) {
        bytes += (facts & message->known & 1u << i) != 0 ? message->facts[i].step_bytes / 2 + 1 : 0;
    }
    return bytes;
}

static uint64_t subtract(uint64_t from, uint64_t bytes)
{
    return from > bytes ? from - bytes : 0;
}

/* --- the numbers --- */

/* A request that is printed in rounded form is a whole number of segments where there is one. */
static uint64_t choose_request(const struct torch_message *message)
{
    const struct unit_size *size = &message->facts[TORCH_REQUESTED];
    const uint64_t segments = align_down(size->bytes + SEGMENT_BYTES / 2, SEGMENT_BYTES);
    const uint64_t off = segments > size->bytes ? segments - size->bytes : size->bytes - segments;
    const uint64_t bytes = off <= size->step_bytes / 2 && segments > 0 ? segments : size->bytes;
    return align_up(bytes, GRANULE);
}

/* Returns the bytes, or the request if rounding of these numbers allows that. */
static uint64_t meet_request(const struct torch_message *message, const struct torch_plan *plan,
                             uint64_t bytes, uint32_t numbers)
{
    const uint64_t off = slack(message, numbers | 1u << TORCH_REQUESTED);
    return bytes < plan->requested && plan->requested - bytes <= off ? plan->requested : bytes;
}

static void choose_reserved(const struct torch_message *message, struct torch_plan *plan)
{
    const bool is_said = torch_message_has(message, TORCH_UNALLOCATED);
    plan->allocated = fact(message, TORCH_ALLOCATED);
    plan->reserved = fact(message, TORCH_RESERVED);
    plan->unallocated = is_said ? fact(message, TORCH_UNALLOCATED)
                                : subtract(plan->reserved, plan->allocated);
    plan->unallocated = meet_request(message, plan, plan->unallocated,
                                     is_said ? 1u << TORCH_UNALLOCATED
                                             : 1u << TORCH_ALLOCATED | 1u << TORCH_RESERVED);
    plan->pools = fact(message, TORCH_POOLS);
    plan->pools = plan->pools < plan->allocated ? plan->pools : plan->allocated;
    if (plan->requested <= plan->unallocated && plan->allocated - plan->pools < SEPARATORS_BYTES) {
        plan->allocated = plan->pools + SEPARATORS_BYTES;
    }
    plan->reserved = plan->allocated + plan->unallocated;
}

/* Chooses what is free for this process: too little for the request to fit. */
static void choose_free(const struct torch_message *message, struct torch_plan *plan)
{
    const uint64_t beside = subtract(plan->total, plan->reserved + fact(message, TORCH_OTHER));
    const uint64_t most = plan->requested - GRANULE;
    uint64_t free = torch_message_has(message, TORCH_FREE) ? fact(message, TORCH_FREE) : beside;
    plan->is_free_assumed = !torch_message_has(message, TORCH_FREE) &&
                            message->form != TORCH_MESSAGE_MPS;
    uint64_t limit = UINT64_MAX;
    if (torch_message_has(message, TORCH_ALLOWED) &&
        message->facts[TORCH_ALLOWED].bytes < NO_LIMIT_BYTES) {
        limit = subtract(fact(message, TORCH_ALLOWED), plan->reserved);
    }
    plan->is_limited = limit < free;
    free = plan->is_limited ? limit : free;
    const uint32_t numbers = plan->is_limited ? 1u << TORCH_ALLOWED | 1u << TORCH_ALLOCATED |
                                                    1u << TORCH_UNALLOCATED | 1u << TORCH_RESERVED
                                              : 1u << TORCH_FREE | 1u << TORCH_TOTAL;
    free = meet_request(message, plan, free, numbers);
    plan->usable = free < most ? free : most;
    if (free > most) {
        plan->barred = free - most > 2 * GRANULE ? free - most : 2 * GRANULE;
        plan->is_barred_close = free - most <= slack(message, numbers | 1u << TORCH_REQUESTED);
    }
}

/* Everything else on the device. */
static void choose_outside(const struct torch_message *message, struct torch_plan *plan)
{
    const uint64_t known = plan->usable + plan->barred + plan->reserved;
    if (plan->is_limited) {
        plan->total = known;
        return;
    }
    plan->is_over = known > plan->total + slack(message, UINT32_MAX);
    plan->total = known > plan->total ? known : plan->total;
    plan->outside = plan->total - known;
    if (message->form == TORCH_MESSAGE_MPS && plan->outside > fact(message, TORCH_OTHER)) {
        plan->total -= plan->outside - fact(message, TORCH_OTHER);
        plan->outside = fact(message, TORCH_OTHER);
    }
}

/* Pieces below the request, with something allocated between any two. */
static void choose_pieces(struct torch_plan *plan)
{
    const uint64_t most = plan->requested - GRANULE;
    plan->piece = plan->unallocated <= most ? plan->unallocated : most;
    if (plan->unallocated == 0 || plan->piece == 0) {
        return;
    }
    const uint64_t separators = (plan->allocated - plan->pools) / GRANULE;
    plan->piece_count = (plan->unallocated + plan->piece - 1) / plan->piece;
    plan->piece_count = plan->piece_count > PIECE_COUNT_MAX ? PIECE_COUNT_MAX : plan->piece_count;
    if (separators < plan->piece_count + 1) {
        plan->piece_count = separators == 0 ? 0 : separators - 1;
    }
    plan->unusable = subtract(plan->unallocated, plan->piece_count * plan->piece);
}

/* In a container the failing process may stand among the others.  It does where all of them leave
 * no room for it, and then it is the smallest that holds what PyTorch has. */
static size_t find_own(const struct torch_message *message, const struct torch_plan *plan)
{
    size_t own = message->process_count;
    uint64_t sum = 0;
    bool is_said = false;
    for (size_t i = 0; i < message->process_count; i++) {
        is_said = is_said || message->processes[i].is_own;
        const uint64_t bytes = message->processes[i].in_use.bytes;
        sum += bytes < IMPORT_CAPACITY_MAX ? bytes : IMPORT_CAPACITY_MAX;
        if (bytes + slack(message, UINT32_MAX) >= plan->reserved &&
            (own == message->process_count || bytes < message->processes[own].in_use.bytes)) {
            own = i;
        }
    }
    const bool is_room = sum <= plan->outside + slack(message, UINT32_MAX);
    return is_room || is_said ? message->process_count : own;
}

static enum import_result choose_numbers(const struct torch_message *message,
                                         struct torch_plan *plan, struct import_error *error)
{
    *plan = (struct torch_plan){.requested = choose_request(message),
                                .total = fact(message, TORCH_TOTAL)};
    for (size_t i = 0; i < TORCH_FACT_COUNT; i++) {
        if (i != TORCH_ALLOWED && message->facts[i].bytes > IMPORT_CAPACITY_MAX / 8) {
            return import_fail(error, IMPORT_INVALID, error->line, error->column,
                               "a number of the message is above 128T: no device is so large");
        }
    }
    if (plan->requested == 0 || plan->total == 0) {
        return import_fail(error, IMPORT_INVALID, error->line, error->column,
                           "the request or the capacity is 0 bytes");
    }
    choose_reserved(message, plan);
    choose_free(message, plan);
    choose_outside(message, plan);
    choose_pieces(plan);
    plan->is_close = (plan->barred == 0 || plan->is_barred_close) &&
                     plan->requested <=
                         plan->usable + plan->unallocated + slack(message, UINT32_MAX);
    plan->own = find_own(message, plan);
    return IMPORT_OK;
}

/* --- the heap --- */

struct torch_building {
    struct heap_parts parts;
    struct import *import;
};

static void add(struct torch_building *building, const char *name, uint64_t size_bytes,
                enum heap_span_state state)
{
    heap_parts_add(&building->parts, building->import, name, size_bytes, state);
}

/* Enough is free in a piece and a granule, and not in one piece, unless the granule alone is. */
static void add_free(struct torch_building *building, const struct torch_plan *plan)
{
    const uint64_t apart = plan->barred > 0 && plan->usable > 0 ? GRANULE : 0;
    add(building, NULL, plan->usable, HEAP_SPAN_FREE);
    add(building, plan->is_free_assumed ? name_of_unsaid : name_of_barred, plan->barred - apart,
        HEAP_SPAN_HELD);
    add(building, NULL, apart, HEAP_SPAN_FREE);
}

/* The lowest part is not placed by assumption where no other part keeps it from what is free on the
 * device. */
static void add_reserved(struct torch_building *building, const struct torch_plan *plan)
{
    uint64_t allocated = plan->allocated - plan->pools;
    uint64_t unallocated = plan->unallocated - plan->unusable;
    const bool is_placed = plan->requested <= plan->usable + plan->unallocated;
    const bool is_apart = plan->pools + plan->outside + plan->unusable > 0;
    const char *name = is_placed ? name_of_placed : name_of_allocated;
    const uint64_t between = align_down(allocated / (plan->piece_count + 1), GRANULE);
    add(building, name_of_cache, plan->unusable, HEAP_SPAN_HELD);
    for (uint64_t i = 0; i < plan->piece_count; i++) {
        const uint64_t piece = unallocated < plan->piece ? unallocated : plan->piece;
        add(building, i == 0 && !is_apart ? name_of_allocated : name, between, HEAP_SPAN_IN_USE);
        add(building, NULL, piece, HEAP_SPAN_FREE);
        allocated -= between;
        unallocated -= piece;
    }
    add(building, name, allocated, HEAP_SPAN_IN_USE);
}

/* Adds what the processes hold, as far as there is so much.  The rest is no named process's. */
static void add_outside(struct torch_building *building, const struct torch_message *message,
                        const struct torch_plan *plan)
{
    uint64_t left = plan->outside;
    for (size_t i = 0; i < message->process_count; i++) {
        const struct torch_process *process = &message->processes[i];
        const bool is_own = process->is_own || i == plan->own;
        uint64_t bytes = align_down(process->in_use.bytes, GRANULE);
        bytes = is_own ? subtract(bytes, plan->reserved) : bytes;
        bytes = bytes < left ? bytes : left;
        char name[SETUP_NAME_BYTES];
        snprintf(name, sizeof name, SETUP_OTHER_PROCESS_NAME " %" PRIu64, process->pid);
        add(building, is_own ? SETUP_OTHER_LIBRARY_NAME : name, bytes, HEAP_SPAN_HELD);
        left -= bytes;
    }
    add(building, SETUP_OUTSIDE_NAME, left, HEAP_SPAN_HELD);
}

static enum import_result build_heap(const struct torch_message *message,
                                     const struct torch_plan *plan,
                                     const struct import_input *input, struct import *import,
                                     struct import_error *error)
{
    struct torch_building building = {.import = import};
    heap_parts_init(&building.parts);
    add_free(&building, plan);
    add(&building, name_of_pools, plan->pools, HEAP_SPAN_HELD);
    add_outside(&building, message, plan);
    add_reserved(&building, plan);
    const enum import_result result = heap_image_build(&building.parts.image, input->fixed, import,
                                                       error);
    heap_parts_deinit(&building.parts);
    return result;
}

/* --- what is said of it --- */

static void assume_cache(const struct torch_plan *plan, struct import *import)
{
    if (plan->unallocated == 0) {
        return;
    }
    if (plan->piece_count == 0) {
        import_assume(
            import,
            "how the %s that are reserved but unallocated lie is not in the message: none of it is taken to be usable by this request",
            size_text_of(plan->unallocated).text);
    } else if (plan->piece_count == 1) {
        import_assume(
            import,
            "how the %s that are reserved but unallocated lie is not in the message: taken as one piece, too small for the request",
            size_text_of(plan->unallocated).text);
    } else {
        import_assume(
            import,
            "how the %s that are reserved but unallocated lie is not in the message: taken as %" PRIu64
            " pieces, each below the request, since a piece that is free for it would have served it",
            size_text_of(plan->unallocated).text, plan->piece_count);
    }
}

static void assume_rest(const struct torch_message *message, const struct torch_plan *plan,
                        struct import *import)
{
    if (plan->is_free_assumed) {
        import_assume(import, "the message does not say what is free: %s, as far as it adds up",
                      size_text_of(plan->usable).text);
    }
    if (plan->barred > 0 && !plan->is_barred_close && !plan->is_free_assumed) {
        import_assume(
            import,
            "%s are free and more than was asked for: the message gives no reason for the refusal; a memory fraction, or another process that released memory meanwhile; taken as not given to this process",
            size_text_of(plan->usable + plan->barred).text);
    }
    if (plan->is_over) {
        import_assume(
            import,
            "more is in use than the device has, as where host memory stands in for it: the capacity is taken to be the sum");
    }
    if (plan->own < message->process_count) {
        import_assume(
            import,
            "process %" PRIu64
            " is taken to be the one that failed: with it as another, more would be in use than the device has",
            message->processes[plan->own].pid);
    }
}

/* Tells what the numbers show, whatever the heap was. */
static void tell_result(const struct torch_plan *plan, struct import *import)
{
    const uint64_t free = plan->usable + plan->unallocated;
    if (plan->is_close && (plan->requested > free || plan->is_barred_close)) {
        import_tell(
            import,
            "%s asked for, and about as much free: the rounded numbers do not show whether there was room; such are chosen that there was none",
            size_text_of(plan->requested).text);
    } else if (plan->barred == 0 && plan->requested > free) {
        import_tell(
            import,
            "in every heap that the message allows there was no room: %s asked for, %s free with all that PyTorch reserved and does not use",
            size_text_of(plan->requested).text, size_text_of(free).text);
    } else if (plan->requested <= plan->unallocated) {
        import_tell(
            import,
            "PyTorch had %s reserved but unallocated, at least the %s that were asked for: they lay in pieces, or in segments of other pools or streams; the message does not say which, a memory snapshot does",
            size_text_of(plan->unallocated).text, size_text_of(plan->requested).text);
    } else if (plan->barred == 0) {
        import_tell(
            import,
            "%s free on the device and %s reserved but unallocated would do together, but PyTorch moves no block: the request needs them in one piece",
            size_text_of(plan->usable).text, size_text_of(plan->unallocated).text);
    }
}

static void tell_limits(const struct torch_message *message, const struct torch_plan *plan,
                        struct import *import)
{
    if (plan->is_limited) {
        import_tell(
            import,
            "this process may use %s of the device's %s (memory fraction): that limit is the capacity here, and %s that are free beyond it do not count",
            size_text_of(fact(message, TORCH_ALLOWED)).text,
            size_text_of(fact(message, TORCH_TOTAL)).text,
            size_text_of(fact(message, TORCH_FREE)).text);
    }
    if (plan->pools > 0) {
        import_tell(
            import,
            "%s of what counts as allocated are free blocks in private pools (CUDA graphs, MemPool): only their own pool can use them",
            size_text_of(plan->pools).text);
    }
    if (message->form == TORCH_MESSAGE_ASYNC) {
        import_tell(
            import,
            "of the cudaMallocAsync backend: what its pool keeps cached is not in the message and counts as outside");
    }
}

static void note_numbers(const struct torch_message *message, const struct torch_plan *plan,
                         struct import *import)
{
    if (message->has_device) {
        import_note(import, "device %" PRIu64 ", as the process counts them", message->device);
        import_name_device(import, 0, "GPU %" PRIu64, message->device);
    }
    import_note(import,
                "printed sizes are rounded; chosen: %" PRIu64 " requested, %" PRIu64
                " free, %" PRIu64 " unallocated",
                plan->requested, plan->usable, plan->unallocated);
    if (plan->outside > 0 && message->process_count == 0) {
        import_note(import, "tag '" SETUP_OUTSIDE_NAME
                            "': the device's capacity without what is free or reserved by PyTorch");
    }
}

enum import_result torch_message_build(const struct torch_message *message,
                                       const struct import_input *input, struct import *import,
                                       struct import_error *error)
{
    struct torch_plan plan;
    if (message->missing != NULL) {
        return import_fail(error, IMPORT_INCOMPLETE, error->line, error->column,
                           "the message is cut off or damaged: it lacks %s", message->missing);
    }
    const bool has_reserved = torch_message_has(message, TORCH_RESERVED) ||
                              torch_message_has(message, TORCH_UNALLOCATED);
    if (!torch_message_has(message, TORCH_TOTAL) || !torch_message_has(message, TORCH_ALLOCATED) ||
        (message->form == TORCH_MESSAGE_CACHING && !has_reserved)) {
        return import_fail(error, IMPORT_INCOMPLETE, error->line, error->column,
                           "the message lacks the capacity, or what is allocated or reserved");
    }
    IMPORT_TRY(choose_numbers(message, &plan, error));
    IMPORT_TRY(build_heap(message, &plan, input, import, error));
    snprintf(import->setup.system, sizeof import->setup.system, "pytorch");
    import_say(import, import_append(import, &OP_TO_MAKE(OP_ALLOC, .size_bytes = plan.requested)),
               SAID_FAILED, 0);
    tell_result(&plan, import);
    tell_limits(message, &plan, import);
    assume_cache(&plan, import);
    assume_rest(message, &plan, import);
    note_numbers(message, &plan, import);
    return IMPORT_OK;
}
