#include "harness/op/op.h"

#include "harness/base/check.h"
#include "harness/base/often.h"

#include <stdlib.h>
#include <string.h>

#define ASKS_FOR_A_BUFFER                                                     \
    .has_size = true, .has_align = true, .has_tag = true, .has_stream = true, \
    .has_unpadded = true, .makes_block = true, .can_be_fitted = true, .can_be_refused = true
#define WAITS_ON_A_BLOCK \
    .has_block = true, .has_event = true, .has_delay = true, .has_stream = true, .makes_event = true

static const struct op_kind_info kinds[OP_KIND_COUNT] = {
    [OP_ALLOC] = {.name = "alloc", ASKS_FOR_A_BUFFER},
    [OP_OUTPUT] = {.name = "output", ASKS_FOR_A_BUFFER},
    [OP_FREE] = {.name = "free", .has_block = true},
    [OP_FREE_AFTER] = {.name = "free_after", WAITS_ON_A_BLOCK},
    [OP_USE] = {.name = "use", WAITS_ON_A_BLOCK},
    [OP_HOLD] = {.name = "hold", .has_block = true},
    [OP_RELEASE] = {.name = "release", .has_block = true},
    [OP_DONATE] = {.name = "donate",
                   .has_size = true,
                   .has_tag = true,
                   .has_unpadded = true,
                   .has_block = true,
                   .makes_block = true,
                   .can_be_fitted = true},
    [OP_LOAD] = {.name = "load",
                 .has_size = true,
                 .has_tag = true,
                 .has_stack = true,
                 .makes_program = true,
                 .can_be_fitted = true,
                 .can_be_refused = true},
    [OP_UNLOAD] = {.name = "unload", .has_program = true},
    [OP_EXECUTE] = {.name = "execute",
                    .has_program = true,
                    .has_delay = true,
                    .makes_event = true,
                    .can_be_refused = true},
    [OP_DEFRAGMENT] = {.name = "defragment"},
    [OP_COMPLETE] = {.name = "complete", .has_event = true, .event_required = true},
    [OP_ADVANCE] = {.name = "advance", .has_delay = true},
    [OP_TOUCH] = {.name = "touch", .has_block = true},
    [OP_REPORT] = {.name = "report"},
    [OP_FAULT] = {.name = "fault", .has_size = true, .has_tag = true, .has_delay = true},
    [OP_RETIRE] = {.name = "retire", .has_size = true, .has_address = true},
    [OP_SWITCH] = {.name = "switch", .has_point = true},
    [OP_SLEEP] = {.name = "sleep"},
    [OP_WAKE] = {.name = "wake"},
    [OP_RECORD] = {.name = "record"},
    [OP_RECORD_END] = {.name = "record_end"},
    [OP_RECORD_DROP] = {.name = "record_drop", .has_recording = true},
};

const struct op_kind_info *op_kind_info(enum op_kind kind)
{
    CHECK(kind < OP_KIND_COUNT);
    return &kinds[kind];
}

enum op_kind op_kind_find(const char *name, size_t name_length)
{
    for (unsigned i = 0; i < OP_KIND_COUNT; i++) {
        if (strlen(kinds[i].name) == name_length && memcmp(kinds[i].name, name, name_length) == 0) {
            return (enum op_kind)i;
        }
    }
    return OP_KIND_COUNT;
}

struct op op_make(enum op_kind kind)
{
    CHECK(kind < OP_KIND_COUNT);
    return (struct op){.kind = (uint8_t)kind, .ref = OP_NONE, .event = OP_NONE};
}

void op_set_stream(struct op *op, uint32_t stream)
{
    CHECK(stream < OP_STREAM_COUNT_MAX);
    op->flags = (uint8_t)(stream == 0 ? op->flags & ~OP_ON_STREAM : op->flags | OP_ON_STREAM);
    op->stream = (uint16_t)stream;
}

/* True if an OP_ON_STREAM op has a stream.  For several hosts alike the field is a group. */
static bool has_stream(const struct op *op, const struct op_kind_info *info)
{
    return (op->flags & (OP_COLLECTIVE | OP_SPMD)) == 0 && info->has_stream &&
           op->event == OP_NONE && op->stream > 0 && op->stream < OP_STREAM_COUNT_MAX;
}

