/* The fields of an op: one row each, by which they are parsed and printed. */
#include "harness/op/private/ops_parse.h"

#include "harness/base/check.h"
#include "harness/base/option.h"
#include "harness/base/size.h"
#include "harness/base/writing.h"
#include "harness/op/fit.h"

#include <assert.h>
#include <inttypes.h>

/* The length of a fault that does not give one: as long as many a use in the scenarios. */
#define FAULT_DELAY_DEFAULT_NS UINT64_C(1000000)

/* What the value of a field is. */
enum value {
    NUMBER,  /* not printed where it is 0 */
    COUNT,   /* is 0 as well */
    TO_LANE, /* of a switch that completes no event */
    REFERENCE,
    EVENT, /* a reference that is not printed where it is none, unless the kind requires one */
    BYTES,
    UNPADDED, /* bytes that are not printed where they are 0 */
    SIZE,     /* bytes, or a fit */
    ADDRESS,
    ALIGN,
    DELAY,
    CALL,
    FLAG,
    GROUP,
    STREAM
};

struct field {
    const char *key;
    /* which has it: an enum op_kind, EVERY_KIND, or ITS_KINDS: all in whose op_kind_info * flag
     * is set, but no fault, whose size and tag stand for something else */
    uint8_t kind;
    uint8_t flag; /* the offset in struct op_kind_info */
    uint8_t value;
    uint8_t offset, bytes; /* of the number in struct op */
    uint64_t number;       /* the most that it may be; or the flag that goes with the field */
};
enum { EVERY_KIND = OP_KIND_COUNT, ITS_KINDS };

/* --- parsing --- */

static bool begins_with_percent(struct word word)
{
    return word.length > 0 && word.text[0] == '%';
}

static struct word without_percent(struct word word)
{
    const bool begins = begins_with_percent(word);
    return (struct word){word.text + begins, word.length - begins};
}

/* "%3" is the third of what is there, counted around. */
static bool parse_reference(struct parser *parser, struct word value, struct op *op,
                            uint64_t *number)
{
    uint32_t index = OP_NONE;
    if (word_is(value, "none")) {
        *number = OP_NONE;
        return true;
    }
    if (begins_with_percent(value)) {
        op->flags |= OP_RELATIVE;
        return op->kind == OP_SWITCH
                   ? parser_fail(parser, value.text,
                                 "a switch names ops by their numbers, not as '%.*s'", shown(value),
                                 value.text)
                   : parser_number(parser, without_percent(value), OP_NONE - 1, number);
    }
    if (!parser_number(parser, value, UINT64_MAX, number)) {
        return false;
    }
    if (!parser_find_label(parser, *number, &index)) {
        return parser_fail(parser, value.text, "there is no op %" PRIu64 " above this line",
                           *number);
    }
    *number = index;
    return true;
}

static bool parse_size(struct parser *parser, struct word value, struct op *op, uint64_t *number)
{
    if (!begins_with_percent(value) || !op_kind_info(op->kind)->can_be_fitted) {
        return parser_size(parser, value, number);
    }
    struct fit fit;
    if (!fit_parse(value.text, value.length, &fit)) {
        return parser_fail(
            parser, value.text,
            "'%.*s' is not a fit such as %%hole, %%free-1, %%half, %%block:3 or %%pair:3+1",
            shown(value), value.text);
    }
    op->flags |= OP_FITTED;
    *number = fit_pack(&fit);
    return true;
}

static bool parse_align(struct parser *parser, struct word value, uint64_t *number)
{
    uint64_t align = 0;
    if (!parser_size(parser, value, &align)) {
        return false;
    }
    if (!is_power(align, 2, (uint64_t)1 << OP_ALIGN_LOG2_MAX)) {
        return parser_fail(parser, value.text, "an alignment must be a power of two from 2 to 2M");
    }
    *number = (uint64_t)__builtin_ctzll(align);
    return true;
}

enum { FAULT_NAMES_BYTES = 208 };

static bool parse_call(struct parser *parser, struct word value, uint64_t *number)
{
    char names[FAULT_NAMES_BYTES] = "";
    for (*number = 0; *number < FAULT_KIND_COUNT; ++*number) {
        const char *name = fault_info((enum fault_kind) * number)->name;
        if (word_is(value, name)) {
            return true;
        }
        names_append(names, sizeof names, name);
    }
    return parser_fail(parser, value.text, "unknown fault '%.*s'; one of %s", shown(value),
                       value.text, names);
}

