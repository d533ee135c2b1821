#include "campaign/base/below.h"
#include "campaign/engine/checkpoint.h"
#include "cli/report/campaign_sections.h"
#include "harness/base/size.h"
#include "reports/memory_chart.h"
#include "reports/page/page.h"
#include "reports/page/parts.h"
#include "reports/page/sparkline.h"

#include <errno.h>
#include <inttypes.h>

enum { FILE_BYTES_MAX = 256 << 20, ROW_COUNT_MAX = 500 };

/* What a campaign left to go on with. */
struct memory {
    struct campaign_description description;
    struct checkpoint checkpoint;
};

/* NULL, or why not; "" where there is none.  The caller deinits both in any case. */
static const char *load_memory(const char *directory, struct memory *memory,
                               char reason[CHECKPOINT_REASON_BYTES])
{
    struct writing bytes;
    const char *why = NULL;
    writing_init(&bytes);
    if (!below_read(directory, "campaign", FILE_BYTES_MAX, &bytes, &why)) {
        why = errno == ENOENT ? "" : why;
    } else {
        why = campaign_description_parse(&bytes, &memory->description, reason);
    }
    writing_clear(&bytes);
    if (why == NULL && below_read(directory, "checkpoint", FILE_BYTES_MAX, &bytes, &why)) {
        why = checkpoint_parse(&bytes, &memory->description, &memory->checkpoint, reason);
    }
    writing_deinit(&bytes);
    return why;
}

static void append_share(struct writing *html, const struct memory_point *point)
{
    char used[SIZE_TEXT_BYTES];
    size_print_field(point->used_bytes, used);
    writing_append_format(html, "<td class=\"number\">%s, ", used);
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

static void append_jobs(struct writing *html, const struct memory *memory)
{
    static const struct page_column columns[] = {
        {"job", false},  {"last trial", true},        {"peak", true},
        {"at op", true}, {"bytes in 1000 ops", true}, {"over all trials", false},
    };
    const struct campaign_head *head = &memory->description.head;
    const uint64_t part_count = head->part_count - (head->has_canary != 0);
    size_t row_count = 0;
    for (uint64_t i = 0; i < part_count; i++) {
        const struct memory_track *track = &memory->checkpoint.parts[i].memory;
        if (track->point_count == 0 || row_count == ROW_COUNT_MAX) {
            continue;
        }
        if (row_count++ == 0) {
            page_section_begin(html, "memory", "Memory in use");
            page_table_begin(html, "Each job at the fullest moment of its trials", columns,
                             sizeof columns / sizeof *columns);
        }
        append_job(html, memory->description.parts[i].name, track);
    }
    if (row_count > 0) {
        page_table_end(html);
        page_section_end(html);
    }
}

void campaign_memory(struct writing *html, const struct campaign_lines *lines)
{
    struct memory memory = {0};
    char reason[CHECKPOINT_REASON_BYTES];
    const char *why = load_memory(lines->directory, &memory, reason);
    if (why == NULL) {
        append_jobs(html, &memory);
    } else if (why[0] != '\0') {
        page_section_begin(html, "memory", "Memory in use");
        writing_append(html, "<p class=\"note\">It is left out: ");
        page_append_text(html, why);
        writing_append(html, "</p>\n");
        page_section_end(html);
    }
    checkpoint_deinit(&memory.checkpoint);
    campaign_description_deinit(&memory.description);
}
