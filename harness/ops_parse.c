/* Reads the text of an .ops file; the printer is its neighbour ops_file.c. */
#include "harness/check.h"
#include "harness/fit.h"
#include "harness/ops_file.h"
#include "harness/size.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct word {
    const char *text;
    size_t length;
};

struct parser {
    const char *at; /* in the current line */
    const char *line;
    const char *line_end;
    size_t line_number;
    struct setup *setup;
    struct op_list *list;
    uint64_t *labels; /* of the ops so far, ascending */
    size_t label_capacity;
    bool names_fault, names_delay, names_lane; /* the op under way has call=, delay=, to= */
    struct ops_file_error *error;
};

/* How long a fault takes that does not say so: as long as many a use in the scenarios. */
#define FAULT_DELAY_DEFAULT_NS UINT64_C(1000000)

static bool fail(struct parser *parser, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool fail(struct parser *parser, const char *at, const char *format, ...)
{
    parser->error->line = parser->line_number;
    parser->error->column = (size_t)(at - parser->line) + 1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(parser->error->reason, sizeof parser->error->reason, format, arguments);
    va_end(arguments);
    for (char *c = parser->error->reason; *c != '\0'; c++) {
        *c = (unsigned char)*c < 0x20 || *c == 0x7F ? '?' : *c;
    }
    return false;
}

/* A word for an error text: at most 40 characters of it. */
static int shown(struct word word)
{
    return word.length > 40 ? 40 : (int)word.length;
}

static bool word_is(struct word word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.text, text, word.length) == 0;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* The next blank-separated word; length 0 at the end of the line. */
static struct word next_word(struct parser *parser)
{
    while (parser->at < parser->line_end && is_space(*parser->at)) {
        parser->at++;
    }
    struct word word = {parser->at, 0};
    while (parser->at < parser->line_end && !is_space(*parser->at)) {
        parser->at++;
    }
    word.length = (size_t)(parser->at - word.text);
    return word;
}

static bool copy_word(struct parser *parser, struct word word, char *to, size_t to_bytes)
{
    if (word.length == 0) {
        return fail(parser, word.text, "a value is missing");
    }
    if (word.length >= to_bytes) {
        return fail(parser, word.text, "longer than %zu characters", to_bytes - 1);
    }
    for (size_t i = 0; i < word.length; i++) {
        if ((unsigned char)word.text[i] < 0x20 || word.text[i] == 0x7F) {
            return fail(parser, word.text + i, "a control character");
        }
    }
    memcpy(to, word.text, word.length);
    to[word.length] = '\0';
    return true;
}

static bool parse_size_word(struct parser *parser, struct word word, uint64_t *size_bytes)
{
    return size_parse(word.text, word.length, size_bytes) ||
           fail(parser, word.text, "'%.*s' is not a size such as 512, 4K or 16G", shown(word), word.text);
}

static bool parse_number_word(struct parser *parser, struct word word, uint64_t max, uint64_t *number)
{
    uint64_t value = 0;
    if (!number_parse(word.text, word.length, &value) || value > max) {
        return fail(parser, word.text, "'%.*s' is not a number from 0 to %" PRIu64, shown(word), word.text, max);
    }
    *number = value;
    return true;
}

/* --- head ----------------------------------------------------------------------------------- */

static bool parse_chip(struct parser *parser, struct word word)
{
    char names[128] = "";
    if (!copy_word(parser, word, parser->setup->chip, SETUP_NAME_BYTES)) {
        return false;
    }
    if (chip_find(parser->setup->chip) != NULL) {
        return true;
    }
    for (size_t i = 0; chips[i] != NULL; i++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i == 0 ? "" : ", ", chips[i]->name);
    }
    return fail(parser, word.text, "unknown chip '%.*s'; one of %s", shown(word), word.text, names);
}

