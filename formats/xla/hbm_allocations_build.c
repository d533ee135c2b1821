/* From a report to the heap that it shows.  Blocks go where they were; programs are loaded again,
 * and one that was busy is executed for ever, with all of the reserved stack. */
#include "formats/common/heap_image.h"
#include "formats/common/import.h"
#include "formats/common/tags.h"
#include "formats/xla/private/hbm_allocations.h"
#include "formats/xla/private/tpu_message.h"
#include "harness/base/align.h"
#include "harness/base/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct allocations_building {
    const struct hbm_allocations *allocations;
    const struct import_input *input;
    struct import *import;
    struct import_error *error;
    struct heap_image image;
    uint64_t end_bytes; /* of the highest block */
    uint64_t capacity_bytes;
    uint8_t own_tag;         /* from it on up to 255 are tags of our own; 0 = none is */
    uint64_t untagged_count; /* blocks whose name got none, because there are no more */
};

/* --- tags --- */

/* Names without a number that a setup can have get one, from 255 downward, as long as there are
 * any. */
static uint8_t make_own_tag(struct allocations_building *building, const char *name)
{
    struct setup *setup = &building->import->setup;
    const unsigned first = building->own_tag == 0 ? OP_TAG_COUNT : building->own_tag;
    const uint8_t known = tag_find(setup, first, TAG_OTHER, name);
    const unsigned next = first - 1;
    if (known != 0) {
        return known;
    }
    if (next == 0 || setup->tags[next][0] != '\0') {
        building->untagged_count++;
        return 0;
    }
    setup_set_tag(setup, (uint8_t)next, name);
    building->own_tag = (uint8_t)next;
    return building->own_tag;
}

static uint8_t make_tag(struct allocations_building *building, const struct hbm_row *row)
{
    struct setup *setup = &building->import->setup;
    char name[SETUP_NAME_BYTES];
    tag_print(row->name, strnlen(row->name, row->name_length), name);
    if (row->tag > 0 && row->tag < OP_TAG_COUNT &&
        (building->own_tag == 0 || row->tag < building->own_tag)) {
        if (setup->tags[row->tag][0] == '\0' && name[0] != '\0') {
            setup_set_tag(setup, (uint8_t)row->tag, name);
        }
        return (uint8_t)row->tag;
    }
    if (name[0] == '\0' && row->tag != 0) {
        snprintf(name, sizeof name, "tag %" PRId64, row->tag);
    }
    return name[0] == '\0' ? 0 : make_own_tag(building, name);
}

/* --- the device --- */

/* Bytes without padding that agree with both of what is printed, as far as any do. */
static uint64_t choose_unpadded(const struct hbm_row *row)
{
    const uint64_t low = row->size_bytes > row->padding.high ? row->size_bytes - row->padding.high
                                                             : 0;
    const uint64_t high = row->size_bytes > row->padding.low ? row->size_bytes - row->padding.low
                                                             : 0;
    const uint64_t bytes = row->unpadded.nominal;
    return bytes < low ? low : bytes > high ? high : bytes;
}

/* Chooses the capacity.  What is in use, reserved and free is the limit; all but the first are
 * rounded.  False: they contradict each other. */
static bool choose_capacity(struct allocations_building *building)
{
    const struct hbm_allocations *said = building->allocations;
    uint64_t low = said->used_bytes + said->reserved.low + said->free.low;
    uint64_t high = said->used_bytes + said->reserved.high + said->free.high;
    low = said->limit.low > low ? said->limit.low : low;
    low = building->end_bytes > low ? building->end_bytes : low;
    high = said->limit.high < high ? said->limit.high : high;
    if (low > high) {
        return false;
    }
    for (size_t i = 0; chips[i] != NULL && chips[i]->kind == CHIP_TPU; i++) {
        if (chips[i]->capacity_bytes >= low && chips[i]->capacity_bytes <= high) {
            building->capacity_bytes = chips[i]->capacity_bytes;
            return true;
        }
    }
    const uint64_t wish = said->limit.nominal < low    ? low
                          : said->limit.nominal > high ? high
                                                       : said->limit.nominal;
    const uint64_t above = align_up(wish, IMPORT_GRANULE_BYTES);
    const uint64_t below = align_down(high, IMPORT_GRANULE_BYTES);
    building->capacity_bytes = above <= high ? above : below >= low ? below : wish;
    return true;
}

