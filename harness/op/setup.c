#include "harness/op/setup.h"

#include "harness/base/check.h"
#include "harness/base/json.h"

#include <stdio.h>
#include <string.h>

void setup_copy(struct setup *to, const struct setup *from)
{
    if (to->has_tags || from->has_tags) {
        *to = *from;
        return;
    }
    const size_t after_tags = offsetof(struct setup, tags) + sizeof to->tags;
    memcpy(to, from, offsetof(struct setup, tags));
    memcpy((char *)to + after_tags, (const char *)from + after_tags, sizeof *to - after_tags);
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
    if (strlen(key) >= SETUP_NAME_BYTES || strlen(value) >= SETUP_NAME_BYTES) {
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
    snprintf(setup->options[i].key, SETUP_NAME_BYTES, "%s", key);
    snprintf(setup->options[i].value, SETUP_NAME_BYTES, "%s", value);
    return true;
}

const char *setup_option(const struct setup *setup, const char *key)
{
    for (uint32_t i = 0; i < setup->option_count; i++) {
        if (strcmp(setup->options[i].key, key) == 0) {
            return setup->options[i].value;
        }
    }
    return NULL;
}

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

unsigned setup_filler_tag(const struct setup *setup)
{
    return setup_tag_named(setup, SETUP_FILLER_NAME);
}

void setup_set_tag(struct setup *setup, uint8_t tag, const char *name)
{
    char *to = setup->tags[tag];
    size_t i = 0;
    for (; name[i] != '\0' && i < SETUP_NAME_BYTES - 1; i++) {
        const unsigned char c = (unsigned char)name[i];
        to[i] = c < 0x20 || c >= 0x7F || c == '"' || c == '\\' ? '_' : (char)c;
    }
    to[i] = '\0';
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
