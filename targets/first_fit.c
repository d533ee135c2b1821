/* A naive allocator: the highest hole that fits, no mitigation of any kind.  It keeps the contract
 * `none`.  The options defrag, drains and evicts change only what it declares, so that a harness
 * can be seen to catch a lie; so does placement, of which pages is the lie.  The options rounding
 * and headers change what it does and declares: its blocks then have size classes, or a granule
 * before each, which headers=undeclared does not tell.  So do the options of struct first_fit_ways,
 * unless declares=no. */
#include "targets/private/first_fit_heap.h"
#include "targets/private/option.h"
#include "targets/targets.h"

#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>

enum { MESSAGE_BYTES = 1024, ALIGN_LOG2_MAX = 21 };

struct target_instance {
    struct target_contract contract;
    uint32_t coordinate[4];
    struct first_fit_heap heap;
    struct first_fit_ways more;
    bool evicts; /* some request does, or is said to */
    uint64_t header_bytes;
    bool aligns_start; /* a planted defect: the header is what is aligned */
    char message[MESSAGE_BYTES];
};

/* --- options and life --- */

/* The values of the option headers, in the order of its words. */
enum headers { HEADERS_NONE = 0, HEADERS_DECLARED, HEADERS_UNDECLARED };

struct first_fit_options {
    struct target_contract contract;
    struct first_fit_ways more;
    enum headers headers;
    uint32_t rounding; /* of the table in open_instance */
};

#define AT struct first_fit_options
static const struct target_option_row option_rows[] = {
    OPTION_WORDS("defrag", "none|slide|repack", AT, contract.defrag),
    OPTION_GRANULE(AT, contract.granule_bytes),
    OPTION_YES_NO("drains", AT, contract.drains),
    OPTION_YES_NO("evicts", AT, contract.evicts),
    OPTION_WORDS("rounding", "granule|pow2|classes8", AT, rounding),
    OPTION_WORDS("headers", "none|declared|undeclared", AT, headers),
    OPTION_WORDS("placement", "ranges|hidden|pages", AT, contract.placement),
    OPTION_WORDS("counters", "exact|at_most|late|absent", AT, more.counting),
    OPTION_WORDS("limit", "device|process", AT, more.limit),
    OPTION_YES_NO("owners", AT, more.owners),
    OPTION_YES_NO("steps", AT, more.steps),
    OPTION_WORDS("cost", OPTION_GROWTHS, AT, more.cost),
    OPTION_YES_NO("declares", AT, more.declares),
    {.key = NULL}};

static void list_mitigations(struct target_contract *contract)
{
    unsigned count = 0;
    if (contract->drains) {
        contract->order[count++] = MITIGATION_DRAIN;
    }
    if (contract->defrag != DEFRAG_NONE) {
        contract->order[count++] = MITIGATION_DEFRAGMENT;
    }
    if (contract->evicts) {
        contract->order[count++] = MITIGATION_EVICT;
    }
}

/* Headers and hidden places do not go with programs, of which neither has any. */
static void declare_headers(struct target_contract *declared, enum headers headers)
{
    if (headers == HEADERS_DECLARED) {
        declared->header_bytes = declared->granule_bytes;
        declared->rounding.overhead_bytes = declared->granule_bytes;
    }
    if (headers != HEADERS_NONE || declared->placement == PLACEMENT_HIDDEN) {
        declared->programs = false;
    }
}

static enum target_result open_instance(const struct target_setup *setup,
                                        const struct device_services *device, bool aligns_start,
                                        struct target_instance **out,
                                        struct target_contract *contract, char *text,
                                        size_t text_bytes)
{
    static const struct target_rounding roundings[] = {{.kind = ROUNDING_GRANULE},
                                                       {.kind = ROUNDING_CLASSES, .steps = 1},
                                                       {.kind = ROUNDING_CLASSES, .steps = 8}};
    const struct option_reason reason = {text, text_bytes};
    struct first_fit_options options = {
        .contract = {.granule_bytes = setup->granule_bytes != 0 ? setup->granule_bytes : 512,
                     .queues_frees = true,
                     .programs = true,
                     .documented_messages = true},
        .headers = aligns_start ? HEADERS_DECLARED : HEADERS_NONE};
    struct target_contract *declared = &options.contract;
    first_fit_ways_init(&options.more);
    if (!target_options_read(option_rows, setup, &options, text, text_bytes) ||
        !option_check_device(setup->capacity_bytes, declared->granule_bytes, &reason)) {
        return TARGET_INVALID;
    }
    declared->rounding = roundings[options.rounding];
    struct target_instance *instance = device->host_alloc(device->context, sizeof *instance);
    if (instance == NULL) {
        (void)snprintf(text, text_bytes, "the host memory for the allocator was refused");
        return TARGET_FAILED;
    }
    first_fit_ways_declare(&options.more, declared);
    list_mitigations(declared);
    declare_headers(declared, options.headers);
    *instance = (struct target_instance){
        .contract = *declared,
        .more = options.more,
        .evicts = declared->evicts,
        .header_bytes = options.headers != HEADERS_NONE ? declared->granule_bytes : 0,
        .aligns_start = aligns_start,
        .heap = {.device = *device,
                 .capacity_bytes = setup->capacity_bytes,
                 .granule_bytes = declared->granule_bytes,
                 .stats = {.bytes_limit = setup->capacity_bytes,
                           .bytes_reservable_limit = setup->capacity_bytes}}};
    for (unsigned i = 0; i < 4; i++) {
        instance->coordinate[i] = setup->coordinate[i];
    }
    *contract = *declared;
    *out = instance;
    return TARGET_OK;
}

