/* The lines of a list's ops: a number, a kind, and fields. */
#include "checker/private/history.h"

#include <assert.h>
#include <stddef.h>

static const char kind_names[] = "alloc|output|free|free_after|use|hold|release|donate|load|unload|"
                                 "execute|defragment|complete|advance|touch|report|fault|retire|"
                                 "switch|sleep|wake|record|record_end|record_drop";
static const char fault_names[] = "copy|wait|unload|host_memory|any|copy_half|copy_late|"
                                  "wait_timeout|event_lost|event_late|event_early|event_doubled|"
                                  "event_order|event_others|unload_busy|unload_half|clock_jump|"
                                  "poll_jump|region|region_short";
enum { LANE_MAX = 63, STREAM_MAX = 63 };
static const uint64_t op_align_max = 1 << 21;

enum field_bit {
    BLOCK = 1 << 0,
    PROGRAM = 1 << 1,
    EVENT = 1 << 2,
    DELAY = 1 << 3,
    SIZE = 1 << 4,
    ADDRESS = 1 << 5,
    STACK = 1 << 6,
    UNPADDED = 1 << 7,
    ALIGN = 1 << 8,
    TAG = 1 << 9,
    RETRY = 1 << 10,
    CALL = 1 << 11,
    NTH = 1 << 12,
    FOR_EVER = 1 << 13,
    OP = 1 << 14,
    POINT = 1 << 15,
    TO = 1 << 16,
    COLLECTIVE = 1 << 17,
    LANE = 1 << 18,
    HOST = 1 << 19,
    SPMD = 1 << 20,
    STREAM = 1 << 21,
    RECORDING = 1 << 22,
    EVERYWHERE = LANE | HOST | SPMD
};

/* The fields of each kind; of `either` exactly one. */
static const struct {
    unsigned required, either, optional;
} kinds[OP_KIND_COUNT] = {
    [OP_ALLOC] = {SIZE, 0, UNPADDED | ALIGN | TAG | RETRY | STREAM},
    [OP_OUTPUT] = {SIZE, 0, UNPADDED | ALIGN | TAG | RETRY | STREAM},
    [OP_FREE] = {BLOCK, 0, 0},
    [OP_FREE_AFTER] = {BLOCK, EVENT | DELAY, STREAM},
    [OP_USE] = {BLOCK, EVENT | DELAY, STREAM},
    [OP_HOLD] = {BLOCK, 0, 0},
    [OP_RELEASE] = {BLOCK, 0, 0},
    [OP_DONATE] = {BLOCK | SIZE, 0, UNPADDED | TAG},
    [OP_LOAD] = {SIZE | STACK, 0, TAG | RETRY},
    [OP_UNLOAD] = {PROGRAM, 0, 0},
    [OP_EXECUTE] = {PROGRAM | DELAY, 0, COLLECTIVE | RETRY},
    [OP_DEFRAGMENT] = {0, 0, 0},
    [OP_COMPLETE] = {EVENT, 0, 0},
    [OP_ADVANCE] = {DELAY, 0, 0},
    [OP_TOUCH] = {BLOCK, 0, 0},
    [OP_REPORT] = {0, 0, 0},
    [OP_FAULT] = {CALL | NTH, 0, DELAY | FOR_EVER},
    [OP_RETIRE] = {SIZE | ADDRESS, 0, 0},
    [OP_SWITCH] = {POINT, EVENT | TO, OP},
    [OP_SLEEP] = {0, 0, 0},
    [OP_WAKE] = {0, 0, 0},
    [OP_RECORD] = {0, 0, 0},
    [OP_RECORD_END] = {0, 0, 0},
    [OP_RECORD_DROP] = {RECORDING, 0, 0},
};

/* An op while its line is read. */
struct op_line {
    struct list_op op;
    const struct list *list;
    const struct list_field *field;          /* that is read */
    uint64_t host, stream, lane, tag, other; /* other: what changes nothing */
    unsigned fields;
};