static bool parse_option(struct parser *parser, struct word word)
{
    char key[SETUP_NAME_BYTES];
    char value[SETUP_NAME_BYTES];
    const char *equals = word.length > 0 ? memchr(word.text, '=', word.length) : NULL;
    if (equals == NULL) {
        return fail(parser, word.text, "an option is KEY=VALUE");
    }
    const struct word key_word = {word.text, (size_t)(equals - word.text)};
    const struct word value_word = {equals + 1, word.length - key_word.length - 1};
    if (!copy_word(parser, key_word, key, sizeof key) || !copy_word(parser, value_word, value, sizeof value)) {
        return false;
    }
    return setup_set_option(parser->setup, key, value) ||
           fail(parser, word.text, "more than %d options", SETUP_OPTION_COUNT_MAX);
}

static bool parse_coordinate(struct parser *parser, struct word word)
{
    char text[SETUP_NAME_BYTES];
    if (!copy_word(parser, word, text, sizeof text)) {
        return false;
    }
    uint32_t *at = parser->setup->coordinate;
    int end = 0;
    if (sscanf(text, "%5" SCNu32 "x%5" SCNu32 "x%5" SCNu32 "_HBM%5" SCNu32 "%n", &at[0], &at[1], &at[2], &at[3],
               &end) != 4 || text[end] != '\0') {
        return fail(parser, word.text, "'%.*s' is not a coordinate such as 0x0x1_HBM0", shown(word), word.text);
    }
    return true;
}

static bool parse_tag(struct parser *parser, struct word word)
{
    uint64_t tag = 0;
    if (!parse_number_word(parser, word, OP_TAG_COUNT - 1, &tag)) {
        return false;
    }
    while (parser->at < parser->line_end && is_space(*parser->at)) {
        parser->at++;
    }
    const char *open = parser->at;
    const char *close = parser->line_end;
    while (close > open && is_space(close[-1])) {
        close--;
    }
    if (close - open < 2 || *open != '"' || close[-1] != '"') {
        return fail(parser, open, "a tag's name stands in double quotes");
    }
    parser->at = parser->line_end;
    char name[SETUP_NAME_BYTES];
    const struct word inside = {open + 1, (size_t)(close - open) - 2};
    if (inside.length > 0 && !copy_word(parser, inside, name, sizeof name)) {
        return false;
    }
    setup_set_tag(parser->setup, (uint8_t)tag, inside.length > 0 ? name : "");
    return true;
}

static bool parse_granule(struct parser *parser, struct word word)
{
    uint64_t granule = 0;
    if (!parse_size_word(parser, word, &granule)) {
        return false;
    }
    if (granule == 0 || (granule & (granule - 1)) != 0 || granule > 65536) {
        return fail(parser, word.text, "the granule is a power of two from 1 to 64K");
    }
    parser->setup->granule_bytes = granule;
    return true;
}

static bool parse_hosts(struct parser *parser, struct word word)
{
    uint64_t hosts = 0;
    if (!parse_number_word(parser, word, OP_HOST_COUNT_MAX, &hosts)) {
        return false;
    }
    parser->setup->host_count = (uint32_t)hosts;
    return hosts > 0 || fail(parser, word.text, "hosts is at least 1");
}

static bool parse_capacity(struct parser *parser, struct word word)
{
    if (!parse_size_word(parser, word, &parser->setup->capacity_bytes)) {
        return false;
    }
    const uint64_t capacity = parser->setup->capacity_bytes;
    return (capacity > 0 && capacity <= (uint64_t)1 << 50) ||
           fail(parser, word.text, "the capacity is 1 byte to 1P");
}

