#include "formats/counters/private/counters.h"
#include "formats/common/import.h"
#include "formats/common/tags.h"
#include "harness/base/align.h"

#include <inttypes.h>
#include <string.h>

/* Behind a name: what closes it, and what sets it apart from its number. */
static bool take_separator(struct phrase_cursor *cursor)
{
    if (phrase_peek(cursor) == '\'' || phrase_peek(cursor) == '"') {
        cursor->at++;
    }
    (void)phrase_skip_gap(cursor);
    const char c = phrase_peek(cursor);
    if (c != ':' && c != ',' && c != '=') {
        return false;
    }
    cursor->at++;
    (void)phrase_skip_gap(cursor);
    return true;
}

/* A count, or a size with its unit. */
static bool take_value(struct phrase_cursor *cursor, struct counter *counter)
{
    enum { DIGITS_MAX = 18 };
    struct phrase_cursor ahead = *cursor;
    uint64_t number = 0;
    size_t count = 0;
    counter->is_negative = phrase_take_character(&ahead, '-');
    if (phrase_take_unit_size(&ahead, &counter->value)) {
        *cursor = ahead;
        return true;
    }
    for (; phrase_peek(&ahead) >= '0' && phrase_peek(&ahead) <= '9'; ahead.at++, count++) {
        number = count < DIGITS_MAX ? number * 10 + (uint64_t)(phrase_peek(&ahead) - '0') : 0;
    }
    if (count == 0 || count > DIGITS_MAX || phrase_is_word(phrase_peek(&ahead)) ||
        phrase_peek(&ahead) == '.' ||
        phrase_is_at_end(&ahead)) { /* a number at the very end may be cut */
        return false;
    }
    counter->value = (struct unit_size){.bytes = number};
    *cursor = ahead;
    return true;
}

bool counter_next(struct phrase_cursor *cursor, struct counter *counter)
{
    while (!phrase_is_at_end(cursor)) {
        if (!phrase_is_word(phrase_peek(cursor))) {
            cursor->at++;
            continue;
        }
        *counter = (struct counter){.name = cursor->text + cursor->at, .at = cursor->at};
        while (phrase_is_word(phrase_peek(cursor)) || phrase_peek(cursor) == '.') {
            cursor->at++;
        }
        counter->name_length = cursor->at - counter->at;
        struct phrase_cursor ahead = *cursor;
        if (take_separator(&ahead) && take_value(&ahead, counter)) {
            *cursor = ahead;
            return true;
        }
    }
    return false;
}

enum { TAG_IN_USE = 1, TAG_PROGRAM, TAG_FILLER, PIECE_COUNT_MAX = 10000 };

struct counters_building {
    struct import *import;
    uint64_t granule_bytes, capacity_bytes;
    uint8_t host;
};

static uint32_t append(const struct counters_building *building, enum op_kind kind,
                       uint64_t size_bytes, uint8_t tag)
{
    return import_append(building->import, &OP_TO_MAKE(kind, .host = building->host,
                                                       .size_bytes = size_bytes, .tag = tag));
}

/* Counts the pieces above the largest hole, of at most its size, between parts of what is in use.
 * 0: there are none, or too little is in use to part them. */
static uint64_t count_pieces(const struct counters_building *building,
                             const struct counted_device *device, uint64_t free_bytes,
                             uint64_t in_use_bytes)
{
    const uint64_t largest = device->largest_free_bytes;
    if (largest == 0 || largest >= free_bytes) {
        return 0;
    }
    const uint64_t count = (free_bytes - largest + largest - 1) / largest;
    return count > PIECE_COUNT_MAX || in_use_bytes / building->granule_bytes < count ? 0 : count;
}