DEFINE_OPEN(target_open,
            open_instance(setup, device, false, instance, contract, reason, reason_bytes))
DEFINE_OPEN(open_aligning_start,
            open_instance(setup, device, true, instance, contract, reason, reason_bytes))

static void target_close(struct target_instance *instance)
{
    const struct device_services device = instance->heap.device;
    first_fit_clear(&instance->heap);
    device.host_free(device.context, instance, sizeof *instance);
}

/* --- failures --- */

static enum target_result fail_invalid(struct target_instance *instance, const char *what)
{
    (void)snprintf(instance->message, MESSAGE_BYTES, "INVALID_ARGUMENT: %s", what);
    return TARGET_INVALID;
}

static enum target_result fail_refused(struct target_instance *instance)
{
    (void)snprintf(instance->message, MESSAGE_BYTES,
                   "UNAVAILABLE: the host memory for a block was refused");
    return TARGET_FAILED;
}

/* The documented sentence; that of fragmentation belongs to runtimes that never move a block. */
static enum target_result fail_no_memory(struct target_instance *instance, const char *what,
                                         uint64_t size_bytes)
{
    char requested_text[SIZE_TEXT_BYTES];
    char free_text[SIZE_TEXT_BYTES];
    char largest_text[SIZE_TEXT_BYTES];
    const uint32_t *at = instance->coordinate;
    size_print_field(size_bytes, requested_text);
    size_print_field(first_fit_free_bytes(&instance->heap), free_text);
    size_print_field(first_fit_largest_hole_bytes(&instance->heap), largest_text);
    int used = snprintf(
        instance->message, MESSAGE_BYTES,
        "RESOURCE_EXHAUSTED: Error %s: Attempting to allocate %s. That was not possible. "
        "There are %s free.",
        what, requested_text, free_text);
    if (instance->contract.defrag == DEFRAG_NONE &&
        first_fit_free_bytes(&instance->heap) >= size_bytes) {
        used += snprintf(
            instance->message + used, MESSAGE_BYTES - (size_t)used,
            " Due to fragmentation, the largest contiguous region of free memory is %s.",
            largest_text);
    }
    (void)snprintf(instance->message + used, MESSAGE_BYTES - (size_t)used,
                   "; (%" PRIu32 "x%" PRIu32 "x%" PRIu32 "_HBM%" PRIu32 ")", at[0], at[1], at[2],
                   at[3]);
    return TARGET_NO_MEMORY;
}

static enum target_result fail_no_stack(struct target_instance *instance, const char *what,
                                        uint64_t stack_bytes)
{
    char requested_text[SIZE_TEXT_BYTES];
    char free_text[SIZE_TEXT_BYTES];
    char reserved_text[SIZE_TEXT_BYTES];
    char reservable_text[SIZE_TEXT_BYTES];
    size_print_field(stack_bytes, requested_text);
    size_print_field(first_fit_free_bytes(&instance->heap), free_text);
    size_print_field(instance->heap.reserved_bytes, reserved_text);
    size_print_field(first_fit_reservable_bytes(&instance->heap), reservable_text);
    (void)snprintf(
        instance->message, MESSAGE_BYTES,
        "RESOURCE_EXHAUSTED: Error %s: Attempting to reserve %s at the bottom of memory. That was not "
        "possible. There are %s free, %s reserved, and %s reservable.",
        what, requested_text, free_text, reserved_text, reservable_text);
    return TARGET_NO_MEMORY;
}

static bool is_valid_size(uint64_t bytes)
{
    return bytes > 0 && bytes <= UINT64_C(1) << 63;
}

