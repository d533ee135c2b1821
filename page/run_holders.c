#include "page/run_holders.h"

#include <string.h>

void run_holders_count(struct run_holders *holders, const struct record_block *block)
{
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

void run_holders_take(const struct run_record *record, uint32_t turn, uint32_t host,
                      struct run_holders *holders)
{
    *holders = (struct run_holders){0};
    for (size_t i = 0; i < record->block_count && record->blocks[i].begin <= turn; i++) {
        const struct record_block *block = &record->blocks[i];
        if (block->end <= turn || block->host != host) {
            continue;
        }
        run_holders_count(holders, block);
    }
}

bool run_holders_is_unknown(const struct setup *setup, uint8_t tag)
{
    const char *name = setup->tags[tag];
    return name[0] == '\0' || strcmp(name, SETUP_BEFORE_NAME) == 0 || setup_is_outside_name(name);
}

/* The parts of the name, between / or ;, are a path from the node down. */
static void add_path(struct flame_tree *flame, uint32_t node, const char *path, uint64_t bytes)
{
    flame->nodes[0].bytes += bytes;
    flame->nodes[node].bytes += node == 0 ? 0 : bytes;
    while (*path != '\0') {
        const size_t length = strcspn(path, "/;");
        if (length > 0) {
            node = flame_tree_child(flame, node, path, length);
            flame->nodes[node].bytes += bytes;
        }
        path += length + (path[length] != '\0');
    }
}

void run_holders_add_flame(struct flame_tree *flame, const struct setup *setup,
                           const struct run_holders *holders)
{
    char name[SETUP_NAME_BYTES];
    for (unsigned tag = 0; tag < OP_TAG_COUNT; tag++) {
        const bool is_unknown = run_holders_is_unknown(setup, (uint8_t)tag);
        if (holders->bytes[tag] == 0) {
            continue;
        }
        const uint32_t parent = is_unknown ? flame_tree_child(flame, 0, "unknown origin",
                                                              strlen("unknown origin"))
                                           : 0;
        setup_tag_name(setup, (uint8_t)tag, name);
        add_path(flame, parent, name, holders->bytes[tag]);
    }
    if (holders->stack_bytes > 0) {
        add_path(flame, 0, "stack", holders->stack_bytes);
    }
    if (holders->retired_bytes > 0) {
        add_path(flame, 0, "retired", holders->retired_bytes);
    }
}

void run_holders_append_flame(const struct run_holders *holders, const struct setup *setup,
                              struct writing *json)
{
    struct flame_tree flame;
    flame_tree_init(&flame, "in use");
    run_holders_add_flame(&flame, setup, holders);
    flame_tree_append(&flame, 0, json);
    flame_tree_deinit(&flame);
}
