#include "harness/op/private/ops_parse.h"

#include "harness/base/size.h"
#include "harness/op/fit.h"

#include <assert.h>
#include <inttypes.h>

/* The length of a fault that does not give one: as long as many a use in the scenarios. */
#define FAULT_DELAY_DEFAULT_NS UINT64_C(1000000)

struct field;
/* Parses the value of a field into the op. */
typedef bool parse_value(struct parser *parser, struct word value, struct op *op,
                         const struct field *field);

struct field {
    const char *key;
    /* which has it: an enum op_kind, EVERY_KIND, or ITS_KINDS: all in whose op_kind_info * flag
     * is set, but no fault, whose size and tag stand for something else */
    uint8_t kind;
    uint8_t flag; /* the offset in struct op_kind_info */
    parse_value *parse;
    uint8_t offset, bytes; /* of the number in struct op, where it is just that */
    uint64_t number;       /* the most that it may be; or the flag that the field sets */
};
enum { EVERY_KIND = OP_KIND_COUNT, ITS_KINDS };

/* --- references --- */

/* "%3": the third of what is there, counted around. */
static bool parse_relative(struct parser *parser, struct word value, struct op *op,
                           uint32_t *reference)
{
    uint64_t number = 0;
    if (op->kind == OP_SWITCH) {
        return parser_fail(parser, value.text, "a switch names ops by their numbers, not as '%.*s'",
                           shown(value), value.text);
    }
    op->flags |= OP_RELATIVE;
    if (!parser_number(parser, (struct word){value.text + 1, value.length - 1}, OP_NONE - 1,
                       &number)) {
        return false;
    }
    *reference = (uint32_t)number;
    return true;
}

static bool parse_reference(struct parser *parser, struct word value, struct op *op,
                            const struct field *field)
{
    uint32_t *reference = (uint32_t *)((char *)op + field->offset);
    uint64_t number = 0;
    if (word_is(value, "none")) {
        *reference = OP_NONE;
        return true;
    }
    if (value.length > 0 && value.text[0] == '%') {
        return parse_relative(parser, value, op, reference);
    }
    if (!parser_number(parser, value, UINT64_MAX, &number)) {
        return false;
    }
    return parser_find_label(parser, number, reference) ||
           parser_fail(parser, value.text, "there is no op %" PRIu64 " above this line", number);
}

/* --- numbers --- */

static bool parse_number(struct parser *parser, struct word value, struct op *op,
                         const struct field *field)
{
    uint64_t number = 0;
    if (!parser_number(parser, value, field->number, &number)) {
        return false;
    }
    if (field->bytes == sizeof(uint8_t)) {
        *((uint8_t *)op + field->offset) = (uint8_t)number;
    } else {
        memcpy((char *)op + field->offset, &number, sizeof number);
    }
    return true;
}

static bool parse_to(struct parser *parser, struct word value, struct op *op,
                     const struct field *field)
{
    parser->names_lane = true;
    return parse_number(parser, value, op, field);
}

static bool parse_group(struct parser *parser, struct word value, struct op *op,
                        const struct field *field)
{
    uint64_t number = 0;
    if (!parser_number(parser, value, UINT16_MAX, &number)) {
        return false;
    }
    op->flags |= (uint8_t)field->number;
    op->group = (uint16_t)number;
    return true;
}

static bool parse_stream(struct parser *parser, struct word value, struct op *op,
                         const struct field *field)
{
    uint64_t number = 0;
    if (!parser_number(parser, value, field->number, &number)) {
        return false;
    }
    parser->names_stream = true;
    op_set_stream(op, (uint32_t)number);
    return true;
}

/* --- sizes and durations --- */

static bool parse_bytes(struct parser *parser, struct word value, struct op *op,
                        const struct field *field)
{
    return parser_size(parser, value, (uint64_t *)((char *)op + field->offset));
}

static bool parse_size(struct parser *parser, struct word value, struct op *op,
                       const struct field *field)
{
    if (value.length == 0 || value.text[0] != '%' || !op_kind_info(op->kind)->can_be_fitted) {
        return parse_bytes(parser, value, op, field);
    }
    struct fit fit;
    if (!fit_parse(value.text, value.length, &fit)) {
        return parser_fail(
            parser, value.text,
            "'%.*s' is not a fit such as %%hole, %%free-1, %%half, %%block:3 or %%pair:3+1",
            shown(value), value.text);
    }
    op->flags |= OP_FITTED;
    op->size_bytes = fit_pack(&fit);
    return true;
}

