#include "allocator/private/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allocator/private/program.h"

const char *hbm_kind_name(enum hbm_kind kind)
{
    static const char *const names[] = {"buffer", "output", "program", "retired"};
    return names[kind];
}

const char *hbm_state_name(enum hbm_state state)
{
    static const char *const names[] = {"movable",      "held",         "dying",
                                        "program idle", "program busy", "retired"};
    return names[state];
}

const char *hbm_result_name(enum hbm_result result)
{
    static const char *const names[] = {"ok", "no memory", "invalid", "unavailable"};
    return names[result];
}

uint64_t hbm_reservable(const struct hbm *hbm)
{
    uint64_t movable_bytes = 0;
    const bool fixed = hbm->options.defrag == HBM_DEFRAG_NONE;
    const struct hbm_block *block = hbm_heap_at(&hbm->heap, hbm->heap.stack);
    while (block->next != HBM_POOL_NONE) {
        block = hbm_heap_at(&hbm->heap, block->next);
        if (block->role == HBM_ROLE_HOLE) {
            continue;
        }
        if (fixed || !hbm_block_is_movable(block)) {
            return block->address - movable_bytes;
        }
        movable_bytes += block->size_bytes;
    }
    return hbm->options.capacity_bytes - movable_bytes;
}

#define LINE_BYTES_MAX 512

static enum hbm_state find_block_state(const struct hbm_block *block)
{
    if (block->role == HBM_ROLE_RETIRED) {
        return HBM_STATE_RETIRED;
    }
    if (block->dying) {
        return HBM_STATE_DYING;
    }
    const bool held = hbm_block_is_held(block);
    if (block->role == HBM_ROLE_PROGRAM) {
        return held ? HBM_STATE_PROGRAM_BUSY : HBM_STATE_PROGRAM_IDLE;
    }
    return held ? HBM_STATE_HELD : HBM_STATE_MOVABLE;
}

static void describe_entry(const struct hbm *hbm, const struct hbm_block_cold *cold,
                           struct hbm_report_entry *entry)
{
    entry->unpadded_bytes = cold->used.unpadded_bytes;
    entry->tag = cold->used.tag;
    entry->shape = hbm_shapes_at(&hbm->shapes, cold->used.shape);
    if (entry->kind != HBM_KIND_PROGRAM) {
        entry->tag_name = cold->used.tag_name;
        return;
    }
    const struct hbm_program *program = cold->used.program;
    entry->program_id = program->id;
    entry->handle = program;
    entry->tag_name = program->name[0] != '\0' ? program->name : NULL;
}

static struct hbm_report_entry make_report_entry(const struct hbm *hbm, uint32_t number)
{
    const struct hbm_block *block = hbm_heap_at(&hbm->heap, number);
    struct hbm_report_entry entry = {
        .address = hbm_block_address(block),
        .size_bytes = block->size_bytes,
        .unpadded_bytes = block->size_bytes - block->padding_bytes,
        .align_bytes = (uint64_t)1 << block->align_shift,
        .kind = (enum hbm_kind)(block->role - HBM_ROLE_BUFFER),
        .state = find_block_state(block),
        .hold_count = block->hold_count,
        .use_count = hbm_block_use_count(&hbm->heap, number),
        .handle = block->role == HBM_ROLE_RETIRED ? NULL : block,
    };
    if (block->described) {
        describe_entry(hbm, hbm_heap_cold(&hbm->heap, number), &entry);
    }
    if (entry.unpadded_bytes < entry.size_bytes) {
        entry.padding_bytes = entry.size_bytes - entry.unpadded_bytes;
    }
    return entry;
}

static bool is_reported_before(const void *context, uint32_t left, uint32_t right)
{
    const struct hbm_block *a = hbm_heap_at(context, left), *b = hbm_heap_at(context, right);
    return a->size_bytes != b->size_bytes ? a->size_bytes > b->size_bytes : a->address > b->address;
}

static void visit_number(const struct hbm *hbm, uint32_t number, hbm_report_visitor *visit,
                         void *context)
{
    const struct hbm_report_entry entry = make_report_entry(hbm, number);
    visit(context, &entry);
}

/* A walk over all blocks, those without a range first, then in address order. */
struct report_walk {
    const struct hbm_stranded *stranded; /* the next without a range */
    uint32_t number;                     /* the last with one */
};

static struct report_walk begin_walk(const struct hbm *hbm)
{
    return (struct report_walk){hbm_stranded_absent(hbm, hbm->stranded), hbm->heap.stack};
}

/* The number of the next block; HBM_POOL_NONE after the last. */
static uint32_t find_next_block(const struct hbm *hbm, struct report_walk *walk)
{
    if (walk->stranded != NULL) {
        const uint32_t number = walk->stranded->block;
        walk->stranded = hbm_stranded_absent(hbm, walk->stranded->next);
        return number;
    }
    do {
        walk->number = hbm_heap_at(&hbm->heap, walk->number)->next;
    } while (walk->number != HBM_POOL_NONE &&
             hbm_heap_at(&hbm->heap, walk->number)->role == HBM_ROLE_HOLE);
    return walk->number;
}

static void visit_blocks_unsorted(const struct hbm *hbm, hbm_report_visitor *visit, void *context)
{
    struct report_walk walk = begin_walk(hbm);
    for (uint32_t number; (number = find_next_block(hbm, &walk)) != HBM_POOL_NONE;) {
        visit_number(hbm, number, visit, context);
    }
}