/* The size of the block for a request of so many bytes, at most 2^63. */
static uint64_t find_block_bytes(const struct target_instance *instance, uint64_t bytes)
{
    const struct target_rounding *rounding = &instance->contract.rounding;
    uint64_t power = 1;
    while (power < bytes) {
        power *= 2;
    }
    const uint64_t step = rounding->kind == ROUNDING_CLASSES ? power / 2 / rounding->steps : 0;
    return first_fit_in_granules(&instance->heap,
                                 step <= 1 ? bytes : (bytes + (step - 1)) / step * step) +
           instance->header_bytes;
}

static struct first_fit_node *node_of(uint64_t handle)
{
    return (struct first_fit_node *)(uintptr_t)handle;
}

static struct target_block block_of(const struct target_instance *instance,
                                    const struct first_fit_node *node)
{
    return (struct target_block){(uint64_t)(uintptr_t)node, node->address + instance->header_bytes,
                                 node->size_bytes};
}

/* --- calls on buffers --- */

/* A step may have changed what can help; without one nothing does. */
static bool take_step(struct target_instance *instance, uint64_t size_bytes, bool may_evict)
{
    return instance->more.steps && size_bytes <= instance->heap.capacity_bytes &&
           first_fit_step(&instance->heap, may_evict);
}

static enum target_result place_buffer(struct target_instance *instance,
                                       struct first_fit_wanted wanted, struct first_fit_node **node)
{
    struct first_fit_heap *heap = &instance->heap;
    enum target_result result = TARGET_NO_MEMORY;
    if (first_fit_is_taken(&instance->more, heap, wanted.size_bytes)) {
        return TARGET_NO_MEMORY;
    }
    first_fit_begin_steps(heap);
    do {
        wanted.floor_bytes = heap->reserved_bytes;
        result = first_fit_place(heap, &wanted, node);
    } while (result == TARGET_NO_MEMORY && take_step(instance, wanted.size_bytes, true));
    return result;
}

static enum target_result target_alloc(struct target_instance *instance,
                                       const struct target_request *request,
                                       struct target_block *block)
{
    first_fit_collect(&instance->heap);
    const uint64_t align = request->align_bytes;
    if (!is_valid_size(request->size_bytes)) {
        return fail_invalid(instance, "the size is 0 or above 2^63");
    }
    if ((align & (align - 1)) != 0 || align > UINT64_C(1) << ALIGN_LOG2_MAX) {
        return fail_invalid(instance, "the alignment is not a power of two up to 2^24");
    }
    const uint64_t granule = instance->contract.granule_bytes;
    const struct first_fit_wanted wanted = {
        .size_bytes = find_block_bytes(instance, request->size_bytes),
        .align_bytes = align > granule ? align : granule,
        .floor_bytes = instance->heap.reserved_bytes,
        .header_bytes = instance->aligns_start ? 0 : instance->header_bytes,
        .like = {.tag = request->tag, .kind = request->kind}};
    struct first_fit_node *node = NULL;
    const enum target_result result = place_buffer(instance, wanted, &node);
    if (result == TARGET_NO_MEMORY) {
        return fail_no_memory(instance, "allocating device buffer", request->size_bytes);
    }
    if (result != TARGET_OK) {
        return fail_refused(instance);
    }
    *block = block_of(instance, node);
    return TARGET_OK;
}

static enum target_result target_free(struct target_instance *instance, uint64_t handle,
                                      uint64_t event)
{
    first_fit_collect(&instance->heap);
    if (!first_fit_add_wait(&instance->heap, node_of(handle), event)) {
        return fail_refused(instance);
    }
    node_of(handle)->is_dying = true;
    first_fit_settle(&instance->heap, node_of(handle));
    return TARGET_OK;
}

static enum target_result target_use(struct target_instance *instance, uint64_t handle,
                                     uint64_t event)
{
    first_fit_collect(&instance->heap);
    return first_fit_add_wait(&instance->heap, node_of(handle), event) ? TARGET_OK
                                                                       : fail_refused(instance);
}

static enum target_result target_hold(struct target_instance *instance, uint64_t handle)
{
    first_fit_collect(&instance->heap);
    node_of(handle)->hold_count++;
    return TARGET_OK;
}

static enum target_result target_release(struct target_instance *instance, uint64_t handle)
{
    first_fit_collect(&instance->heap);
    if (node_of(handle)->hold_count == 0) {
        return fail_invalid(instance, "the block is not held");
    }
    node_of(handle)->hold_count--;
    first_fit_settle(&instance->heap, node_of(handle));
    return TARGET_OK;
}