static bool parse_scenario(struct parser *parser, struct word word)
{
    return copy_word(parser, word, parser->setup->scenario, SETUP_NAME_BYTES);
}
static bool parse_target(struct parser *parser, struct word word)
{
    return copy_word(parser, word, parser->setup->target, SETUP_VALUE_BYTES);
}
static bool parse_seed(struct parser *parser, struct word word)
{
    return parse_number_word(parser, word, UINT64_MAX, &parser->setup->seed);
}
static bool parse_search_nodes(struct parser *parser, struct word word)
{
    return parse_number_word(parser, word, UINT64_MAX, &parser->setup->search_nodes_max);
}
static bool parse_regret_max(struct parser *parser, struct word word)
{
    parser->setup->has_regret_max = true;
    return parse_number_word(parser, word, UINT64_MAX, &parser->setup->regret_max);
}
static bool parse_check_races(struct parser *parser, struct word word)
{
    parser->setup->checks_races = word_is(word, "yes");
    return parser->setup->checks_races ||
           fail(parser, word.text, "'%.*s' is not yes, the only value", shown(word), word.text);
}

static const struct {
    const char *name;
    bool (*parse)(struct parser *parser, struct word word);
} heads[] = {
    {"scenario", parse_scenario}, {"chip", parse_chip},         {"capacity", parse_capacity},
    {"granule", parse_granule},   {"hosts", parse_hosts},       {"coordinate", parse_coordinate},
    {"target", parse_target},     {"option", parse_option},     {"seed", parse_seed},
    {"tag", parse_tag},           {"search_nodes", parse_search_nodes},
    {"regret_max", parse_regret_max}, {"check_races", parse_check_races},
};

static bool parse_head_line(struct parser *parser, struct word key)
{
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        if (!word_is(key, heads[i].name)) {
            continue;
        }
        if (!heads[i].parse(parser, next_word(parser))) {
            return false;
        }
        const struct word rest = next_word(parser);
        return rest.length == 0 || fail(parser, rest.text, "unexpected '%.*s'", shown(rest), rest.text);
    }
    return fail(parser, key.text, "unknown word '%.*s': neither an op 'N: kind …' nor one of the head "
                "(scenario, chip, capacity, granule, hosts, coordinate, target, option, seed, search_nodes, regret_max, check_races, tag)",
                shown(key), key.text);
}

/* --- ops ------------------------------------------------------------------------------------ */

static int compare_labels(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static bool parse_reference(struct parser *parser, struct word value, struct op *op, uint32_t *reference)
{
    uint64_t number = 0;
    if (word_is(value, "none")) {
        *reference = OP_NONE;
        return true;
    }
    if (value.length > 0 && value.text[0] == '%') {
        if (op->kind == OP_SWITCH) {
            return fail(parser, value.text, "a switch names ops by their numbers, not as '%.*s'", shown(value), value.text);
        }
        op->flags |= OP_RELATIVE;
        const struct word digits = {value.text + 1, value.length - 1};
        if (!parse_number_word(parser, digits, OP_NONE - 1, &number)) {
            return false;
        }
        *reference = (uint32_t)number;
        return true;
    }
    if (!parse_number_word(parser, value, UINT64_MAX, &number)) {
        return false;
    }
    const uint64_t *label =
        parser->list->count == 0
            ? NULL
            : bsearch(&number, parser->labels, parser->list->count, sizeof number, compare_labels);
    if (label == NULL) {
        return fail(parser, value.text, "there is no op %" PRIu64 " above this line", number);
    }
    *reference = (uint32_t)(label - parser->labels);
    return true;
}

static bool parse_align(struct parser *parser, struct word value, struct op *op)
{
    uint64_t align = 0;
    if (!parse_size_word(parser, value, &align)) {
        return false;
    }
    if (align < 2 || (align & (align - 1)) != 0 || align > (uint64_t)1 << OP_ALIGN_LOG2_MAX) {
        return fail(parser, value.text, "an alignment is a power of two from 2 to 2M");
    }
    op->align_log2 = (uint8_t)__builtin_ctzll(align);
    return true;
}

static bool parse_delay(struct parser *parser, struct word value, struct op *op)
{
    parser->names_delay = true;
    return duration_parse(value.text, value.length, &op->delay_ns) ||
           fail(parser, value.text, "'%.*s' is not a duration such as 20us, 3ms, 10m or never", shown(value),
                value.text);
}

static bool parse_small(struct parser *parser, struct word value, uint64_t max, uint8_t *field)
{
    uint64_t number = 0;
    if (!parse_number_word(parser, value, max, &number)) {
        return false;
    }
    *field = (uint8_t)number;
    return true;
}

static bool parse_group(struct parser *parser, struct word value, struct op *op, enum op_flag flag)
{
    uint64_t number = 0;
    if (!parse_number_word(parser, value, UINT16_MAX, &number)) {
        return false;
    }
    op->flags |= (uint8_t)flag;
    op->group = (uint16_t)number;
    return true;
}

enum { FAULT_NAMES_BYTES = 208 };

static bool parse_fault(struct parser *parser, struct word value, struct op *op)
{
    char names[FAULT_NAMES_BYTES] = "";
    parser->names_fault = true;
    for (uint8_t i = 0; i < FAULT_KIND_COUNT; i++) {
        const char *name = fault_info((enum fault_kind)i)->name;
        if (word_is(value, name)) {
            op->tag = i;
            return true;
        }
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i == 0 ? "" : ", ", name);
    }
    return fail(parser, value.text, "unknown fault '%.*s'; one of %s", shown(value), value.text, names);
}