/* Visits every block, largest first.  False: no host memory to sort in, and none was visited. */
static bool visit_blocks(struct hbm *hbm, hbm_report_visitor *visit, void *context)
{
    HBM_CHECK(visit != NULL);
    const size_t room = hbm->heap.used_count;
    if (room == 0) {
        return true;
    }
    uint32_t *numbers = hbm_host_array(&hbm->host, room, sizeof *numbers);
    if (numbers == NULL) {
        return false;
    }
    struct report_walk walk = begin_walk(hbm);
    size_t count = 0;
    for (uint32_t number; (number = find_next_block(hbm, &walk)) != HBM_POOL_NONE;) {
        HBM_CHECK(count < room);
        numbers[count++] = number;
    }
    HBM_CHECK(count == room);
    hbm_sort(numbers, count, is_reported_before, &hbm->heap);
    for (size_t i = 0; i < count; i++) {
        visit_number(hbm, numbers[i], visit, context);
    }
    hbm_host_free(&hbm->host, numbers, room, sizeof *numbers);
    return true;
}

static char *print_size(uint64_t bytes, char *text)
{
    return hbm_size_print(bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes, text,
                          HBM_SIZE_TEXT_BYTES);
}

struct report_sums {
    uint64_t bytes[HBM_STATE_COUNT];
    uint64_t count[HBM_STATE_COUNT];
    uint64_t padding_bytes;
};

static void add_to_sums(void *context, const struct hbm_report_entry *entry)
{
    struct report_sums *sums = context;
    sums->bytes[entry->state] += entry->size_bytes;
    sums->count[entry->state]++;
    sums->padding_bytes += entry->padding_bytes;
}

static void print_header(struct hbm *hbm, const struct hbm_sink *sink)
{
    char line[LINE_BYTES_MAX], text[5][HBM_SIZE_TEXT_BYTES];
    struct report_sums sums = {.padding_bytes = 0};
    visit_blocks_unsorted(hbm, add_to_sums, &sums);
    (void)snprintf(
        line, sizeof line,
        "HBM allocations: %" PRIu64 " blocks, %s in use (%" PRIu64
        " bytes), %s of it padding, %s reserved, "
        "%s free, %s limit",
        hbm->heap.used_count, print_size(hbm->heap.used_bytes, text[0]), hbm->heap.used_bytes,
        print_size(sums.padding_bytes, text[1]), print_size(hbm_heap_reserved(&hbm->heap), text[2]),
        print_size(hbm_free_bytes(hbm), text[3]), print_size(hbm->options.capacity_bytes, text[4]));
    sink->line(sink->context, line);
    for (enum hbm_state state = 0; state < HBM_STATE_COUNT; state++) {
        if (sums.count[state] == 0) {
            continue;
        }
        (void)snprintf(line, sizeof line, "  %s: %" PRIu64 " blocks, %s (%" PRIu64 " bytes)",
                       hbm_state_name(state), sums.count[state],
                       print_size(sums.bytes[state], text[0]), sums.bytes[state]);
        sink->line(sink->context, line);
    }
}

static void print_entry(void *context, const struct hbm_report_entry *entry)
{
    const struct hbm_sink *sink = context;
    char line[LINE_BYTES_MAX + HBM_SHAPE_TEXT_BYTES], text[3][HBM_SIZE_TEXT_BYTES], place[32];
    char shape[HBM_SHAPE_TEXT_BYTES] = "-";
    if (entry->shape != NULL) {
        (void)hbm_shape_print(entry->shape, shape, sizeof shape);
    }
    if (entry->address == HBM_ADDRESS_NONE) {
        (void)snprintf(place, sizeof place, "on the host");
    } else {
        (void)snprintf(place, sizeof place, "0x%" PRIx64, entry->address);
    }
    (void)snprintf(line, sizeof line,
                   "  %s at %s: %s, %s, tag %" PRId32
                   " %.200s, shape %s, unpadded %s, padding %s, %" PRIu64 " bytes",
                   print_size(entry->size_bytes, text[0]), place, hbm_kind_name(entry->kind),
                   hbm_state_name(entry->state), entry->tag,
                   entry->tag_name == NULL ? "-" : entry->tag_name, shape,
                   print_size(entry->unpadded_bytes, text[1]),
                   print_size(entry->padding_bytes, text[2]), entry->size_bytes);
    sink->line(sink->context, line);
}

void hbm_report_print_locked(struct hbm *hbm, const struct hbm_sink *sink)
{
    struct hbm_sink copy = *sink;
    print_header(hbm, sink);
    if (!visit_blocks(hbm, print_entry, &copy)) {
        visit_blocks_unsorted(hbm, print_entry, &copy);
    }
}

enum hbm_result hbm_report_visit(struct hbm *hbm, hbm_report_visitor *visit, void *context)
{
    hbm_lock_take(&hbm->lock);
    hbm_collect_events(hbm);
    const bool visited = visit_blocks(hbm, visit, context);
    hbm_lock_give(&hbm->lock);
    return visited ? HBM_OK : hbm_fail_unavailable(hbm, "no host memory to sort the report in");
}

void hbm_report_sum(struct hbm *hbm, uint64_t bytes[HBM_STATE_COUNT])
{
    struct report_sums sums = {.padding_bytes = 0};
    hbm_lock_take(&hbm->lock);
    hbm_collect_events(hbm);
    visit_blocks_unsorted(hbm, add_to_sums, &sums);
    hbm_lock_give(&hbm->lock);
    memcpy(bytes, sums.bytes, sizeof sums.bytes);
}

void hbm_report_print(struct hbm *hbm, const struct hbm_sink *sink)
{
    hbm_lock_take(&hbm->lock);
    hbm_collect_events(hbm);
    hbm_report_print_locked(hbm, sink);
    hbm_lock_give(&hbm->lock);
}
