#include "harness/base/size.h"
#include "harness/op/chip.h"
#include "harness/op/private/ops_parse.h"
#include "harness/op/rounding.h"

#include <assert.h>
#include <inttypes.h>

/* --- hosts: their time, their groups and a device to share --- */

static bool parse_clocks(struct parser *parser, struct word word)
{
    parser->setup->has_clocks = word_is(word, "own");
    return parser->setup->has_clocks ||
           parser_fail(parser, word.text, "'%.*s' is not accepted: the only value is own",
                       shown(word), word.text);
}

/* "NAME", to the end of the line; what: of a tag, of a group. */
static bool parse_quoted(struct parser *parser, const char *what, char *name, size_t bytes)
{
    const char *start = parser->at;
    const struct word quoted = parser_rest(parser, word_next(&start, parser->line_end).text);
    if (quoted.length < 2 || quoted.text[0] != '"' || quoted.text[quoted.length - 1] != '"') {
        return parser_fail(parser, quoted.text, "write a %s's name in double quotes", what);
    }
    parser->at = parser->line_end;
    const struct word inside = {quoted.text + 1, quoted.length - 2};
    name[0] = '\0';
    return inside.length == 0 || parser_copy(parser, inside, name, bytes);
}

static bool parse_host(struct parser *parser, struct word word, uint32_t *host)
{
    uint64_t number = 0;
    if (!parser_number(parser, word, OP_HOST_COUNT_MAX - 1, &number)) {
        return false;
    }
    *host = (uint32_t)number;
    return true;
}

static bool parse_drift(struct parser *parser, struct word word, int32_t *drift)
{
    uint64_t size = 0;
    const bool is_negative = word.length > 0 && word.text[0] == '-';
    const struct word digits = {word.text + is_negative, word.length - is_negative};
    if (!parser_number(parser, digits, SETUP_DRIFT_MAX, &size)) {
        return false;
    }
    *drift = is_negative ? -(int32_t)size : (int32_t)size;
    return true;
}

static bool parse_clock(struct parser *parser, struct word word)
{
    uint32_t host = 0;
    if (!parse_host(parser, word, &host)) {
        return false;
    }
    if ((parser->clocks_named >> host & 1) != 0) {
        return parser_fail(parser, word.text, "the clock of host %" PRIu32 " is given twice", host);
    }
    parser->clocks_named |= UINT64_C(1) << host;
    struct setup_clock *clock = &parser->setup->clocks[host];
    struct word key, value;
    const struct word ahead = parser_next_word(parser);
    if (!word_split(ahead, '=', &key, &value) || !word_is(key, "ahead") ||
        !duration_parse(value.text, value.length, &clock->ahead_ns)) {
        return parser_fail(parser, ahead.length == 0 ? parser->line : ahead.text,
                           "a clock is HOST ahead=DURATION drift=MILLIONTHS");
    }
    const struct word drift = parser_next_word(parser);
    if (!word_split(drift, '=', &key, &value) || !word_is(key, "drift")) {
        return parser_fail(parser, drift.length == 0 ? parser->line : drift.text,
                           "a clock is HOST ahead=DURATION drift=MILLIONTHS");
    }
    return parse_drift(parser, value, &clock->drift);
}

static bool parse_collective_bound(struct parser *parser, struct word word)
{
    uint64_t *bound_ns = &parser->setup->collective_bound_ns;
    return (duration_parse(word.text, word.length, bound_ns) && *bound_ns > 0) ||
           parser_fail(parser, word.text, "'%.*s' is not a duration such as 5s, 10m or never",
                       shown(word), word.text);
}

/* One of the comma-separated parts: HOST or FIRST-LAST. */
static bool parse_member_part(struct parser *parser, struct word part, uint64_t *members)
{
    struct word first_word, last_word;
    uint32_t first = 0, last = 0;
    const bool is_range = word_split(part, '-', &first_word, &last_word);
    if (!parse_host(parser, first_word, &first)) {
        return false;
    }
    last = first;
    if (is_range && !parse_host(parser, last_word, &last)) {
        return false;
    }
    if (last < first) {
        return parser_fail(parser, part.text, "the range ends before it begins");
    }
    const uint64_t bits = (UINT64_MAX >> (63 - (last - first))) << first;
    if ((*members & bits) != 0) {
        return parser_fail(parser, part.text, "a host is given twice");
    }
    *members |= bits;
    return true;
}

