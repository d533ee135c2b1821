#include "harness/base/size.h"
#include "page/campaign_saved.h"
#include "page/campaign_sections.h"
#include "present/memory_chart.h"
#include "present/page/page.h"
#include "present/page/parts.h"
#include "present/page/sparkline.h"

#include <inttypes.h>

enum { ROW_COUNT_MAX = 500 };

static void append_share(struct writing *html, const struct memory_point *point)
{
    writing_append_format(html, "<td class=\"number\">%s, ", size_text_of(point->used_bytes).text);
    page_append_share(html, point->used_bytes, point->capacity_bytes);
    writing_append(html, "</td>");
}

static void append_job(struct writing *html, const char *name, const struct memory_track *track)
{
    int64_t slope;
    page_row_begin(html, name);
    append_share(html, &track->last);
    append_share(html, &track->peak);
    page_cell_count(html, track->peak.op_count);
    if (memory_trend(track, &slope)) {
        writing_append_format(html, "<td class=\"number\">%+" PRId64 "</td>", slope);
    } else {
        page_cell(html, "");
    }
    writing_append(html, "<td>");
    sparkline_draw(html, track);
    writing_append(html, "</td>");
    page_row_end(html);
}

static void append_jobs(struct writing *html, const struct campaign_saved *saved)
{
    const struct campaign_head *head = &saved->description.head;
    const uint64_t part_count = head->part_count - (head->has_canary != 0);
    size_t row_count = 0;
    for (uint64_t i = 0; i < part_count; i++) {
        const struct memory_track *track = &saved->checkpoint.parts[i].memory;
        if (track->point_count == 0 || row_count == ROW_COUNT_MAX) {
            continue;
        }
        if (row_count++ == 0) {
            page_section_begin(html, "memory", "Memory in use");
            page_table_begin(html, "Each job at the fullest moment of its trials",
                             "job|#last trial|#peak|#at op|#bytes in 1000 ops|over all trials");
        }
        append_job(html, saved->description.parts[i].name, track);
    }
    if (row_count > 0) {
        page_table_end(html);
        page_section_end(html);
    }
}

void campaign_memory(struct writing *html, const struct campaign_lines *lines)
{
    struct campaign_saved saved;
    char reason[CHECKPOINT_REASON_BYTES];
    const char *why = campaign_saved_load(lines->directory, &saved, reason);
    if (why == NULL) {
        append_jobs(html, &saved);
    } else if (why[0] != '\0') {
        page_section_begin(html, "memory", "Memory in use");
        writing_append(html, "<p class=\"note\">It is left out: ");
        page_append_text(html, why);
        writing_append(html, "</p>\n");
        page_section_end(html);
    }
    campaign_saved_deinit(&saved);
}