static bool parse_align(struct parser *parser, struct word value, struct op *op,
                        const struct field *field)
{
    uint64_t align = 0;
    (void)field;
    if (!parser_size(parser, value, &align)) {
        return false;
    }
    if (!is_power(align, 2, (uint64_t)1 << OP_ALIGN_LOG2_MAX)) {
        return parser_fail(parser, value.text, "an alignment must be a power of two from 2 to 2M");
    }
    op->align_log2 = (uint8_t)__builtin_ctzll(align);
    return true;
}

static bool parse_address(struct parser *parser, struct word value, struct op *op,
                          const struct field *field)
{
    const bool is_relative = value.length > 0 && value.text[0] == '%';
    op->flags |= is_relative ? OP_RELATIVE : 0;
    return parse_bytes(parser, (struct word){value.text + is_relative, value.length - is_relative},
                       op, field);
}

static bool parse_delay(struct parser *parser, struct word value, struct op *op,
                        const struct field *field)
{
    (void)field;
    parser->names_delay = true;
    return duration_parse(value.text, value.length, &op->delay_ns) ||
           parser_fail(parser, value.text,
                       "'%.*s' is not a duration such as 20us, 3ms, 10m or never", shown(value),
                       value.text);
}

/* --- faults and switches --- */

enum { FAULT_NAMES_BYTES = 208 };

static bool parse_call(struct parser *parser, struct word value, struct op *op,
                       const struct field *field)
{
    char names[FAULT_NAMES_BYTES] = "";
    (void)field;
    parser->names_fault = true;
    for (uint8_t i = 0; i < FAULT_KIND_COUNT; i++) {
        const char *name = fault_info((enum fault_kind)i)->name;
        if (word_is(value, name)) {
            op->tag = i;
            return true;
        }
        names_append(names, sizeof names, name);
    }
    return parser_fail(parser, value.text, "unknown fault '%.*s'; one of %s", shown(value),
                       value.text, names);
}

static bool parse_flag(struct parser *parser, struct word value, struct op *op,
                       const struct field *field)
{
    op->flags |= word_is(value, "yes") ? (uint8_t)field->number : 0;
    return word_is(value, "yes") ||
           parser_fail(parser, value.text, "%s must be 'yes' or absent", field->key);
}

/* --- fields --- */

#define OF(name) ITS_KINDS, offsetof(struct op_kind_info, name)
#define AT(member) offsetof(struct op, member), sizeof(((struct op *)NULL)->member)

/* The n-th call of a fault and the point of a switch are in size_bytes. */
static const struct field fields[] = {
    {"lane", EVERY_KIND, 0, parse_number, AT(lane), OP_LANE_COUNT_MAX - 1},
    {"host", EVERY_KIND, 0, parse_number, AT(host), OP_HOST_COUNT_MAX - 1},
    {"spmd", EVERY_KIND, 0, parse_group, 0, 0, OP_SPMD},
    {"collective", OP_EXECUTE, 0, parse_group, 0, 0, OP_COLLECTIVE},
    {"call", OP_FAULT, 0, parse_call, 0, 0, 0},
    {"nth", OP_FAULT, 0, parse_number, AT(size_bytes), UINT32_MAX},
    {"for_ever", OP_FAULT, 0, parse_flag, 0, 0, OP_FOR_EVER},
    {"delay", OP_FAULT, 0, parse_delay, 0, 0, 0},
    {"op", OP_SWITCH, 0, parse_reference, AT(ref), 0},
    {"point", OP_SWITCH, 0, parse_number, AT(size_bytes), UINT32_MAX},
    {"to", OP_SWITCH, 0, parse_to, AT(tag), OP_LANE_COUNT_MAX - 1},
    {"event", OP_SWITCH, 0, parse_reference, AT(event), 0},
    {"block", OF(has_block), parse_reference, AT(ref), 0},
    {"program", OF(has_program), parse_reference, AT(ref), 0},
    {"recording", OF(has_recording), parse_reference, AT(ref), 0},
    {"event", OF(has_event), parse_reference, AT(event), 0},
    {"delay", OF(has_delay), parse_delay, 0, 0, 0},
    {"size", OF(has_size), parse_size, AT(size_bytes), 0},
    {"address", OF(has_address), parse_address, AT(address), 0},
    {"stack", OF(has_stack), parse_bytes, AT(stack_bytes), 0},
    {"unpadded", OF(has_unpadded), parse_bytes, AT(unpadded_bytes), 0},
    {"align", OF(has_align), parse_align, 0, 0, 0},
    {"tag", OF(has_tag), parse_number, AT(tag), OP_TAG_COUNT - 1},
    {"retry", OF(can_be_refused), parse_flag, 0, 0, OP_RETRY},
    {"stream", OF(has_stream), parse_stream, 0, 0, OP_STREAM_COUNT_MAX - 1},
};
enum { FIELD_COUNT = sizeof fields / sizeof fields[0] };
static_assert(FIELD_COUNT <= 32, "a bit each in parser_fields()");