static bool parse_members(struct parser *parser, struct word word, uint64_t *members)
{
    struct word part;
    bool has_more = true;
    *members = 0;
    while (has_more) {
        has_more = word_split(word, ',', &part, &word);
        if (!parse_member_part(parser, part, members)) {
            return false;
        }
    }
    return true;
}

static bool parse_group(struct parser *parser, struct word word)
{
    uint64_t number = 0, members = 0;
    char name[SETUP_GROUP_NAME_BYTES] = "";
    if (!parser_number(parser, word, UINT16_MAX, &number)) {
        return false;
    }
    if (setup_group_name(parser->setup, (uint16_t)number)[0] != '\0') {
        return parser_fail(parser, word.text, "the group %" PRIu64 " is given twice", number);
    }
    if (!parse_members(parser, parser_next_word(parser), &members) ||
        !parse_quoted(parser, "group", name, sizeof name)) {
        return false;
    }
    if (name[0] == '\0') {
        return parser_fail(parser, word.text, "a group has a name");
    }
    return setup_set_group(parser->setup, (uint16_t)number, members, name) ||
           parser_fail(parser, word.text, "more than %d groups", SETUP_GROUP_COUNT_MAX);
}

static bool parse_shares(struct parser *parser, struct word word)
{
    struct setup *setup = parser->setup;
    if (!parse_members(parser, word, &setup->shared_hosts)) {
        return false;
    }
    if ((setup->shared_hosts & (setup->shared_hosts - 1)) == 0) {
        return parser_fail(parser, word.text, "one host alone shares no device: name two or more");
    }
    const struct word bytes = parser_next_word(parser);
    if (bytes.length == 0) {
        return true;
    }
    return parser_size(parser, bytes, &setup->shared_bytes) &&
           (setup->shared_bytes > 0 ||
            parser_fail(parser, bytes.text, "a shared device has at least the capacity"));
}

/* True if the head's lines about a shared device go together. */
static bool check_shared(struct parser *parser)
{
    const struct setup *setup = parser->setup;
    if (setup->shared_bytes != 0 && setup->shared_bytes < setup->capacity_bytes) {
        return parser_fail(parser, parser->line,
                           "the shared device is smaller than the capacity, which each of its "
                           "hosts has of it when it is awake");
    }
    return setup->shared_hosts == 0 || !parser->names_lanes ||
           parser_fail(parser, parser->line,
                       "'shares' does not go together with lanes: nobody sleeps there");
}

bool parser_check_hosts(struct parser *parser)
{
    const struct setup *setup = parser->setup;
    const uint64_t there = UINT64_MAX >> (64 - setup->host_count);
    uint64_t named = parser->clocks_named | setup->shared_hosts;
    for (uint32_t i = 0; i < setup->group_count; i++) {
        named |= setup->groups[i].members;
    }
    if ((named & ~there) != 0) {
        return parser_fail(
            parser, parser->line,
            "a clock, a group or the shared device of the head has a host that is not there: the head "
            "has hosts %" PRIu32,
            setup->host_count);
    }
    if (parser->clocks_named != 0 && !setup->has_clocks) {
        return parser_fail(parser, parser->line, "the head has a clock, but not 'clocks own'");
    }
    if (!check_shared(parser)) {
        return false;
    }
    return !setup->has_clocks || !parser->names_lanes ||
           parser_fail(parser, parser->line,
                       "'clocks own' does not go together with lanes: there the schedule decides "
                       "when events complete");
}

/* --- target --- */