static void fill(const struct counters_building *building, const struct counted_device *device)
{
    const uint64_t image_bytes = device->reserved_bytes > 0 ? building->granule_bytes : 0;
    uint64_t in_use = device->in_use_bytes > image_bytes ? device->in_use_bytes - image_bytes : 0;
    const uint64_t taken = device->in_use_bytes + device->reserved_bytes;
    const uint64_t free_bytes = device->limit_bytes > taken ? device->limit_bytes - taken : 0;
    const uint64_t count = count_pieces(building, device, free_bytes, in_use);
    uint64_t left = count == 0 ? 0 : free_bytes - device->largest_free_bytes;
    const uint32_t first = (uint32_t)building->import->ops.count;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t piece = left < device->largest_free_bytes ? left
                                                                 : device->largest_free_bytes;
        const uint64_t between = align_down(in_use / (count - i), building->granule_bytes);
        (void)append(building, OP_ALLOC, piece, TAG_FILLER);
        (void)append(building, OP_ALLOC, between, TAG_IN_USE);
        in_use -= between;
        left -= piece;
    }
    if (in_use > 0) {
        (void)append(building, OP_ALLOC, in_use, TAG_IN_USE);
    }
    for (uint64_t i = 0; i < count; i++) {
        (void)import_append(building->import,
                            &OP_ON(OP_FREE, first + 2 * (uint32_t)i, .host = building->host));
    }
}

static enum import_result choose_device(const struct counted_device *devices, size_t count,
                                        const struct import_input *input, struct import *import,
                                        struct import_error *error)
{
    struct setup *setup = &import->setup;
    uint64_t bits = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < count; i++) {
        bits |= devices[i].limit_bytes | devices[i].in_use_bytes | devices[i].reserved_bytes |
                devices[i].largest_free_bytes;
        most = devices[i].limit_bytes > most ? devices[i].limit_bytes : most;
    }
    setup->granule_bytes = capacity_granule(bits);
    setup->capacity_bytes = most;
    import_apply_fixed(input->fixed, setup);
    if (setup->capacity_bytes < most || setup->granule_bytes > capacity_granule(bits) ||
        setup->capacity_bytes % setup->granule_bytes != 0) {
        return IMPORT_REFUSE(error, 0,
                             "the capacity of %" PRIu64 " bytes in granules of %" PRIu64
                             " does not hold the %" PRIu64 " bytes of the file",
                             setup->capacity_bytes, setup->granule_bytes, most);
    }
    return IMPORT_OK;
}

enum import_result counted_build(const struct counted_device *devices, size_t count,
                                 const char *tag, const struct import_input *input,
                                 struct import *import, struct import_error *error)
{
    import->view = IMPORT_SUMS;
    IMPORT_TRY(choose_device(devices, count, input, import, error));
    struct counters_building building = {.import = import,
                                         .granule_bytes = import->setup.granule_bytes,
                                         .capacity_bytes = import->setup.capacity_bytes};
    const bool is_fixed = import_fixed_capacity(input->fixed, building.granule_bytes) != 0;
    import->setup.host_count = (uint32_t)count;
    import_suggest_option(&import->setup, "defrag", "none");
    for (size_t i = 0; i < count; i++) {
        building.host = (uint8_t)i;
        if (!is_fixed && devices[i].limit_bytes < building.capacity_bytes) {
            const uint32_t op = append(&building, OP_RETIRE,
                                       building.capacity_bytes - devices[i].limit_bytes, 0);
            import->ops.ops[op].address = devices[i].limit_bytes;
        }
        /* A program that never ends keeps its stack; its image is a granule of what is in use. */
        if (devices[i].reserved_bytes > 0) {
            const uint32_t program = append(&building, OP_LOAD, building.granule_bytes,
                                            TAG_PROGRAM);
            import->ops.ops[program].stack_bytes = devices[i].reserved_bytes;
            (void)import_append(import, &OP_ON(OP_EXECUTE, program, .host = building.host,
                                               .delay_ns = DELAY_NEVER));
        }
        fill(&building, &devices[i]);
    }
    const char *const names[] = {tag, "reserved", SETUP_FILLER_NAME};
    tags_name_used(&import->setup, &import->ops, names, TAG_FILLER);
    return IMPORT_OK;
}