void op_clear_unused(struct op *op)
{
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    const bool has_ref = info->has_block || info->has_program || info->has_recording ||
                         info->has_point;
    const bool has_amount = info->has_delay || info->has_stack || info->has_unpadded ||
                            info->has_address;
    op->ref = has_ref ? op->ref : OP_NONE;
    op->event = info->has_event || info->has_point ? op->event : OP_NONE;
    op->size_bytes = info->has_size || info->has_point ? op->size_bytes : 0;
    op->tag = info->has_tag || info->has_point ? op->tag : 0;
    op->align_log2 = info->has_align ? op->align_log2 : 0;
    if ((op->flags & OP_ON_STREAM) != 0 && !has_stream(op, info)) {
        op->flags &= (uint8_t)~OP_ON_STREAM;
    }
    op->group = (op->flags & (OP_COLLECTIVE | OP_SPMD | OP_ON_STREAM)) != 0 ? op->group : 0;
    const bool waits = op->kind != OP_FAULT || fault_info((enum fault_kind)op->tag)->has_delay;
    op->delay_ns = has_amount && op->event == OP_NONE && waits ? op->delay_ns : 0;
}

bool op_asks_same(const struct op *a, const struct op *b)
{
    struct op one = *a;
    struct op other = *b;
    one.flags &= (uint8_t)~OP_RETRY;
    other.flags &= (uint8_t)~OP_RETRY;
    return op_equal(&one, &other);
}

bool op_equal(const struct op *a, const struct op *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

void op_list_init(struct op_list *list)
{
    *list = (struct op_list){0};
}

void op_list_deinit(struct op_list *list)
{
    free(list->ops);
    *list = (struct op_list){0};
}

static void op_list_reserve(struct op_list *list, size_t count)
{
    if (count <= list->capacity) {
        return;
    }
    size_t capacity = list->capacity == 0 ? 256 : list->capacity * 2;
    if (capacity < count) {
        capacity = count;
    }
    struct op *ops = realloc(list->ops, capacity * sizeof *ops);
    CHECK(ops != NULL);
    list->ops = ops;
    list->capacity = capacity;
}

SELDOM void op_list_grow(struct op_list *list)
{
    CHECK(list->count < OP_NONE / 2);
    op_list_reserve(list, list->count + 1);
}

void op_list_clear(struct op_list *list)
{
    list->count = 0;
}

void op_list_copy(struct op_list *to, const struct op_list *from)
{
    op_list_reserve(to, from->count);
    if (from->count > 0) {
        memcpy(to->ops, from->ops, from->count * sizeof *to->ops);
    }
    to->count = from->count;
}

void op_list_move(struct op_list *to, struct op_list *from)
{
    op_list_deinit(to);
    *to = *from;
    op_list_init(from);
}

void op_renumber(struct op *op, const uint32_t *numbers, size_t count)
{
    if ((op->flags & OP_RELATIVE) != 0) {
        return;
    }
    const bool named_event = op->event != OP_NONE;
    op->ref = op->ref < count ? numbers[op->ref] : OP_NONE;
    op->event = op->event < count ? numbers[op->event] : OP_NONE;
    op->ref = named_event && op->event == OP_NONE ? OP_NONE : op->ref;
}

void op_list_filter(struct op_list *list, const bool *keep)
{
    uint32_t *numbers = malloc((list->count + 1) * sizeof *numbers);
    CHECK(numbers != NULL);
    uint32_t count_left = 0;
    for (size_t i = 0; i < list->count; i++) {
        numbers[i] = keep[i] ? count_left++ : OP_NONE;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (keep[i]) {
            op_renumber(&list->ops[i], numbers, i);
            list->ops[numbers[i]] = list->ops[i];
        }
    }
    list->count = count_left;
    free(numbers);
}

void op_list_insert(struct op_list *list, size_t at, const struct op *ops, size_t count)
{
    CHECK(at <= list->count);
    CHECK(count < OP_NONE - list->count);
    op_list_reserve(list, list->count + count);
    struct op *behind = list->ops + at;
    memmove(behind + count, behind, (list->count - at) * sizeof *behind);
    memcpy(behind, ops, count * sizeof *ops);
    list->count += count;
    for (size_t i = at + count; i < list->count; i++) {
        struct op *op = &list->ops[i];
        if ((op->flags & OP_RELATIVE) == 0) {
            op->ref += op->ref != OP_NONE && op->ref >= at ? (uint32_t)count : 0;
            op->event += op->event != OP_NONE && op->event >= at ? (uint32_t)count : 0;
        }
    }
}