/* A target that a plug-in is loaded for: targets/plugin.h. */
static bool is_path(struct word word)
{
    return memchr(word.text, '/', word.length) != NULL ||
           (word.length > 3 && memcmp(word.text + word.length - 3, ".so", 3) == 0);
}

/* A path goes on to the end of its line, because it may have blanks. */
static bool parse_target(struct parser *parser, struct word word)
{
    const struct word rest = parser_rest(parser, word.text);
    if (rest.length > word.length && is_path(rest)) {
        word = rest;
        parser->at = parser->line_end;
    }
    return parser_copy(parser, word, parser->setup->target, SETUP_VALUE_BYTES);
}

bool ops_file_can_name(const char *target)
{
    const struct word word = {target, strlen(target)};
    if (word.length == 0 || word.length >= SETUP_VALUE_BYTES || is_space(target[0]) ||
        is_space(target[word.length - 1])) {
        return false;
    }
    for (size_t i = 0; i < word.length; i++) {
        if (is_control(target[i]) || (target[i] == ' ' && !is_path(word))) {
            return false;
        }
    }
    return true;
}

static bool parse_option(struct parser *parser, struct word word)
{
    char key[SETUP_NAME_BYTES];
    char value[SETUP_NAME_BYTES];
    struct word key_word, value_word;
    if (!word_split(word, '=', &key_word, &value_word)) {
        return parser_fail(parser, word.text, "an option is KEY=VALUE");
    }
    if (!parser_copy(parser, key_word, key, sizeof key) ||
        !parser_copy(parser, value_word, value, sizeof value)) {
        return false;
    }
    if (setup_option(parser->setup, key) != NULL) {
        return parser_fail(parser, word.text, "the option '%s' is given twice", key);
    }
    return setup_set_option(parser->setup, key, value) ||
           parser_fail(parser, word.text, "more than %d options", SETUP_OPTION_COUNT_MAX);
}

/* --- device --- */

/* names: what it may be, with ", " between. */
static bool parse_known(struct parser *parser, struct word word, const char *what, bool is_known,
                        const char *names)
{
    return is_known || parser_fail(parser, word.text, "unknown %s '%.*s'; one of %s", what,
                                   shown(word), word.text, names);
}

static bool parse_chip(struct parser *parser, struct word word)
{
    char names[256] = "";
    for (size_t i = 0; chips[i] != NULL; i++) {
        names_append(names, sizeof names, chips[i]->name);
    }
    return parser_copy(parser, word, parser->setup->chip, SETUP_NAME_BYTES) &&
           parse_known(parser, word, "chip", chip_find(parser->setup->chip) != NULL, names);
}

static bool parse_system(struct parser *parser, struct word word)
{
    char names[128] = "";
    for (size_t i = 0; systems[i] != NULL; i++) {
        names_append(names, sizeof names, systems[i]->name);
    }
    return parser_copy(parser, word, parser->setup->system, SETUP_NAME_BYTES) &&
           parse_known(parser, word, "system", system_find(parser->setup->system) != NULL, names);
}

static bool parse_capacity(struct parser *parser, struct word word)
{
    if (!parser_size(parser, word, &parser->setup->capacity_bytes)) {
        return false;
    }
    const uint64_t capacity = parser->setup->capacity_bytes;
    return (capacity > 0 && capacity <= (uint64_t)1 << 50) ||
           parser_fail(parser, word.text, "the capacity must be 1 byte to 1P");
}

static bool parse_granule(struct parser *parser, struct word word)
{
    if (!parser_size(parser, word, &parser->setup->granule_bytes)) {
        return false;
    }
    return is_power(parser->setup->granule_bytes, 1, 65536) ||
           parser_fail(parser, word.text, "the granule must be a power of two from 1 to 64K");
}

/* It goes on to the end of its line. */
static bool parse_rounding(struct parser *parser, struct word word)
{
    struct rounding_error error;
    const struct word all = parser_rest(parser, word.text);
    parser->at = parser->line_end;
    parser->setup->has_rounding = true;
    return rounding_parse(all.text, all.length, &parser->setup->rounding, &error) ||
           parser_fail(parser, all.text + error.at, "rounding: %s", error.reason);
}