static enum target_result target_donate(struct target_instance *instance, uint64_t handle,
                                        const struct target_request *request,
                                        struct target_block *block)
{
    struct first_fit_node *node = node_of(handle);
    first_fit_collect(&instance->heap);
    if (request->size_bytes == 0 ||
        request->size_bytes > node->size_bytes - instance->header_bytes || node->hold_count > 0) {
        return fail_invalid(instance, "the request is larger than the block, or the block is held");
    }
    if (request->align_bytes != 0 &&
        (node->address + instance->header_bytes) % request->align_bytes != 0) {
        return fail_invalid(instance, "the block has not the alignment that is asked for");
    }
    node->kind = request->kind;
    node->tag = request->tag;
    *block = block_of(instance, node);
    return TARGET_OK;
}

/* --- calls on programs --- */

static enum target_result fail_program_no_memory(struct target_instance *instance, const char *name,
                                                 uint64_t image_bytes, uint64_t stack_bytes,
                                                 bool is_stack)
{
    char what[256];
    (void)snprintf(what, sizeof what, "loading program '%.200s'", name);
    return is_stack ? fail_no_stack(instance, what, stack_bytes)
                    : fail_no_memory(instance, what, image_bytes);
}

/* The place of an image with its stack below it.  NO_MEMORY: there is none for both. */
static enum target_result find_program_place(struct target_instance *instance,
                                             const struct first_fit_node *program,
                                             uint64_t *address, struct first_fit_node **above)
{
    struct first_fit_heap *heap = &instance->heap;
    struct first_fit_wanted wanted = {.size_bytes = program->size_bytes,
                                      .align_bytes = instance->contract.granule_bytes};
    first_fit_begin_steps(heap);
    do {
        const uint64_t reserved = heap->reserved_bytes;
        wanted.floor_bytes = program->stack_bytes > reserved ? program->stack_bytes : reserved;
        if (program->stack_bytes <= first_fit_reservable_bytes(heap) &&
            first_fit_find_place(heap, &wanted, address, above)) {
            return TARGET_OK;
        }
    } while (take_step(instance, program->size_bytes, false));
    return TARGET_NO_MEMORY;
}

/* Says what had no place: the image alone, or both together. */
static enum target_result fail_program(struct target_instance *instance,
                                       const struct first_fit_node *program)
{
    const struct first_fit_wanted image = {.size_bytes = program->size_bytes,
                                           .align_bytes = instance->contract.granule_bytes,
                                           .floor_bytes = instance->heap.reserved_bytes};
    uint64_t address = 0;
    struct first_fit_node *above = NULL;
    const bool is_stack = first_fit_find_place(&instance->heap, &image, &address, &above);
    return fail_program_no_memory(instance, program->name, program->asked_bytes,
                                  program->asked_stack_bytes, is_stack);
}

static void note_stack(struct target_instance *instance, uint64_t stack_bytes)
{
    struct target_stats *stats = &instance->heap.stats;
    stats->peak_bytes_reserved = stack_bytes > stats->peak_bytes_reserved
                                     ? stack_bytes
                                     : stats->peak_bytes_reserved;
}

static enum target_result target_load(struct target_instance *instance,
                                      const struct target_program *program,
                                      struct target_block *image)
{
    first_fit_collect(&instance->heap);
    if (!is_valid_size(program->image_bytes) || program->stack_bytes > UINT64_C(1) << 63) {
        return fail_invalid(instance, "the image is empty, or a size is above 2^63");
    }
    const struct first_fit_node like = {
        .size_bytes = find_block_bytes(instance, program->image_bytes),
        .asked_bytes = program->image_bytes,
        .stack_bytes = first_fit_in_granules(&instance->heap, program->stack_bytes),
        .asked_stack_bytes = program->stack_bytes,
        .kind = BLOCK_PROGRAM,
        .program = program->id,
        .name = program->name};
    uint64_t address = 0;
    struct first_fit_node *above = NULL;
    if (first_fit_is_taken(&instance->more, &instance->heap, like.size_bytes)) {
        return fail_program_no_memory(instance, program->name, program->image_bytes,
                                      program->stack_bytes, false);
    }
    if (find_program_place(instance, &like, &address, &above) != TARGET_OK) {
        return fail_program(instance, &like);
    }
    struct first_fit_node *node = first_fit_add(&instance->heap, &like, address, above);
    if (node == NULL) {
        return fail_refused(instance);
    }
    note_stack(instance, like.stack_bytes);
    *image = block_of(instance, node);
    return TARGET_OK;
}