/* Returns what the field's number is in the op, and sets the flags that go with it. */
static bool parse_value(struct parser *parser, struct word value, struct op *op,
                        const struct field *field, uint64_t *number)
{
    switch ((enum value)field->value) {
    case REFERENCE:
    case EVENT:
        return parse_reference(parser, value, op, number);
    case SIZE:
        return parse_size(parser, value, op, number);
    case ADDRESS:
        op->flags |= begins_with_percent(value) ? OP_RELATIVE : 0;
        return parser_size(parser, without_percent(value), number);
    case BYTES:
    case UNPADDED:
        return parser_size(parser, value, number);
    case ALIGN:
        return parse_align(parser, value, number);
    case DELAY:
        return duration_parse(value.text, value.length, number) ||
               parser_fail(parser, value.text,
                           "'%.*s' is not a duration such as 20us, 3ms, 10m or never", shown(value),
                           value.text);
    case CALL:
        return parse_call(parser, value, number);
    case FLAG:
        *number = op->flags | field->number;
        return word_is(value, "yes") ||
               parser_fail(parser, value.text, "%s must be 'yes' or absent", field->key);
    case GROUP:
        op->flags |= (uint8_t)field->number;
        return parser_number(parser, value, UINT16_MAX, number);
    case STREAM:
        if (!parser_number(parser, value, field->number, number)) {
            return false;
        }
        op->flags |= *number != 0 ? OP_ON_STREAM : 0;
        return true;
    default:
        return parser_number(parser, value, field->number, number);
    }
}

/* --- fields --- */

#define OF(name) ITS_KINDS, offsetof(struct op_kind_info, name)
#define AT(member) offsetof(struct op, member), sizeof(((struct op *)NULL)->member)

/* In the order in which they are printed.  The n-th call of a fault and the point of a switch are
 * in size_bytes. */
static const struct field fields[] = {
    {"call", OP_FAULT, 0, CALL, AT(tag), 0},
    {"nth", OP_FAULT, 0, COUNT, AT(size_bytes), UINT32_MAX},
    {"delay", OP_FAULT, 0, DELAY, AT(delay_ns), 0},
    {"for_ever", OP_FAULT, 0, FLAG, AT(flags), OP_FOR_EVER},
    {"op", OP_SWITCH, 0, EVENT, AT(ref), 0},
    {"point", OP_SWITCH, 0, COUNT, AT(size_bytes), UINT32_MAX},
    {"event", OP_SWITCH, 0, EVENT, AT(event), 0},
    {"to", OP_SWITCH, 0, TO_LANE, AT(tag), OP_LANE_COUNT_MAX - 1},
    {"block", OF(has_block), REFERENCE, AT(ref), 0},
    {"program", OF(has_program), REFERENCE, AT(ref), 0},
    {"recording", OF(has_recording), REFERENCE, AT(ref), 0},
    {"event", OF(has_event), EVENT, AT(event), 0},
    {"delay", OF(has_delay), DELAY, AT(delay_ns), 0},
    {"size", OF(has_size), SIZE, AT(size_bytes), 0},
    {"address", OF(has_address), ADDRESS, AT(address), 0},
    {"stack", OF(has_stack), BYTES, AT(stack_bytes), 0},
    {"unpadded", OF(has_unpadded), UNPADDED, AT(unpadded_bytes), 0},
    {"align", OF(has_align), ALIGN, AT(align_log2), 0},
    {"tag", OF(has_tag), NUMBER, AT(tag), OP_TAG_COUNT - 1},
    {"retry", OF(can_be_refused), FLAG, AT(flags), OP_RETRY},
    {"lane", EVERY_KIND, 0, NUMBER, AT(lane), OP_LANE_COUNT_MAX - 1},
    {"host", EVERY_KIND, 0, NUMBER, AT(host), OP_HOST_COUNT_MAX - 1},
    {"collective", OP_EXECUTE, 0, GROUP, AT(group), OP_COLLECTIVE},
    {"spmd", EVERY_KIND, 0, GROUP, AT(group), OP_SPMD},
    {"stream", OF(has_stream), STREAM, AT(stream), OP_STREAM_COUNT_MAX - 1},
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

/* --- printing --- */

/* An op while it is printed: OP_TEXT_BYTES are enough for every one.  By hand, as a list has
 * millions. */
struct line {
    char *text;
    size_t length;
};

static void append_text(struct line *line, const char *text)
{
    const size_t length = strlen(text);
    CHECK(length < OP_TEXT_BYTES - line->length);
    memcpy(line->text + line->length, text, length + 1);
    line->length += length;
}

static void append_number(struct line *line, uint64_t number)
{
    char digits[WRITING_DIGIT_COUNT_MAX + 1] = "";
    const size_t count = writing_print_digits(number, digits);
    append_text(line, digits + WRITING_DIGIT_COUNT_MAX - count);
}

static uint64_t number_of(const struct op *op, const struct field *field)
{
    const void *at = (const char *)op + field->offset;
    return field->bytes == sizeof(uint8_t)    ? *(const uint8_t *)at
           : field->bytes == sizeof(uint16_t) ? *(const uint16_t *)at
           : field->bytes == sizeof(uint32_t) ? *(const uint32_t *)at
                                              : *(const uint64_t *)at;
}

static const struct fault_info *fault_of(const struct op *op)
{
    return fault_info((enum fault_kind)(op->tag % FAULT_KIND_COUNT));
}

static bool is_printed(const struct op *op, const struct field *field)
{
    const struct op_kind_info *info = op_kind_info(op->kind);
    switch ((enum value)field->value) {
    case NUMBER:
    case UNPADDED:
    case ALIGN:
        return number_of(op, field) != 0;
    case TO_LANE:
        return op->event == OP_NONE;
    case EVENT:
        return number_of(op, field) != OP_NONE || info->event_required;
    case DELAY:
        return op->kind == OP_FAULT ? fault_of(op)->has_delay
                                    : !info->has_event || op->event == OP_NONE;
    case FLAG:
    case GROUP:
        return (op->flags & field->number) != 0;
    case STREAM:
        return (op->flags & OP_ON_STREAM) != 0;
    default:
        return true;
    }
}

static void append_value(struct line *line, const struct op *op, const struct field *field)
{
    const uint64_t number = number_of(op, field);
    const bool is_relative = (op->flags & OP_RELATIVE) != 0 && op->kind != OP_SWITCH;
    const bool is_fitted = (op->flags & OP_FITTED) != 0 && op_kind_info(op->kind)->can_be_fitted;
    char text[FIT_TEXT_BYTES + SIZE_TEXT_BYTES] = "";
    const char *value = text;
    switch ((enum value)field->value) {
    case BYTES:
    case UNPADDED:
    case SIZE:
    case ADDRESS:
        append_text(line, field->value == ADDRESS && is_relative ? "%" : "");
        if (field->value == SIZE && is_fitted) {
            const struct fit fit = fit_unpack(number);
            fit_print(&fit, text);
        } else {
            size_print(number, text);
        }
        break;
    case ALIGN:
        size_print((uint64_t)1 << number, text);
        break;
    case DELAY:
        duration_print(number, text);
        break;
    case CALL:
        value = fault_of(op)->name;
        break;
    case FLAG:
        value = "yes";
        break;
    case REFERENCE:
    case EVENT:
        if (number == OP_NONE) {
            value = "none";
            break;
        }
        append_text(line, is_relative ? "%" : "");
        append_number(line, number);
        break;
    default:
        append_number(line, number);
    }
    append_text(line, value);
}

static void append_op(struct line *line, const struct op *op)
{
    append_text(line, op_kind_info(op->kind)->name);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (has_field(op->kind, &fields[i]) && is_printed(op, &fields[i])) {
            append_text(line, " ");
            append_text(line, fields[i].key);
            append_text(line, "=");
            append_value(line, op, &fields[i]);
        }
    }
}

