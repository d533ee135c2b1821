#include "harness/op/setup.h"

#include "harness/base/check.h"
#include "harness/base/json.h"
#include "harness/base/search.h"

#include <stdio.h>
#include <string.h>

void setup_copy(struct setup *to, const struct setup *from)
{
    const bool has_tags = to->has_tags || from->has_tags;
    const size_t after = has_tags ? offsetof(struct setup, has_tags)
                                  : offsetof(struct setup, tags) + sizeof to->tags;
    memcpy(to, from, offsetof(struct setup, groups) + from->group_count * sizeof from->groups[0]);
    to->has_tags = from->has_tags;
    memcpy((char *)to + after, (const char *)from + after, sizeof *to - after);
}

void setup_init(struct setup *setup)
{
    memset(setup, 0, sizeof *setup);
    setup->host_count = 1;
    snprintf(setup->target, sizeof setup->target, "hbm");
    for (unsigned kind = 0; kind < OP_KIND_COUNT; kind++) {
        setup->weights[kind] = 100;
    }
}

bool setup_set_option(struct setup *setup, const char *key, const char *value)
{
    const size_t key_length = strlen(key);
    const size_t value_length = strlen(value);
    if (key_length >= SETUP_NAME_BYTES || value_length >= SETUP_NAME_BYTES) {
        return false;
    }
    uint32_t i = 0;
    while (i < setup->option_count && strcmp(setup->options[i].key, key) != 0) {
        i++;
    }
    if (i == SETUP_OPTION_COUNT_MAX) {
        return false;
    }
    if (i == setup->option_count) {
        setup->option_count++;
    }
    memcpy(setup->options[i].key, key, key_length + 1);
    memcpy(setup->options[i].value, value, value_length + 1);
    return true;
}

const char *setup_find_value(const struct setup_option *options, uint32_t count, const char *key)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(options[i].key, key) == 0) {
            return options[i].value;
        }
    }
    return NULL;
}

const char *setup_option(const struct setup *setup, const char *key)
{
    return setup_find_value(setup->options, setup->option_count, key);
}

/* --- groups and clocks --- */

/* The place of the number among the groups: where it is, or would be. */
static uint32_t find_group(const struct setup *setup, uint16_t number)
{
    uint32_t place;
    SEARCH_FIRST(place, 0, setup->group_count, setup->groups[place].number >= number);
    return place;
}

static const struct setup_group *declared_group(const struct setup *setup, uint16_t number)
{
    const uint32_t place = find_group(setup, number);
    const bool is_there = place < setup->group_count && setup->groups[place].number == number;
    return is_there ? &setup->groups[place] : NULL;
}

uint64_t setup_members(const struct setup *setup, uint16_t group)
{
    const struct setup_group *declared = declared_group(setup, group);
    return declared != NULL ? declared->members : UINT64_MAX >> (64 - setup->host_count);
}

/* Up to its end, so that equal setups are equal bytes. */
static void copy_name(char *to, const char *name, size_t bytes)
{
    size_t i = 0;
    for (; name[i] != '\0' && i < bytes - 1; i++) {
        const unsigned char c = (unsigned char)name[i];
        to[i] = c < 0x20 || c >= 0x7F || c == '"' || c == '\\' ? '_' : (char)c;
    }
    memset(to + i, 0, bytes - i);
}

bool setup_set_group(struct setup *setup, uint16_t number, uint64_t members, const char *name)
{
    const uint32_t place = find_group(setup, number);
    CHECK(members != 0);
    if (declared_group(setup, number) == NULL) {
        if (setup->group_count == SETUP_GROUP_COUNT_MAX) {
            return false;
        }
        memmove(&setup->groups[place + 1], &setup->groups[place],
                (setup->group_count - place) * sizeof setup->groups[0]);
        setup->group_count++;
    }
    setup->groups[place].number = number;
    setup->groups[place].members = members;
    copy_name(setup->groups[place].name, name, sizeof setup->groups[place].name);
    return true;
}

const char *setup_group_name(const struct setup *setup, uint16_t group)
{
    const struct setup_group *declared = declared_group(setup, group);
    return declared != NULL ? declared->name : "";
}

uint64_t setup_collective_bound_ns(const struct setup *setup)
{
    return setup->collective_bound_ns == 0 ? COLLECTIVE_BOUND_NS : setup->collective_bound_ns;
}

uint64_t setup_clock_reading(const struct setup_clock *clock, uint64_t now_ns)
{
    if (clock->ahead_ns == 0 && clock->drift == 0) {
        return now_ns;
    }
    /* Below 2^64 each: no overflow of 128 bits, and never less than 9/10 of now. */
    const __int128 reading = (__int128)now_ns + clock->ahead_ns +
                             (__int128)now_ns * clock->drift / 1000000;
    return reading > (__int128)(UINT64_MAX - 1) ? UINT64_MAX - 1 : (uint64_t)reading;
}