struct list_field {
    const char *key;
    bool (*read)(struct op_line *line, struct text_word value);
    size_t offset; /* of a number in struct op_line */
    uint64_t most; /* of a number */
};

static uint64_t *find_number(struct op_line *line)
{
    return (uint64_t *)((char *)line + line->field->offset);
}

/* Reads a reference to one of the ops above. */
static bool read_reference(struct op_line *line, struct text_word value, uint32_t *reference)
{
    uint64_t number;
    if (!word_number(value, NO_OP - 1, &number) || number >= line->list->op_count) {
        return false;
    }
    *reference = (uint32_t)number;
    return true;
}

static bool read_ref(struct op_line *line, struct text_word value)
{
    return word_is(value, "none") || read_reference(line, value, &line->op.ref);
}

static bool read_event(struct op_line *line, struct text_word value)
{
    const bool may_be_none = line->op.kind == OP_COMPLETE;
    return (may_be_none && word_is(value, "none")) || read_reference(line, value, &line->op.event);
}

static bool read_delay(struct op_line *line, struct text_word value)
{
    return word_duration(value, &line->op.delay);
}

static bool read_bytes(struct op_line *line, struct text_word value)
{
    return word_size(value, find_number(line));
}

static bool read_number(struct op_line *line, struct text_word value)
{
    return word_number(value, line->field->most, find_number(line));
}

static bool read_align(struct op_line *line, struct text_word value)
{
    return word_size(value, &line->op.align) && line->op.align >= 2 &&
           line->op.align <= op_align_max && (line->op.align & (line->op.align - 1)) == 0;
}

static bool read_yes(struct op_line *line, struct text_word value)
{
    (void)line;
    return word_is(value, "yes");
}

static bool read_call(struct op_line *line, struct text_word value)
{
    (void)line;
    return word_find(value, fault_names) >= 0;
}

static bool read_stream(struct op_line *line, struct text_word value)
{
    return read_number(line, value) && line->stream > 0;
}

static bool read_host(struct op_line *line, struct text_word value)
{
    return word_number(value, line->list->host_count - 1, &line->host);
}

/* The fields stand in the order of their bits. */
#define AT(member) offsetof(struct op_line, member)
static const struct list_field fields[] = {
    {"block", read_ref, 0, 0},
    {"program", read_ref, 0, 0},
    {"event", read_event, 0, 0},
    {"delay", read_delay, 0, 0},
    {"size", read_bytes, AT(op.size), 0},
    {"address", read_bytes, AT(op.address), 0},
    {"stack", read_bytes, AT(op.stack), 0},
    {"unpadded", read_bytes, AT(other), 0},
    {"align", read_align, 0, 0},
    {"tag", read_number, AT(tag), UINT8_MAX},
    {"retry", read_yes, 0, 0},
    {"call", read_call, 0, 0},
    {"nth", read_number, AT(other), UINT32_MAX},
    {"for_ever", read_yes, 0, 0},
    {"op", read_ref, 0, 0},
    {"point", read_number, AT(other), UINT32_MAX},
    {"to", read_number, AT(other), LANE_MAX},
    {"collective", read_number, AT(other), UINT16_MAX},
    {"lane", read_number, AT(lane), LANE_MAX},
    {"host", read_host, 0, 0},
    {"spmd", read_number, AT(other), UINT16_MAX},
    {"stream", read_stream, AT(stream), STREAM_MAX},
    {"recording", read_ref, 0, 0},
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };
static_assert(1 << (FIELD_COUNT - 1) == RECORDING, "a bit for each field");

static bool read_field(struct op_line *line, struct lines *lines, struct text_word word)
{
    struct text_word key;
    const unsigned allowed = kinds[line->op.kind].required | kinds[line->op.kind].either |
                             kinds[line->op.kind].optional | EVERYWHERE;
    const bool has_value = word_cut(&word, '=', &key);
    for (unsigned i = 0; i < FIELD_COUNT; i++) {
        if ((allowed >> i & 1) == 0 || !word_is(key, fields[i].key)) {
            continue;
        }
        if ((line->fields >> i & 1) != 0) {
            return lines_fail(lines, "%s= is given twice", fields[i].key);
        }
        line->fields |= 1u << i;
        line->field = &fields[i];
        return (has_value && fields[i].read(line, word)) ||
               lines_fail(lines, "the value of %s= is wrong", fields[i].key);
    }
    return lines_fail(lines, "the op has no field '%.*s'", word_shown(key), key.text);
}

