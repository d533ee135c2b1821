/* The lines of the head that give the hosts their time, their groups and a device to share. */
#include "harness/base/size.h"
#include "harness/op/private/ops_parse.h"

#include <inttypes.h>

bool parser_clocks(struct parser *parser, struct word word)
{
    parser->setup->has_clocks = word_is(word, "own");
    return parser->setup->has_clocks ||
           parser_fail(parser, word.text, "'%.*s' is not accepted: the only value is own",
                       shown(word), word.text);
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

bool parser_clock(struct parser *parser, struct word word)
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
    if (!word_split(ahead, &key, &value) || !word_is(key, "ahead") ||
        !duration_parse(value.text, value.length, &clock->ahead_ns)) {
        return parser_fail(parser, ahead.length == 0 ? parser->line : ahead.text,
                           "a clock is HOST ahead=DURATION drift=MILLIONTHS");
    }
    const struct word drift = parser_next_word(parser);
    if (!word_split(drift, &key, &value) || !word_is(key, "drift")) {
        return parser_fail(parser, drift.length == 0 ? parser->line : drift.text,
                           "a clock is HOST ahead=DURATION drift=MILLIONTHS");
    }
    return parse_drift(parser, value, &clock->drift);
}

bool parser_collective_bound(struct parser *parser, struct word word)
{
    uint64_t *bound_ns = &parser->setup->collective_bound_ns;
    return (duration_parse(word.text, word.length, bound_ns) && *bound_ns > 0) ||
           parser_fail(parser, word.text, "'%.*s' is not a duration such as 5s, 10m or never",
                       shown(word), word.text);
}

/* One of the comma-separated parts: HOST or FIRST-LAST. */
static bool parse_member_part(struct parser *parser, struct word part, uint64_t *members)
{
    const char *dash = memchr(part.text, '-', part.length);
    const struct word first_word = {part.text,
                                    dash == NULL ? part.length : (size_t)(dash - part.text)};
    uint32_t first = 0, last = 0;
    if (!parse_host(parser, first_word, &first)) {
        return false;
    }
    last = first;
    if (dash != NULL &&
        !parse_host(parser, (struct word){dash + 1, part.length - first_word.length - 1}, &last)) {
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
    *members = 0;
    while (true) {
        const char *comma = memchr(word.text, ',', word.length);
        const size_t length = comma == NULL ? word.length : (size_t)(comma - word.text);
        if (!parse_member_part(parser, (struct word){word.text, length}, members)) {
            return false;
        }
        if (comma == NULL) {
            return true;
        }
        word = (struct word){comma + 1, word.length - length - 1};
    }
}

bool parser_group(struct parser *parser, struct word word)
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
        !parser_quoted(parser, "group", name, sizeof name)) {
        return false;
    }
    if (name[0] == '\0') {
        return parser_fail(parser, word.text, "a group has a name");
    }
    return setup_set_group(parser->setup, (uint16_t)number, members, name) ||
           parser_fail(parser, word.text, "more than %d groups", SETUP_GROUP_COUNT_MAX);
}

bool parser_shares(struct parser *parser, struct word word)
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
