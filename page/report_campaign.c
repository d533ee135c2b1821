#include "page/campaign_page.h"

/* The limits of a page, whoever wrote the folder. */
enum { PAGE_BYTES_MAX = 3000000, NOTE_BYTES = 4096 };

/* The parts of the page around the findings. */
enum part_kind { PART_HEAD, PART_AGAINST, PART_OOMS, PART_MEMORY, PART_TABLES, PART_COUNT };
static const char *const part_names[PART_COUNT] = {
    "The verdict", "The comparison", "Why memory ran out", "Memory in use", "What was run"};

/* Returns how many bytes of the page are left for its sections. */
static size_t measure_room(const struct writing *html)
{
    struct writing end = {0};
    page_end(&end);
    const size_t length = html->length + end.length + NOTE_BYTES;
    writing_deinit(&end);
    return length < PAGE_BYTES_MAX ? PAGE_BYTES_MAX - length : 0;
}

/* Appends the part and takes it from the room, or says that it is left out. */
static void append_part(struct writing *html, const struct writing *part, const char *name,
                        size_t *room)
{
    if (part->length <= *room) {
        writing_append_bytes(html, part->bytes, part->length);
        *room -= part->length;
        return;
    }
    page_note(html, "%s: left out, the page has no room for it.", name);
}

/* Findings have what the other parts leave, and half of the page at least. */
static void append_parts(struct writing *html, const struct campaign_lines *lines,
                         const struct page_options *options, struct writing parts[PART_COUNT])
{
    struct writing findings = {0};
    size_t length = 0, room = measure_room(html);
    for (unsigned i = 0; i < PART_COUNT; i++) {
        length += parts[i].length;
    }
    campaign_findings(&findings, lines, options, length < room / 2 ? room - length : room / 2);
    room -= findings.length < room ? findings.length : room;
    for (unsigned i = 0; i < PART_COUNT; i++) {
        append_part(html, &parts[i], part_names[i], &room);
        if (i == PART_AGAINST) {
            writing_append_bytes(html, findings.bytes, findings.length);
        }
    }
    writing_deinit(&findings);
}

static void append_sections(struct writing *html, const struct campaign_lines *lines,
                            const struct campaign_lines *before, const struct page_options *options)
{
    struct writing parts[PART_COUNT] = {0};
    campaign_head(&parts[PART_HEAD], lines);
    if (before != NULL) {
        campaign_against(&parts[PART_AGAINST], lines, before);
    }
    campaign_ooms(&parts[PART_OOMS], lines);
    campaign_memory(&parts[PART_MEMORY], lines);
    campaign_tables(&parts[PART_TABLES], lines);
    append_parts(html, lines, options, parts);
    for (unsigned i = 0; i < PART_COUNT; i++) {
        writing_deinit(&parts[i]);
    }
}

static enum exit_code read_lines(const char *directory, struct campaign_lines *lines)
{
    const enum exit_code code = campaign_lines_read(directory, lines);
    if (code == EXIT_KEPT && lines->end == NULL) {
        campaign_saved_take(lines);
    }
    return code;
}

enum exit_code report_campaign(const struct page_options *options, struct writing *html)
{
    const char *against = options->against;
    struct campaign_lines lines, before = {0};
    enum exit_code code = read_lines(options->path, &lines);
    if (code == EXIT_KEPT && against != NULL) {
        code = read_lines(against, &before);
    }
    if (code == EXIT_KEPT) {
        page_begin(html, options->path);
        append_sections(html, &lines, against == NULL ? NULL : &before, options);
        page_end(html);
    }
    campaign_lines_deinit(&before);
    campaign_lines_deinit(&lines);
    return code;
}
