#include "diagnosis/shortage.h"

#include "harness/base/json.h"
#include "harness/base/size.h"

#include <inttypes.h>

/* "3G of it are of host 0, which is awake since op 2" */
static void append_holder(const struct shortage *found, struct writing *text)
{
    char size[SIZE_TEXT_BYTES];
    size_print(found->holder_bytes, size);
    if (found->holder_bytes == 0) {
        writing_append(text, "no other host has any of it");
        return;
    }
    writing_append_format(text, "%s of it are held by host %u", size, found->holder);
    if (found->is_holder_awake && found->holder_since == OP_NONE) {
        return; /* it grows, and never sleeps */
    }
    writing_append(text, ", which ");
    if (found->is_holder_awake) {
        writing_append_format(text, "is awake since op %" PRIu32, found->holder_since);
    } else if (found->holder_since == OP_NONE) {
        writing_append(text, "sleeps and has not given all of it back");
    } else {
        writing_append_format(text, "sleeps since op %" PRIu32 " and has not given all of it back",
                              found->holder_since);
    }
}

void shortage_append(const struct shortage *shortage, struct writing *text)
{
    char asked[SIZE_TEXT_BYTES], left[SIZE_TEXT_BYTES];
    const bool is_any_left = shortage->left_bytes > 0;
    size_print(shortage->asked_bytes, asked);
    size_print(shortage->left_bytes, left);
    writing_append_format(text,
                          "host %u ran out at op %" PRIu32
                          ": it asked for %s of the shared device, and %s %s left: ",
                          shortage->host, shortage->op, asked, is_any_left ? left : "nothing",
                          is_any_left ? "were" : "was");
    append_holder(shortage, text);
}

void shortages_append(const struct shortages *shortages, struct writing *text)
{
    for (size_t i = 0; i < shortages->count; i++) {
        writing_append(text, "shortage: ");
        shortage_append(&shortages->shortages[i], text);
        writing_append(text, ".\n");
    }
    if (shortages->total > shortages->count) {
        writing_append_format(text, "shortage: %" PRIu64 " more.\n",
                              shortages->total - shortages->count);
    }
}

static void append_json(const struct shortage *found, struct writing *text)
{
    struct writing words;
    writing_init(&words);
    shortage_append(found, &words);
    json_open(text, "shortage");
    json_add_number(text, "host", found->host);
    json_add_number(text, "op", found->op);
    json_add_number(text, "asked_bytes", found->asked_bytes);
    json_add_number(text, "left_bytes", found->left_bytes);
    if (found->holder_bytes > 0) {
        json_add_number(text, "holder", found->holder);
        json_add_number(text, "holder_bytes", found->holder_bytes);
        json_add_string(text, "holder_is", found->is_holder_awake ? "awake" : "asleep");
    }
    json_add_string(text, "words", writing_string(&words));
    json_close(text);
    writing_deinit(&words);
}

void shortages_append_json(const struct shortages *shortages, struct writing *text)
{
    for (size_t i = 0; i < shortages->count; i++) {
        append_json(&shortages->shortages[i], text);
    }
}