static enum import_result check_rows(struct allocations_building *building)
{
    const struct hbm_allocations *said = building->allocations;
    for (size_t i = 0; i < said->row_count; i++) {
        const struct hbm_row *row = &said->rows[i];
        if (row->address == UINT64_MAX) {
            return import_fail(
                building->error, IMPORT_INCOMPLETE, row->line, 0,
                "the contents of this block are on the host, so its place on the device is unknown");
        }
        uint64_t end_bytes = 0;
        if (row->size_bytes == 0 ||
            __builtin_add_overflow(row->address, row->size_bytes, &end_bytes) ||
            end_bytes > IMPORT_CAPACITY_MAX) {
            return IMPORT_REFUSE(building->error, row->line,
                                 "a block of %" PRIu64 " bytes at 0x%" PRIx64
                                 "; accepted: 1 byte or more that ends at 2^50 or below",
                                 row->size_bytes, row->address);
        }
        building->end_bytes = end_bytes > building->end_bytes ? end_bytes : building->end_bytes;
    }
    if (said->reserved.high > IMPORT_CAPACITY_MAX || said->free.high > IMPORT_CAPACITY_MAX ||
        said->limit.high > IMPORT_CAPACITY_MAX || !choose_capacity(building)) {
        return IMPORT_REFUSE(
            building->error, said->line,
            "the bytes in use, reserved and free do not sum to the limit, or blocks lie above it");
    }
    return IMPORT_OK;
}

/* --- spans --- */

static int compare_spans(const void *a, const void *b)
{
    return compare_numbers(((const struct heap_span *)a)->address,
                           ((const struct heap_span *)b)->address);
}

static void add_free(struct allocations_building *building, uint64_t begin, uint64_t end)
{
    if (end > begin) {
        heap_image_add(&building->image, &(struct heap_span){.address = begin,
                                                             .size_bytes = end - begin,
                                                             .state = HEAP_SPAN_FREE});
    }
}

static void add_blocks(struct allocations_building *building)
{
    static const enum heap_span_state states[HBM_ROW_STATE_COUNT] = {
        [HBM_ROW_MOVABLE] = HEAP_SPAN_IN_USE,      [HBM_ROW_HELD] = HEAP_SPAN_HELD,
        [HBM_ROW_DYING] = HEAP_SPAN_DYING,         [HBM_ROW_PROGRAM_IDLE] = HEAP_SPAN_IN_USE,
        [HBM_ROW_PROGRAM_BUSY] = HEAP_SPAN_IN_USE, [HBM_ROW_RETIRED] = HEAP_SPAN_HELD};
    for (size_t i = 0; i < building->allocations->row_count; i++) {
        const struct hbm_row *row = &building->allocations->rows[i];
        const uint64_t unpadded = choose_unpadded(row);
        const struct heap_span span = {.address = row->address,
                                       .size_bytes = row->size_bytes,
                                       .requested_bytes = unpadded < row->size_bytes ? unpadded : 0,
                                       .state = states[row->state],
                                       .tag = make_tag(building, row),
                                       .line = row->line};
        heap_image_add(&building->image, &span);
    }
}

/* Adds the free ranges between the blocks, below and above them. */
static void add_holes(struct allocations_building *building)
{
    struct heap_image *image = &building->image;
    const size_t count = image->count;
    uint64_t end = 0;
    if (count > 0) {
        qsort(image->spans, count, sizeof *image->spans, compare_spans);
    }
    for (size_t i = 0; i < count; i++) {
        const uint64_t begin = image->spans[i].address;
        const uint64_t size_bytes = image->spans[i].size_bytes;
        add_free(building, end, begin);
        end = begin + size_bytes > end ? begin + size_bytes : end;
    }
    add_free(building, end, building->capacity_bytes);
}

/* --- programs and the request --- */

/* Blocks that are programs' images are loaded instead of allocated; the first busy one has the
 * reserved stack. */
static void make_programs(struct allocations_building *building)
{
    const struct hbm_allocations *said = building->allocations;
    struct op_list *ops = &building->import->ops;
    uint64_t stack_bytes = building->capacity_bytes - said->used_bytes;
    stack_bytes = stack_bytes < said->reserved.low ? stack_bytes : said->reserved.nominal;
    for (size_t i = 0; i < said->row_count; i++) {
        const struct hbm_row *row = &said->rows[i];
        const bool is_busy = row->state == HBM_ROW_PROGRAM_BUSY;
        if (!is_busy && row->state != HBM_ROW_PROGRAM_IDLE) {
            continue;
        }
        const uint32_t number = heap_image_find(&building->image, 0, row->address)->op;
        const struct op *block = &ops->ops[number];
        ops->ops[number] = OP_TO_MAKE(OP_LOAD, .size_bytes = block->size_bytes, .tag = block->tag,
                                      .stack_bytes = is_busy ? stack_bytes : 0);
        if (is_busy) {
            op_list_append(ops, &OP_ON(OP_EXECUTE, number, .delay_ns = DELAY_NEVER));
            stack_bytes = 0;
        }
    }
}