void setup_set_hosts(struct setup *setup, uint32_t host_count)
{
    CHECK(host_count >= 1 && host_count <= OP_HOST_COUNT_MAX);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < setup->group_count; i++) {
        setup->groups[kept] = setup->groups[i];
        setup->groups[kept].members &= UINT64_MAX >> (64 - host_count);
        kept += setup->groups[kept].members != 0;
    }
    for (uint32_t i = host_count; i < OP_HOST_COUNT_MAX; i++) {
        setup->clocks[i] = (struct setup_clock){0};
    }
    setup->group_count = kept;
    setup->host_count = host_count;
    setup->shared_hosts &= UINT64_MAX >> (64 - host_count);
    if ((setup->shared_hosts & (setup->shared_hosts - 1)) == 0) {
        setup->shared_hosts = setup->shared_bytes = 0; /* one host alone shares nothing */
    }
}

void setup_set_capacity(struct setup *setup, uint64_t capacity_bytes)
{
    CHECK(setup->capacity_bytes > 0 && capacity_bytes > 0);
    if (setup->shared_bytes != 0) {
        const double shared = (double)setup->shared_bytes / (double)setup->capacity_bytes;
        const uint64_t bytes = (uint64_t)(shared * (double)capacity_bytes);
        setup->shared_bytes = bytes > capacity_bytes ? bytes : capacity_bytes;
    }
    setup->capacity_bytes = capacity_bytes;
}

uint64_t setup_shared_bytes(const struct setup *setup)
{
    return setup->shared_bytes == 0 ? setup->capacity_bytes : setup->shared_bytes;
}

void setup_drop_clocks(struct setup *setup)
{
    setup->has_clocks = false;
    setup->collective_bound_ns = 0;
    setup->shared_hosts = setup->shared_bytes = 0;
    memset(setup->clocks, 0, sizeof setup->clocks);
}

/* --- names --- */

bool setup_is_outside_name(const char *name)
{
    return strncmp(name, SETUP_OTHER_PROCESS_NAME, sizeof SETUP_OTHER_PROCESS_NAME - 1) == 0 ||
           strcmp(name, SETUP_OTHER_LIBRARY_NAME) == 0 || strcmp(name, SETUP_OUTSIDE_NAME) == 0;
}

bool setup_is_assumed_name(const char *name)
{
    return strcmp(name, SETUP_ASSUMED_NAME) == 0 ||
           strcmp(name, SETUP_ASSUMED_NAME SETUP_PLACED_ENDING) == 0;
}

bool setup_is_placed_name(const char *name)
{
    const size_t length = strlen(name);
    const size_t ending = sizeof SETUP_PLACED_ENDING - 1;
    return length >= ending && strcmp(name + length - ending, SETUP_PLACED_ENDING) == 0;
}

unsigned setup_tag_named(const struct setup *setup, const char *name)
{
    unsigned tag = setup->has_tags ? 0 : OP_TAG_COUNT;
    while (tag < OP_TAG_COUNT && strcmp(setup->tags[tag], name) != 0) {
        tag++;
    }
    return tag;
}

const char *setup_tag_name(const struct setup *setup, uint8_t tag, char name[SETUP_NAME_BYTES])
{
    if (setup->tags[tag][0] != '\0') {
        snprintf(name, SETUP_NAME_BYTES, "%s", setup->tags[tag]);
    } else if (tag == 0 && setup->system[0] != '\0') {
        snprintf(name, SETUP_NAME_BYTES, "(no source line)");
    } else {
        snprintf(name, SETUP_NAME_BYTES, "tag %u", tag);
    }
    return name;
}

bool setup_is_client(const struct setup *setup, uint8_t tag)
{
    return setup->has_tags &&
           strncmp(setup->tags[tag], SETUP_CLIENT_NAME, strlen(SETUP_CLIENT_NAME)) == 0;
}

unsigned setup_filler_tag(const struct setup *setup)
{
    return setup_tag_named(setup, SETUP_FILLER_NAME);
}

void setup_set_tag(struct setup *setup, uint8_t tag, const char *name)
{
    copy_name(setup->tags[tag], name, SETUP_NAME_BYTES);
    setup->has_tags = true;
}

void setup_add_target_json(const struct setup *setup, struct writing *text)
{
    json_add_string(text, "target", setup->target);
    json_nest(text, "options", '{');
    for (uint32_t i = 0; i < setup->option_count; i++) {
        json_add_string(text, setup->options[i].key, setup->options[i].value);
    }
    json_unnest(text, '}');
}

const char *placement_name(enum placement placement)
{
    static const char *const names[] = {"ranges", "hidden", "pages"};
    CHECK((unsigned)placement < sizeof names / sizeof names[0]);
    return names[placement];
}

const char *defrag_contract_name(enum defrag_contract defrag)
{
    static const char *const names[] = {
        [DEFRAG_NONE] = "none", [DEFRAG_SLIDE] = "slide", [DEFRAG_REPACK] = "repack"};
    CHECK((size_t)defrag < sizeof names / sizeof *names);
    return names[defrag];
}