const char *op_print(const struct op *op, char text[OP_TEXT_BYTES])
{
    append_op(&(struct line){.text = text}, op);
    return text;
}

size_t op_print_line(size_t number, const struct op *op, char text[OP_TEXT_BYTES])
{
    struct line line = {.text = text};
    append_number(&line, number);
    append_text(&line, ": ");
    append_op(&line, op);
    append_text(&line, "\n");
    return line.length;
}

/* --- lines --- */

/* The row of the field; FIELD_COUNT: the kind has no such field. */
static size_t field_find(enum op_kind kind, struct word key)
{
    size_t row = 0;
    while (row < FIELD_COUNT && !(word_is(key, fields[row].key) && has_field(kind, &fields[row]))) {
        row++;
    }
    return row;
}

static bool parse_field(struct parser *parser, struct word word, struct op *op)
{
    struct word key, value;
    uint64_t number = 0;
    if (!word_split(word, '=', &key, &value)) {
        return parser_fail(parser, word.text, "a field is KEY=VALUE, not '%.*s'", shown(word),
                           word.text);
    }
    const size_t row = field_find(op->kind, key);
    if (row == FIELD_COUNT) {
        return parser_fail(parser, key.text, "'%s' has no field '%.*s'",
                           op_kind_info(op->kind)->name, shown(key), key.text);
    }
    const struct field *field = &fields[row];
    if ((parser->fields_named >> row & 1) != 0) {
        return parser_fail(parser, key.text, "'%.*s' is given twice", shown(key), key.text);
    }
    parser->fields_named |= UINT32_C(1) << row;
    parser->values_named |= UINT32_C(1) << field->value;
    if (!parse_value(parser, value, op, field, &number)) {
        return false;
    }
    number_store((char *)op + field->offset, field->bytes, number);
    return true;
}

static bool names_value(const struct parser *parser, enum value value)
{
    return (parser->values_named >> value & 1) != 0;
}

static bool finish_fault(struct parser *parser, struct op *op)
{
    if (!names_value(parser, CALL)) {
        return parser_fail(parser, parser->line,
                           "a fault needs call=, which names what goes wrong");
    }
    const struct fault_info *fault = fault_of(op);
    if (names_value(parser, DELAY) && !fault->has_delay) {
        return parser_fail(parser, parser->line, "the fault '%s' has no delay", fault->name);
    }
    if (fault->has_delay && !names_value(parser, DELAY)) {
        op->delay_ns = FAULT_DELAY_DEFAULT_NS;
    }
    return true;
}

static bool finish_stream(struct parser *parser, const struct op *op)
{
    if (!names_value(parser, STREAM)) {
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
    if (op->kind == OP_SWITCH && names_value(parser, TO_LANE) == (op->event != OP_NONE)) {
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
    parser->fields_named = parser->values_named = 0;
    for (struct word word = parser_next_word(parser); word.length > 0;
         word = parser_next_word(parser)) {
        if (!parse_field(parser, word, op)) {
            return false;
        }
    }
    return finish_fields(parser, op);
}