static bool has_its_fields(const struct op_line *line, struct lines *lines)
{
    const unsigned missing = kinds[line->op.kind].required & ~line->fields;
    const unsigned either = kinds[line->op.kind].either & line->fields;
    for (unsigned i = 0; i < FIELD_COUNT; i++) {
        if ((missing >> i & 1) != 0) {
            return lines_fail(lines, "the op has no %s=", fields[i].key);
        }
    }
    if (kinds[line->op.kind].either != 0 && (either == 0 || (either & (either - 1)) != 0)) {
        return lines_fail(lines, "the op has not one of event=, delay= and to=");
    }
    return (line->fields & STREAM) == 0 || (line->fields & (EVENT | SPMD)) == 0 ||
           lines_fail(lines, "the op has stream= next to event= or spmd=");
}

/* "12: use": ops are numbered from 0 without a gap. */
static bool read_name(struct op_line *line, struct lines *lines, struct text_word *rest,
                      bool *has_more)
{
    struct text_word number, name;
    uint64_t label;
    *has_more = word_cut(rest, ' ', &number);
    /* The line begins with a digit, so that the number is not empty. */
    if (number.text[number.length - 1] != ':' ||
        !word_number((struct text_word){number.text, number.length - 1}, NO_OP - 1, &label) ||
        label != line->list->op_count) {
        return lines_fail(lines, "the number of the op is not %zu", line->list->op_count);
    }
    *has_more = word_cut(rest, ' ', &name);
    const int kind = word_find(name, kind_names);
    line->op.kind = (uint8_t)(kind < 0 ? OP_KIND_COUNT : kind);
    return kind >= 0 || lines_fail(lines, "unknown op '%.*s'", word_shown(name), name.text);
}

bool list_read_op(struct list *list, struct lines *lines)
{
    struct op_line line = {.list = list, .op = {.ref = NO_OP, .event = NO_OP}};
    struct text_word rest = lines->line, word;
    bool has_more;
    if (!read_name(&line, lines, &rest, &has_more)) {
        return false;
    }
    while (has_more) {
        has_more = word_cut(&rest, ' ', &word);
        if (!read_field(&line, lines, word)) {
            return false;
        }
    }
    if (!has_its_fields(&line, lines)) {
        return false;
    }
    struct list_op *ops = array_with_room(list->ops, list->op_count, &list->op_capacity,
                                          sizeof *ops);
    if (ops == NULL) {
        return lines_fail(lines, "no memory");
    }
    line.op.line_end = (size_t)(lines->at - list->text.bytes);
    line.op.host = (uint8_t)line.host;
    line.op.stream = (uint8_t)line.stream;
    line.op.tag = (uint8_t)line.tag;
    line.op.is_collective = (line.fields & COLLECTIVE) != 0;
    list->has_lanes = list->has_lanes || (line.fields & LANE) != 0 || line.op.kind == OP_SWITCH;
    list->ops = ops;
    list->ops[list->op_count++] = line.op;
    return true;
}

bool op_makes_block(const struct list_op *op)
{
    return op->kind == OP_ALLOC || op->kind == OP_OUTPUT || op->kind == OP_DONATE ||
           op->kind == OP_LOAD || op->kind == OP_RETIRE;
}

bool op_makes_event(const struct list_op *op)
{
    return op->kind == OP_EXECUTE ||
           ((op->kind == OP_USE || op->kind == OP_FREE_AFTER) && op->event == NO_OP);
}

bool op_is_request(const struct list_op *op)
{
    return op->kind == OP_ALLOC || op->kind == OP_OUTPUT || op->kind == OP_LOAD ||
           op->kind == OP_EXECUTE;
}