static bool has_field(enum op_kind kind, const struct field *field)
{
    if (field->kind != ITS_KINDS) {
        return field->kind == EVERY_KIND || field->kind == kind;
    }
    const char *info = (const char *)op_kind_info(kind);
    return kind != OP_FAULT && *(const bool *)(info + field->flag);
}

/* The row of the field; FIELD_COUNT: the kind has no such field. */
static size_t field_find(enum op_kind kind, struct word key)
{
    size_t row = 0;
    while (row < FIELD_COUNT && !(word_is(key, fields[row].key) && has_field(kind, &fields[row]))) {
        row++;
    }
    return row;
}

/* named: a bit per row that the line had so far. */
static bool parse_field(struct parser *parser, struct word word, struct op *op, uint32_t *named)
{
    struct word key, value;
    if (!word_split(word, &key, &value)) {
        return parser_fail(parser, word.text, "a field is KEY=VALUE, not '%.*s'", shown(word),
                           word.text);
    }
    const size_t row = field_find(op->kind, key);
    if (row == FIELD_COUNT) {
        return parser_fail(parser, key.text, "'%s' has no field '%.*s'",
                           op_kind_info(op->kind)->name, shown(key), key.text);
    }
    if ((*named >> row & 1) != 0) {
        return parser_fail(parser, key.text, "'%.*s' is given twice", shown(key), key.text);
    }
    *named |= UINT32_C(1) << row;
    return fields[row].parse(parser, value, op, &fields[row]);
}

static bool finish_fault(struct parser *parser, struct op *op)
{
    if (!parser->names_fault) {
        return parser_fail(parser, parser->line,
                           "a fault needs call=, which names what goes wrong");
    }
    const struct fault_info *fault = fault_info((enum fault_kind)op->tag);
    if (parser->names_delay && !fault->has_delay) {
        return parser_fail(parser, parser->line, "the fault '%s' has no delay", fault->name);
    }
    if (fault->has_delay && !parser->names_delay) {
        op->delay_ns = FAULT_DELAY_DEFAULT_NS;
    }
    return true;
}

static bool finish_stream(struct parser *parser, const struct op *op)
{
    if (!parser->names_stream) {
        return true;
    }
    if ((op->flags & (OP_COLLECTIVE | OP_SPMD)) != 0) {
        return parser_fail(parser, parser->line, "an op of several hosts (%s=) has no stream=",
                           (op->flags & OP_SPMD) != 0 ? "spmd" : "collective");
    }
    return op->event == OP_NONE ||
           parser_fail(parser, parser->line,
                       "an op with event= has no stream=: the event is on that of its own op");
}

/* Once all fields are read, in whatever order. */
static bool finish_fields(struct parser *parser, struct op *op)
{
    if (op->kind == OP_FAULT && !finish_fault(parser, op)) {
        return false;
    }
    if (op->kind == OP_SWITCH && parser->names_lane == (op->event != OP_NONE)) {
        return parser_fail(
            parser, parser->line,
            "a switch needs either to=, the lane that runs next, or event=, the event that completes");
    }
    if (!finish_stream(parser, op)) {
        return false;
    }
    return op->event == OP_NONE || !op_kind_info(op->kind)->has_delay || op->delay_ns == 0 ||
           parser_fail(parser, parser->line, "an op accepts either event= or delay=, not both");
}

bool parser_fields(struct parser *parser, struct op *op)
{
    uint32_t named = 0;
    for (struct word word = parser_next_word(parser); word.length > 0;
         word = parser_next_word(parser)) {
        if (!parse_field(parser, word, op, &named)) {
            return false;
        }
    }
    return finish_fields(parser, op);
}