/* The first complete message behind the report, else the last one before it.  must_agree: of those
 * only that are of the report, since a log may have more failures. */
static bool find_message(const struct allocations_building *building, bool must_agree,
                         struct tpu_message *found)
{
    const struct import_input *input = building->input;
    const struct size_range *free = &building->allocations->free;
    struct tpu_message message;
    bool is_found = false;
    for (size_t offset = 0; tpu_message_next(input->text, input->length, &offset, &message);) {
        /* Of the report's failure: then both print the same free bytes. */
        const bool agrees = message.has_free && message.free.low <= free->high &&
                            message.free.high >= free->low;
        if (message.missing != NULL || (must_agree && !agrees)) {
            continue;
        }
        *found = message;
        is_found = true;
        if (message.begin >= building->allocations->end) {
            break;
        }
    }
    return is_found;
}

static void append_request(struct allocations_building *building)
{
    struct import *import = building->import;
    struct tpu_message message;
    const bool agrees = find_message(building, true, &message);
    if ((!agrees && !find_message(building, false, &message)) || message.requested.nominal == 0) {
        import_note(
            import,
            "the log has no runtime message with a request, before or after the report: only the heap is rebuilt");
        return;
    }
    struct op op = op_make(message.form == TPU_MESSAGE_BUFFER ? OP_ALLOC : OP_LOAD);
    op.size_bytes = message.requested.nominal;
    if (message.form == TPU_MESSAGE_PROGRAM_STACK) {
        op.size_bytes = import->setup.granule_bytes;
        op.stack_bytes = message.requested.nominal;
        import_note(import,
                    "the message does not give the size of the image: one granule is assumed");
    }
    import_say(import, import_append(import, &op), SAID_FAILED, 0);
    import_note(
        import,
        "the request comes from the runtime message in the log: %" PRIu64 " bytes as printed%s",
        message.requested.nominal, agrees ? "" : "; its free bytes differ from the report's");
}

static void add_notes(const struct allocations_building *building)
{
    const struct hbm_allocations *said = building->allocations;
    uint64_t counts[HBM_ROW_STATE_COUNT] = {0};
    for (size_t i = 0; i < said->row_count; i++) {
        counts[said->rows[i].state]++;
    }
    import_note(building->import,
                "line %zu: %" PRIu64 " blocks, %" PRIu64 " bytes; limit %" PRIu64 " bytes",
                said->line, said->block_count, said->used_bytes, building->capacity_bytes);
    if (counts[HBM_ROW_PROGRAM_IDLE] > 0) {
        import_note(building->import,
                    "the report does not give the stacks of idle programs: none are assumed");
    }
    if (counts[HBM_ROW_PROGRAM_BUSY] > 1) {
        import_note(building->import,
                    "%" PRIu64 " programs are busy: the first one listed gets the reserved stack",
                    counts[HBM_ROW_PROGRAM_BUSY]);
    }
    if (counts[HBM_ROW_PROGRAM_BUSY] == 0 && said->reserved.high > 0) {
        import_note(building->import,
                    "a stack is reserved, but no program is busy: it is left free");
    }
    if (counts[HBM_ROW_RETIRED] > 0) {
        import_note(building->import, "retired memory becomes a block that is held");
    }
    if (building->untagged_count > 0) {
        import_note(building->import,
                    "%" PRIu64 " blocks have a name but get no tag, because none is left",
                    building->untagged_count);
    }
}

static enum import_result build_ops(struct allocations_building *building)
{
    IMPORT_TRY(check_rows(building));
    add_blocks(building);
    add_holes(building);
    IMPORT_TRY(heap_image_build(&building->image, building->input->fixed, building->import,
                                building->error));
    make_programs(building);
    add_notes(building);
    append_request(building);
    if (building->import->ops.count == 0) {
        return import_fail(building->error, IMPORT_INCOMPLETE, building->allocations->line, 0,
                           "no block is in use, and no message names the request");
    }
    import_say(building->import, (uint32_t)building->import->ops.count - 1, SAID_IN_USE_BYTES,
               building->allocations->used_bytes);
    return IMPORT_OK;
}

enum import_result hbm_allocations_build(const struct hbm_allocations *allocations,
                                         const struct import_input *input, struct import *import,
                                         struct import_error *error)
{
    struct allocations_building building = {
        .allocations = allocations, .input = input, .import = import, .error = error};
    heap_image_init(&building.image);
    const enum import_result result = build_ops(&building);
    heap_image_deinit(&building.image);
    return result;
}