static bool parse_hosts(struct parser *parser, struct word word)
{
    uint64_t hosts = 0;
    if (!parser_number(parser, word, OP_HOST_COUNT_MAX, &hosts)) {
        return false;
    }
    parser->setup->host_count = (uint32_t)hosts;
    return hosts > 0 || parser_fail(parser, word.text, "hosts must be at least 1");
}

static bool parse_coordinate(struct parser *parser, struct word word)
{
    char text[SETUP_NAME_BYTES];
    if (!parser_copy(parser, word, text, sizeof text)) {
        return false;
    }
    uint32_t *at = parser->setup->coordinate;
    int end = 0;
    if (text[strspn(text, "0123456789x_HBM")] != '\0' || /* signs are numbers to sscanf() */
        sscanf(text, "%5" SCNu32 "x%5" SCNu32 "x%5" SCNu32 "_HBM%5" SCNu32 "%n", &at[0], &at[1],
               &at[2], &at[3], &end) != 4 ||
        text[end] != '\0') {
        return parser_fail(parser, word.text, "'%.*s' is not a coordinate such as 0x0x1_HBM0",
                           shown(word), word.text);
    }
    return true;
}

/* --- run --- */

static bool parse_scenario(struct parser *parser, struct word word)
{
    return parser_copy(parser, word, parser->setup->scenario, SETUP_NAME_BYTES);
}

static bool parse_regret_max(struct parser *parser, struct word word)
{
    parser->setup->has_regret_max = true;
    return parser_number(parser, word, UINT64_MAX, &parser->setup->regret_max);
}

static bool parse_check_races(struct parser *parser, struct word word)
{
    parser->setup->checks_races = word_is(word, "yes");
    return parser->setup->checks_races ||
           parser_fail(parser, word.text, "'%.*s' is not accepted: the only value is yes",
                       shown(word), word.text);
}

/* LOW-HIGH, in bytes. */
static bool parse_range(struct parser *parser, struct word word, uint64_t *low, uint64_t *high)
{
    struct word first, last;
    if (!word_split(word, '-', &first, &last)) {
        return parser_fail(parser, word.text, "a range is LOW-HIGH, in bytes");
    }
    return parser_number(parser, first, SETUP_REPORTED_MAX, low) &&
           parser_number(parser, last, SETUP_REPORTED_MAX, high) &&
           (*low <= *high || parser_fail(parser, word.text, "the range ends before it begins"));
}

enum reported_field { REPORTED_REQUESTED, REPORTED_FREE, REPORTED_IMAGE, REPORTED_COUNT };

static enum reported_field find_reported(struct word key)
{
    static const char *const names[REPORTED_COUNT] = {"requested", "free", "image"};
    unsigned field = 0;
    while (field < REPORTED_COUNT && !word_is(key, names[field])) {
        field++;
    }
    return (enum reported_field)field;
}

static bool parse_reported_field(struct parser *parser, enum reported_field field,
                                 struct word value)
{
    struct setup_reported *reported = &parser->setup->reported;
    switch (field) {
    case REPORTED_REQUESTED:
        return parse_range(parser, value, &reported->requested_low, &reported->requested_high);
    case REPORTED_FREE:
        return parse_range(parser, value, &reported->free_low, &reported->free_high);
    default:
        return parser_number(parser, value, SETUP_REPORTED_MAX, &reported->image_least);
    }
}

/* requested=LOW-HIGH free=LOW-HIGH, and perhaps image=BYTES; it goes on to the end of its line. */
static bool parse_reported(struct parser *parser, struct word word)
{
    enum { NEEDED = 1 << REPORTED_REQUESTED | 1 << REPORTED_FREE };
    unsigned seen = 0;
    for (; word.length > 0; word = parser_next_word(parser)) {
        struct word key, value;
        const enum reported_field field = word_split(word, '=', &key, &value) ? find_reported(key)
                                                                              : REPORTED_COUNT;
        if (field == REPORTED_COUNT || (seen >> field & 1) != 0) {
            return parser_fail(parser, word.text,
                               "reported has requested=LOW-HIGH, free=LOW-HIGH and image=BYTES");
        }
        seen |= 1u << field;
        if (!parse_reported_field(parser, field, value)) {
            return false;
        }
    }
    parser->setup->reported.is_there = true;
    return (seen & NEEDED) == NEEDED ||
           parser_fail(parser, word.text, "reported lacks requested= or free=");
}