/* Starts the program where its image is, or comes back to; it runs until event is done. */
static enum target_result start_program(struct target_instance *instance,
                                        struct first_fit_node *program, uint64_t event)
{
    uint64_t address = 0;
    struct first_fit_node *above = NULL;
    if (program->is_evicted) {
        if (find_program_place(instance, program, &address, &above) != TARGET_OK) {
            return fail_program(instance, program);
        }
        return first_fit_bring_back(&instance->heap, program, event, address, above)
                   ? TARGET_OK
                   : fail_refused(instance);
    }
    first_fit_begin_steps(&instance->heap);
    while (program->stack_bytes > first_fit_reservable_bytes(&instance->heap)) {
        if (!take_step(instance, program->stack_bytes, false)) {
            return fail_program_no_memory(instance, program->name, 0, program->asked_stack_bytes,
                                          true);
        }
    }
    return first_fit_add_wait(&instance->heap, program, event) ? TARGET_OK : fail_refused(instance);
}

static enum target_result target_execute(struct target_instance *instance, uint64_t handle,
                                         uint64_t event, struct target_block *image)
{
    struct first_fit_node *program = node_of(handle);
    first_fit_collect(&instance->heap);
    const enum target_result result = start_program(instance, program, event);
    if (result != TARGET_OK) {
        return result;
    }
    if (program->waits != NULL && program->stack_bytes > instance->heap.reserved_bytes) {
        instance->heap.reserved_bytes = program->stack_bytes;
    }
    note_stack(instance, program->stack_bytes);
    *image = block_of(instance, program);
    return TARGET_OK;
}

static enum target_result target_unload(struct target_instance *instance, uint64_t handle)
{
    if (node_of(handle)->is_evicted) {
        first_fit_forget(&instance->heap, node_of(handle));
        return TARGET_OK;
    }
    return target_free(instance, handle, 0);
}

/* --- what is where --- */

static enum target_result target_locate(struct target_instance *instance, uint64_t handle,
                                        struct target_block *block)
{
    if (node_of(handle)->is_evicted) {
        return fail_invalid(instance, "the program is not loaded");
    }
    *block = block_of(instance, node_of(handle));
    return TARGET_OK;
}

static void target_stats(struct target_instance *instance, struct target_stats *stats)
{
    first_fit_collect(&instance->heap);
    *stats = instance->heap.stats;
    stats->bytes_reserved = instance->heap.reserved_bytes;
    stats->largest_free_block_bytes = first_fit_largest_hole_bytes(&instance->heap);
    first_fit_show(&instance->more, &instance->heap, instance->evicts, stats);
}

/* Largest first without memory to sort in: each pass finds the next smaller size.  O(sizes *
 * blocks). */
static void target_report(struct target_instance *instance,
                          void (*row)(void *context, const struct target_row *row), void *context)
{
    first_fit_collect(&instance->heap);
    uint64_t limit = UINT64_MAX;
    for (;;) {
        uint64_t size = 0;
        for (const struct first_fit_node *node = instance->heap.highest; node != NULL;
             node = node->below) {
            size = node->size_bytes < limit && node->size_bytes > size ? node->size_bytes : size;
        }
        if (size == 0) {
            return;
        }
        for (const struct first_fit_node *node = instance->heap.highest; node != NULL;
             node = node->below) {
            if (node->size_bytes == size) {
                const uint64_t address = node->address + instance->header_bytes;
                row(context, &(struct target_row){address, size, node->kind, node->tag});
            }
        }
        limit = size;
    }
}

static const char *target_message(struct target_instance *instance)
{
    return instance->message;
}

#define FIRST_FIT_CALLS                                                                            \
    .abi_version = TARGET_ABI_VERSION, .size_bytes = sizeof(struct target), .close = target_close, \
    .alloc = target_alloc, .free = target_free, .use = target_use, .hold = target_hold,            \
    .release = target_release, .donate = target_donate, .load = target_load,                       \
    .execute = target_execute, .unload = target_unload, .locate = target_locate,                   \
    .stats = target_stats, .report = target_report, .message = target_message

const struct target target_first_fit = {
    FIRST_FIT_CALLS,
    .name = "first_fit",
    .options = option_rows,
    .summary =
        "a naive allocator: it takes the highest hole that fits, and never waits, moves or evicts",
    .open = target_open,
};

/* TLSF and its like put a word before each block, and align what is behind it. */
const struct target plant_header_aligned = {
    FIRST_FIT_CALLS,
    .name = "plant_header_aligned",
    .summary = "first_fit with headers=declared that aligns the header instead of the block",
    .breaks = "misaligned",
    .open = open_aligning_start,
};
