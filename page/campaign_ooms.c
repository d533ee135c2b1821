#include "campaign/base/file.h"
#include "page/campaign_sections.h"
#include "page/proof_words.h"
#include "present/page/page.h"
#include "present/page/parts.h"

#include <inttypes.h>
#include <stdio.h>

enum { CERTIFICATE_BYTES_MAX = 16 << 20, WORDS_BYTES_MAX = 1000 };
/* Above those of findings, which have two each. */
enum { FIRST_PICTURE = 1000 };

static void append_place(struct writing *html, const json_t *line)
{
    writing_append_format(html, "op %" PRIu64 " of trial %" PRIu64 " of ",
                          member_number(line, "op"), member_number(line, "trial"));
    page_append_cut(html, member_text(line, "scenario"), WORDS_BYTES_MAX);
}

static void append_causes(struct writing *html, const struct campaign_lines *lines)
{
    const char *name;
    const json_t *cause;
    page_table_begin(html, "Causes, as the diagnosis sees them in the lists that were saved",
                     "cause|#lists|#justified|#premature|#unknown|an example|seen at");
    json_object_foreach(lines->causes, name, cause)
    {
        page_row_begin(html, name);
        page_cell_count(html, member_number(cause, "count"));
        page_cell_count(html, member_number(cause, "justified"));
        page_cell_count(html, member_number(cause, "premature"));
        page_cell_count(html, member_number(cause, "unknown"));
        writing_append(html, "<td>");
        page_append_cut(html, member_text(cause, "text"), WORDS_BYTES_MAX);
        writing_append(html, "</td><td>");
        append_place(html, cause);
        writing_append(html, "</td>");
        page_row_end(html);
    }
    page_table_end(html);
}

static void append_proof(struct writing *html, const struct campaign_lines *lines,
                         const json_t *line, unsigned number)
{
    struct writing text;
    json_error_t error;
    const char *why;
    const char *name = campaign_lines_file(member_text(line, "certificate"));
    writing_init(&text);
    if (name != NULL && below_read(lines->directory, name, CERTIFICATE_BYTES_MAX, &text, &why)) {
        json_t *certificate = json_loadb(writing_string(&text), text.length, 0, &error);
        writing_append(html, "<details><summary>A proof: ");
        append_place(html, line);
        writing_append(html, ", ");
        page_append_cut(html, member_text(line, "verdict"), WORDS_BYTES_MAX);
        writing_append(html, "</summary>\n<p>");
        page_append_cut(html, member_text(line, "message"), WORDS_BYTES_MAX);
        writing_append(html, "</p>\n");
        proof_words(html, certificate, number);
        writing_append(html, "</details>\n");
        json_decref(certificate);
    }
    writing_deinit(&text);
}

void campaign_ooms(struct writing *html, const struct campaign_lines *lines)
{
    const json_t *line;
    size_t i;
    if (json_object_size(lines->causes) + json_array_size(lines->proofs) == 0) {
        return;
    }
    page_section_begin(html, "causes", "Why memory ran out");
    if (json_object_size(lines->causes) > 0) {
        append_causes(html, lines);
    }
    json_array_foreach(lines->proofs, i, line)
    {
        append_proof(html, lines, line, (unsigned)(FIRST_PICTURE + 2 * i));
    }
    page_section_end(html);
}
