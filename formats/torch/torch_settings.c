/* What a snapshot says of the settings of its allocator. */
#include "formats/torch/private/torch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Appends ",key:value"; the first comma goes at the end. */
static void add_setting(char *text, const char *key, const char *value)
{
    const size_t used = strlen(text);
    snprintf(text + used, IMPORT_SETTINGS_BYTES - used, ",%s:%s", key, value);
}

static void add_number(char *text, const char *key, uint64_t number)
{
    char value[24];
    snprintf(value, sizeof value, "%" PRIu64, number);
    add_setting(text, key, value);
}

/* 0 of what is no number, or not above 0. */
static uint64_t find_positive(const struct plain_tree *tree, struct plain_value value)
{
    return plain_is_negative(value) ? 0 : plain_number(tree, value);
}

static double find_share(const struct plain_tree *tree, struct plain_value value)
{
    double share = 0;
    if (value.kind == PLAIN_REAL) {
        memcpy(&share, &tree->wides[value.payload], sizeof share);
    }
    return share;
}

/* The most divisions of any size; 0 and 1 are none. */
static uint64_t find_divisions(const struct plain_tree *tree, struct plain_value divisions)
{
    uint64_t most = 0;
    for (size_t i = 0; divisions.kind == PLAIN_DICT && i < plain_count(tree, divisions); i++) {
        const uint64_t count = find_positive(tree, plain_at(tree, divisions, i));
        most = count > most ? count : most;
    }
    return most;
}

void torch_read_settings(const struct plain_tree *tree, struct plain_value root,
                         struct import *import)
{
    const struct plain_value settings = plain_get(tree, root, "allocator_settings");
    char text[IMPORT_SETTINGS_BYTES] = "";
    if (settings.kind != PLAIN_DICT) {
        return;
    }
    const uint64_t split_bytes = find_positive(tree, plain_get(tree, settings, "max_split_size"));
    const double threshold = find_share(tree,
                                        plain_get(tree, settings, "garbage_collection_threshold"));
    const uint64_t divisions = find_divisions(
        tree, plain_get(tree, settings, "roundup_power2_divisions"));
    if (plain_get(tree, settings, "expandable_segments").kind == PLAIN_TRUE) {
        add_setting(text, "expandable_segments", "True");
    }
    if (split_bytes > 0) {
        add_number(text, "max_split_size_mb", split_bytes >> 20);
    }
    if (threshold > 0) {
        char value[24];
        snprintf(value, sizeof value, "%g", threshold);
        add_setting(text, "garbage_collection_threshold", value);
    }
    if (divisions > 1) {
        add_number(text, "roundup_power2_divisions", divisions);
    }
    snprintf(import->settings, sizeof import->settings, "%s",
             text[0] == '\0' ? "default" : text + 1);
}