static bool parse_address(struct parser *parser, struct word value, struct op *op)
{
    const bool is_relative = value.length > 0 && value.text[0] == '%';
    op->flags |= is_relative ? OP_RELATIVE : 0;
    return parse_size_word(parser, (struct word){value.text + is_relative, value.length - is_relative}, &op->address);
}

static bool parse_op_size(struct parser *parser, struct word value, struct op *op)
{
    op->flags &= (uint8_t)~OP_FITTED; /* of a size that came before */
    if (value.length == 0 || value.text[0] != '%' || !op_kind_info(op->kind)->can_be_fitted) {
        return parse_size_word(parser, value, &op->size_bytes);
    }
    struct fit fit;
    if (!fit_parse(value.text, value.length, &fit)) {
        return fail(parser, value.text, "'%.*s' is not a fit such as %%hole, %%free-1, %%half, %%block:3 or %%pair:3+1",
                    shown(value), value.text);
    }
    op->flags |= OP_FITTED;
    op->size_bytes = fit_pack(&fit);
    return true;
}

/* One field whose key belongs to every kind.  Sets *known to whether it was one. */
static bool parse_common_field(struct parser *parser, struct word key, struct word value, struct op *op,
                               bool *known)
{
    *known = true;
    if (word_is(key, "lane")) {
        return parse_small(parser, value, OP_LANE_COUNT_MAX - 1, &op->lane);
    }
    if (word_is(key, "host")) {
        return parse_small(parser, value, OP_HOST_COUNT_MAX - 1, &op->host);
    }
    if (word_is(key, "collective") && op->kind == OP_EXECUTE) {
        return parse_group(parser, value, op, OP_COLLECTIVE);
    }
    if (word_is(key, "spmd")) {
        return parse_group(parser, value, op, OP_SPMD);
    }
    if (op->kind == OP_FAULT && word_is(key, "call")) {
        return parse_fault(parser, value, op);
    }
    if (op->kind == OP_FAULT && word_is(key, "nth")) {
        return parse_number_word(parser, value, UINT32_MAX, &op->size_bytes);
    }
    if (op->kind == OP_FAULT && word_is(key, "for_ever")) {
        op->flags |= word_is(value, "yes") ? OP_FOR_EVER : 0;
        return word_is(value, "yes") || fail(parser, value.text, "for_ever is 'yes' or left out");
    }
    *known = false;
    return true;
}

