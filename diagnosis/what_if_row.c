#include "diagnosis/what_if_row.h"

#include "harness/base/size.h"

#include <stdio.h>

const char *what_if_end_name(enum what_if_end end)
{
    static const char *const names[] = {[WHAT_IF_FITS] = "fits",
                                        [WHAT_IF_NO_MEMORY] = "out of memory",
                                        [WHAT_IF_BROKEN] = "broken",
                                        [WHAT_IF_REFUSED] = "refused",
                                        [WHAT_IF_DOES_NOT_APPLY] = "does not apply"};
    return names[end];
}

uint64_t what_if_headroom_bytes(const struct what_if_row *row)
{
    return row->end == WHAT_IF_FITS ? row->headroom_bytes : 0;
}

/* The tag that its parameter stands for. */
static const char *find_tag_name(const struct setup *setup, const struct what_if_row *row)
{
    const bool is_all_named = row->remedy == &remedy_checkpointing &&
                              row->parameter >= OP_TAG_COUNT;
    const bool has_tag = row->remedy == &remedy_release || row->remedy == &remedy_drop_copy ||
                         row->remedy == &remedy_bound ||
                         (row->remedy == &remedy_checkpointing && !is_all_named);
    const char *name = setup->tags[row->parameter & (OP_TAG_COUNT - 1)];
    return has_tag && name[0] != '\0' ? name : "what the row names";
}

void what_if_advice(const struct setup *setup, const struct what_if_row *row,
                    char words[ADVICE_WORDS_BYTES])
{
    char title[REMEDY_TITLE_BYTES];
    char size[SIZE_TEXT_BYTES];
    words[0] = '\0';
    if (row->remedy == NULL) {
        return;
    }
    snprintf(title, sizeof title, "%s", row->title);
    if (row->remedy == &remedy_capacity) {
        size_print_field(row->parameter, size);
        snprintf(title, sizeof title, "%s-%s", row->remedy->name, size);
    }
    advice_write(row->remedy, setup->system, find_tag_name(setup, row), title, words,
                 ADVICE_WORDS_BYTES);
}
