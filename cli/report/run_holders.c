#include "cli/report/run_holders.h"

#include "harness/base/array.h"
#include "harness/base/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void run_holders_take(const struct run_record *record, uint32_t turn, uint32_t host,
                      struct run_holders *holders)
{
    *holders = (struct run_holders){0};
    for (size_t i = 0; i < record->block_count && record->blocks[i].begin <= turn; i++) {
        const struct record_block *block = &record->blocks[i];
        if (block->end <= turn || block->host != host) {
            continue;
        }
        if (block->state == RECORD_STACK) {
            holders->stack_bytes += block->size_bytes;
        } else if (block->state == RECORD_RETIRED) {
            holders->retired_bytes += block->size_bytes;
            holders->retired_count++;
        } else {
            holders->bytes[block->tag] += block->size_bytes;
            holders->counts[block->tag]++;
        }
    }
}

bool run_holders_is_unknown(const struct setup *setup, uint8_t tag)
{
    const char *name = setup->tags[tag];
    return name[0] == '\0' || strcmp(name, SETUP_BEFORE_NAME) == 0 || setup_is_outside_name(name);
}

/* A tree of names. */
struct flame_node {
    char name[SETUP_NAME_BYTES];
    uint64_t bytes;
    uint32_t first_child, last_child, next; /* indexes; 0: none */
};
struct flame {
    struct flame_node *nodes; /* nodes[0] is the root */
    size_t count, room;
};

static uint32_t flame_child(struct flame *flame, uint32_t parent, const char *name, size_t length)
{
    char cut[SETUP_NAME_BYTES];
    snprintf(cut, sizeof cut, "%.*s", (int)length, name);
    for (uint32_t i = flame->nodes[parent].first_child; i != 0; i = flame->nodes[i].next) {
        if (strcmp(flame->nodes[i].name, cut) == 0) {
            return i;
        }
    }
    flame->nodes = array_grown(flame->nodes, flame->count, &flame->room, sizeof *flame->nodes);
    const uint32_t added = (uint32_t)flame->count++;
    flame->nodes[added] = (struct flame_node){0};
    memcpy(flame->nodes[added].name, cut, sizeof cut);
    struct flame_node *above = &flame->nodes[parent];
    if (above->first_child == 0) {
        above->first_child = added;
    } else {
        flame->nodes[above->last_child].next = added;
    }
    above->last_child = added;
    return added;
}

/* The parts of the name, between / or ;, are a path from the node down. */
static void flame_add(struct flame *flame, uint32_t node, const char *path, uint64_t bytes)
{
    flame->nodes[0].bytes += bytes;
    flame->nodes[node].bytes += node == 0 ? 0 : bytes;
    while (*path != '\0') {
        const size_t length = strcspn(path, "/;");
        if (length > 0) {
            node = flame_child(flame, node, path, length);
            flame->nodes[node].bytes += bytes;
        }
        path += length + (path[length] != '\0');
    }
}

static void flame_append(const struct flame *flame, uint32_t node, struct writing *json)
{
    writing_append(json, "{\"name\":");
    writing_append_json(json, flame->nodes[node].name);
    writing_append_format(json, ",\"bytes\":%" PRIu64 ",\"children\":[", flame->nodes[node].bytes);
    for (uint32_t i = flame->nodes[node].first_child; i != 0; i = flame->nodes[i].next) {
        writing_append(json, i == flame->nodes[node].first_child ? "" : ",");
        flame_append(flame, i, json); /* at most SETUP_NAME_BYTES deep */
    }
    writing_append(json, "]}");
}

static void flame_add_holders(struct flame *flame, const struct setup *setup,
                              const struct run_holders *holders)
{
    char name[SETUP_NAME_BYTES];
    for (unsigned tag = 0; tag < OP_TAG_COUNT; tag++) {
        const bool is_unknown = run_holders_is_unknown(setup, (uint8_t)tag);
        if (holders->bytes[tag] == 0) {
            continue;
        }
        const uint32_t parent = is_unknown ? flame_child(flame, 0, "unknown origin", SIZE_MAX >> 33)
                                           : 0;
        setup_tag_name(setup, (uint8_t)tag, name);
        flame_add(flame, parent, name, holders->bytes[tag]);
    }
    if (holders->stack_bytes > 0) {
        flame_add(flame, 0, "stack", holders->stack_bytes);
    }
    if (holders->retired_bytes > 0) {
        flame_add(flame, 0, "retired", holders->retired_bytes);
    }
}

void run_holders_append_flame(const struct run_record *record, struct writing *json)
{
    struct flame flame = {.count = 1};
    struct run_holders *holders = malloc(sizeof *holders);
    uint32_t host;
    const uint32_t peak = run_record_peak(record, &host);
    CHECK(holders != NULL);
    run_holders_take(record, peak, host, holders);
    flame.nodes = array_grown(NULL, 0, &flame.room, sizeof *flame.nodes);
    flame.nodes[0] = (struct flame_node){.name = "in use"};
    flame_add_holders(&flame, &record->setup, holders);
    writing_append_format(json, ",\"flameOp\":%" PRIu32 ",\"flameHost\":%" PRIu32 ",\"flame\":",
                          peak == RECORD_NONE ? 0 : peak, host);
    flame_append(&flame, 0, json);
    free(flame.nodes);
    free(holders);
}