/* One field of a switch: op, point, to, event. */
static bool parse_switch_field(struct parser *parser, struct word key, struct word value, struct op *op)
{
    if (word_is(key, "op")) {
        return parse_reference(parser, value, op, &op->ref);
    }
    if (word_is(key, "point")) {
        return parse_number_word(parser, value, UINT32_MAX, &op->size_bytes);
    }
    if (word_is(key, "to")) {
        parser->names_lane = true;
        return parse_small(parser, value, OP_LANE_COUNT_MAX - 1, &op->tag);
    }
    if (word_is(key, "event")) {
        return parse_reference(parser, value, op, &op->event);
    }
    return fail(parser, key.text, "'switch' has no field '%.*s'", shown(key), key.text);
}

static bool parse_field(struct parser *parser, struct word key, struct word value, struct op *op)
{
    const struct op_kind_info *info = op_kind_info(op->kind);
    bool known = false;
    if (!parse_common_field(parser, key, value, op, &known)) {
        return false;
    }
    if (known) {
        return true;
    }
    if (op->kind == OP_SWITCH) {
        return parse_switch_field(parser, key, value, op);
    }
    const bool is_fault = op->kind == OP_FAULT;
    if (word_is(key, "block") && info->has_block) {
        return parse_reference(parser, value, op, &op->ref);
    }
    if (word_is(key, "program") && info->has_program) {
        return parse_reference(parser, value, op, &op->ref);
    }
    if (word_is(key, "event") && info->has_event) {
        return parse_reference(parser, value, op, &op->event);
    }
    if (word_is(key, "delay") && info->has_delay) {
        return parse_delay(parser, value, op);
    }
    if (word_is(key, "size") && info->has_size && !is_fault) {
        return parse_op_size(parser, value, op);
    }
    if (word_is(key, "address") && info->has_address) {
        return parse_address(parser, value, op);
    }
    if (word_is(key, "stack") && info->has_stack) {
        return parse_size_word(parser, value, &op->stack_bytes);
    }
    if (word_is(key, "unpadded") && info->has_unpadded) {
        return parse_size_word(parser, value, &op->unpadded_bytes);
    }
    if (word_is(key, "align") && info->has_align) {
        return parse_align(parser, value, op);
    }
    if (word_is(key, "tag") && info->has_tag && !is_fault) {
        return parse_small(parser, value, OP_TAG_COUNT - 1, &op->tag);
    }
    return fail(parser, key.text, "'%s' has no field '%.*s'", info->name, shown(key), key.text);
}

/* Once all fields of a fault are read, in whatever order. */
static bool finish_fault(struct parser *parser, struct op *op)
{
    if (!parser->names_fault) {
        return fail(parser, parser->line, "a fault has call=, which says what goes wrong");
    }
    const struct fault_info *fault = fault_info((enum fault_kind)op->tag);
    if (parser->names_delay && !fault->has_delay) {
        return fail(parser, parser->line, "the fault '%s' has no delay", fault->name);
    }
    if (fault->has_delay && !parser->names_delay) {
        op->delay_ns = FAULT_DELAY_DEFAULT_NS;
    }
    return true;
}

static bool parse_fields(struct parser *parser, struct op *op)
{
    for (struct word word = next_word(parser); word.length > 0; word = next_word(parser)) {
        const char *equals = memchr(word.text, '=', word.length);
        if (equals == NULL) {
            return fail(parser, word.text, "a field is KEY=VALUE, not '%.*s'", shown(word), word.text);
        }
        const struct word key = {word.text, (size_t)(equals - word.text)};
        const struct word value = {equals + 1, word.length - key.length - 1};
        if (!parse_field(parser, key, value, op)) {
            return false;
        }
    }
    if (op->kind == OP_FAULT && !finish_fault(parser, op)) {
        return false;
    }
    if (op->kind == OP_SWITCH && parser->names_lane == (op->event != OP_NONE)) {
        return fail(parser, parser->line, "a switch has either to=, the lane that goes on, or event=, which completes");
    }
    if (op->event != OP_NONE && op_kind_info(op->kind)->has_delay && op->delay_ns != 0) {
        return fail(parser, parser->line, "an op has either event= or delay=");
    }
    return true;
}

