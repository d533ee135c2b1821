#include "page/campaign_saved.h"

#include "campaign/base/file.h"
#include "campaign/engine/campaign_view.h"
#include "present/json_lines.h"

#include <errno.h>
#include <string.h>

enum { FILE_BYTES_MAX = 256 << 20 };

const char *campaign_saved_load(const char *directory, struct campaign_saved *saved,
                                char reason[CHECKPOINT_REASON_BYTES])
{
    struct writing bytes;
    const char *why = NULL;
    *saved = (struct campaign_saved){0};
    writing_init(&bytes);
    if (!below_read(directory, "campaign", FILE_BYTES_MAX, &bytes, &why)) {
        why = errno == ENOENT ? "" : why;
    } else {
        why = campaign_description_parse(&bytes, &saved->description, reason);
    }
    writing_clear(&bytes);
    if (why == NULL && below_read(directory, "checkpoint", FILE_BYTES_MAX, &bytes, &why)) {
        why = checkpoint_parse(&bytes, &saved->description, &saved->checkpoint, reason);
    }
    writing_deinit(&bytes);
    return why;
}

void campaign_saved_deinit(struct campaign_saved *saved)
{
    checkpoint_deinit(&saved->checkpoint);
    campaign_description_deinit(&saved->description);
}

/* A line that json_lines.h printed. */
static void take_line(struct campaign_lines *lines, const char *text, size_t length)
{
    json_error_t error;
    json_t *line = campaign_lines_parse(text, length, &error);
    const char *type = member_text(line, "type");
    if (strcmp(type, "scenario") == 0) {
        (void)json_object_set(lines->parts, member_text(line, "name"), line);
    } else if (strcmp(type, "end") == 0) {
        (void)json_object_clear(lines->totals);
        (void)json_object_update(lines->totals, line);
    }
    json_decref(line);
}

/* The lines that would end the campaign if it ended now. */
static void take_end(struct campaign_lines *lines, const struct campaign_saved *saved)
{
    struct campaign_view view;
    struct writing text;
    writing_init(&text);
    campaign_view_init(&view, &saved->description, lines->directory);
    const struct report_campaign campaign = campaign_view_report(&view, &saved->checkpoint);
    json_line_campaign(&text, &campaign);
    campaign_view_deinit(&view);
    const char *line = writing_string(&text);
    for (const char *end = strchr(line, '\n'); end != NULL; end = strchr(line, '\n')) {
        take_line(lines, line, (size_t)(end - line));
        line = end + 1;
    }
    writing_deinit(&text);
}

void campaign_saved_take(struct campaign_lines *lines)
{
    struct campaign_saved saved;
    char reason[CHECKPOINT_REASON_BYTES];
    if (campaign_saved_load(lines->directory, &saved, reason) == NULL) {
        lines->has_no_canary = saved.description.head.has_canary == 0;
        lines->trials_omitted = saved.checkpoint.state.end.trials_omitted;
        if (lines->trials_omitted > 0) {
            take_end(lines, &saved);
        }
    }
    campaign_saved_deinit(&saved);
}