static bool parse_tag(struct parser *parser, struct word word)
{
    uint64_t tag = 0;
    if (!parser_number(parser, word, OP_TAG_COUNT - 1, &tag)) {
        return false;
    }
    if (parser->tags_named[tag]) {
        return parser_fail(parser, word.text, "the tag %" PRIu64 " is given twice", tag);
    }
    parser->tags_named[tag] = true;
    char name[SETUP_NAME_BYTES];
    if (!parse_quoted(parser, "tag", name, sizeof name)) {
        return false;
    }
    setup_set_tag(parser->setup, (uint8_t)tag, name);
    return true;
}

/* --- lines --- */

static const struct {
    const char *name;
    bool (*parse)(struct parser *parser, struct word word);
    bool may_repeat; /* each time for another one */
    uint16_t offset; /* parse NULL: of a number in struct setup, and all of the line is that */
} heads[] = {
    {"scenario", parse_scenario, false, 0},
    {"chip", parse_chip, false, 0},
    {"system", parse_system, false, 0},
    {"capacity", parse_capacity, false, 0},
    {"granule", parse_granule, false, 0},
    {"rounding", parse_rounding, false, 0},
    {"hosts", parse_hosts, false, 0},
    {"clocks", parse_clocks, false, 0},
    {"clock", parse_clock, true, 0},
    {"collective_bound", parse_collective_bound, false, 0},
    {"group", parse_group, true, 0},
    {"shares", parse_shares, false, 0},
    {"coordinate", parse_coordinate, false, 0},
    {"target", parse_target, false, 0},
    {"option", parse_option, true, 0},
    {"seed", NULL, false, offsetof(struct setup, seed)},
    {"tag", parse_tag, true, 0},
    {"search_nodes", NULL, false, offsetof(struct setup, search_nodes_max)},
    {"regret_max", parse_regret_max, false, 0},
    {"until", NULL, false, offsetof(struct setup, until_step)},
    {"check_races", parse_check_races, false, 0},
    {"reported", parse_reported, false, 0},
};
static_assert(sizeof heads / sizeof heads[0] <= 32, "a bit each in parser.heads_named");

/* The value of the row, and the end of the line behind it. */
static bool parse_value(struct parser *parser, size_t row)
{
    parser->heads_named |= UINT32_C(1) << row;
    const struct word value = parser_next_word(parser);
    uint64_t *number = (uint64_t *)((char *)parser->setup + heads[row].offset);
    if (heads[row].parse != NULL ? !heads[row].parse(parser, value)
                                 : !parser_number(parser, value, UINT64_MAX, number)) {
        return false;
    }
    const struct word rest = parser_next_word(parser);
    return rest.length == 0 ||
           parser_fail(parser, rest.text, "unexpected '%.*s'", shown(rest), rest.text);
}

bool parser_head(struct parser *parser, struct word key)
{
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        if (!word_is(key, heads[i].name)) {
            continue;
        }
        if (!heads[i].may_repeat && (parser->heads_named >> i & 1) != 0) {
            return parser_fail(parser, key.text, "'%s' is given twice", heads[i].name);
        }
        return parse_value(parser, i);
    }
    return parser_fail(
        parser, key.text,
        "unknown word '%.*s': neither an op 'N: kind …' nor one of the head "
        "(scenario, chip, system, capacity, granule, rounding, hosts, clocks, clock, collective_bound, group, "
        "shares, coordinate, target, option, seed, search_nodes, regret_max, until, check_races, reported, tag)",
        shown(key), key.text);
}