static bool parse_label(struct parser *parser, struct word word)
{
    const struct word digits = {word.text, word.length - 1};
    uint64_t label = 0;
    if (!parse_number_word(parser, digits, UINT64_MAX, &label)) {
        return false;
    }
    const size_t count = parser->list->count;
    if (count > 0 && label <= parser->labels[count - 1]) {
        return fail(parser, word.text, "op numbers ascend: %" PRIu64 " comes after %" PRIu64, label,
                    parser->labels[count - 1]);
    }
    if (count == parser->label_capacity) {
        parser->label_capacity = count == 0 ? 256 : count * 2;
        parser->labels = realloc(parser->labels, parser->label_capacity * sizeof *parser->labels);
        CHECK(parser->labels != NULL);
    }
    parser->labels[count] = label;
    return true;
}

static bool parse_op_line(struct parser *parser, struct word label)
{
    if (!parse_label(parser, label)) {
        return false;
    }
    const struct word name = next_word(parser);
    const enum op_kind kind = op_kind_find(name.text, name.length);
    if (kind == OP_KIND_COUNT) {
        return fail(parser, name.text, "unknown op '%.*s'", shown(name), name.text);
    }
    struct op op = op_make(kind);
    op.size_bytes = kind == OP_FAULT ? 1 : 0; /* the next call, unless nth= says another */
    parser->names_fault = parser->names_delay = parser->names_lane = false;
    if (!parse_fields(parser, &op)) {
        return false;
    }
    if (op.host >= parser->setup->host_count) {
        return fail(parser, parser->line, "host %u, but the head says hosts %" PRIu32, op.host,
                    parser->setup->host_count);
    }
    op_list_append(parser->list, &op);
    return true;
}

static bool parse_line(struct parser *parser)
{
    const struct word first = next_word(parser);
    if (first.length == 0 || first.text[0] == '#') {
        return true;
    }
    if (parser->line_number == 1) {
        const struct word version = next_word(parser);
        if (!word_is(first, "hbmstress-ops")) {
            return fail(parser, first.text, "not an .ops file: the first line must be 'hbmstress-ops 1'");
        }
        return word_is(version, "1") ||
               fail(parser, version.text, "version '%.*s' is not known; this program reads version 1",
                    shown(version), version.text);
    }
    if (first.text[first.length - 1] == ':') {
        return parse_op_line(parser, first);
    }
    if (parser->list->count > 0) {
        return fail(parser, first.text, "'%.*s' is not an op: ops are written 'N: kind …'", shown(first),
                    first.text);
    }
    return parse_head_line(parser, first);
}

enum ops_file_result ops_file_parse(const char *text, size_t length, struct setup *setup, struct op_list *list,
                                    struct ops_file_error *error)
{
    struct parser parser = {.setup = setup, .list = list, .error = error};
    setup_init(setup);
    op_list_clear(list);
    *error = (struct ops_file_error){0};
    const char *end = text + length;
    const char *line = text;
    bool is_good = true;
    do {
        const char *newline = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
        parser.line_number++;
        parser.line = parser.at = line;
        parser.line_end = newline != NULL ? newline : end;
        line = parser.line_end + 1;
        if (parser.line_end > parser.line && parser.line_end[-1] == '\r') {
            parser.line_end--;
        }
        if (parser.line_number == 1 && parser.line == parser.line_end) {
            is_good = fail(&parser, parser.line, "not an .ops file: the first line must be 'hbmstress-ops 1'");
        } else if (memchr(parser.line, '\0', (size_t)(parser.line_end - parser.line)) != NULL) {
            is_good = fail(&parser, parser.line, "not a text file: it has a NUL byte");
        } else if (newline == NULL && parser.line_end > parser.line) {
            is_good = fail(&parser, parser.line_end, "the file is cut off: its last line has no end");
        } else {
            is_good = parse_line(&parser);
        }
    } while (is_good && line <= end);
    free(parser.labels);
    return is_good ? OPS_FILE_OK : OPS_FILE_INVALID;
}
