#include "present/page/facts_html.h"

#include "present/page/page.h"
#include "present/page/parts.h"

static void append_element(struct writing *html, const char *name, const char *text)
{
    writing_append_format(html, "<%s>", name);
    page_append_text(html, text);
    writing_append_format(html, "</%s>\n", name);
}

static void append_cell(const struct facts *facts, const struct fact *member, const char *title,
                        struct writing *html)
{
    struct writing text = {0};
    if (member != NULL && member->unit == FACT_COUNT) {
        page_cell_count(html, member->number);
        return;
    }
    if (member != NULL) {
        fact_append_value(facts, member, &text);
    }
    if (title[0] == '#') {
        writing_append(html, "<td class=\"number\">");
        page_append_text(html, writing_string(&text));
        writing_append(html, "</td>");
    } else {
        page_cell(html, writing_string(&text));
    }
    writing_deinit(&text);
}

static void append_row(const struct facts *facts, size_t open, const struct fact *view,
                       struct writing *html)
{
    const struct fact *name = fact_find(facts, open, view->columns[0].name);
    struct writing text = {0};
    if (name != NULL) {
        fact_append_value(facts, name, &text);
    }
    page_row_begin(html, writing_string(&text));
    for (size_t column = 1; column < view->number; column++) {
        append_cell(facts, fact_find(facts, open, view->columns[column].name),
                    view->columns[column].title, html);
    }
    page_row_end(html);
    writing_deinit(&text);
}

/* Appends the table that begins there, and returns where it ends. */
static size_t append_table(const struct facts *facts, size_t at, const char *caption,
                           struct writing *html)
{
    const struct fact *view = &facts->facts[at];
    struct writing titles = {0};
    for (size_t column = 0; column < view->number; column++) {
        writing_append(&titles, column == 0 ? "" : "|");
        writing_append(&titles, view->columns[column].title);
    }
    page_table_begin(html, caption, writing_string(&titles));
    for (at++; facts->facts[at].kind != FACT_TABLE_END; at++) {
        if (facts->facts[at].kind == FACT_OPEN) {
            append_row(facts, at, view, html);
        }
    }
    page_table_end(html);
    writing_deinit(&titles);
    return at;
}

void facts_html(const struct facts *facts, struct writing *html)
{
    const char *heading = "";
    for (size_t i = 0; i < facts->count; i++) {
        const struct fact *fact = &facts->facts[i];
        if (fact->kind == FACT_TABLE) {
            i = append_table(facts, i, heading, html);
        } else if (fact->kind == FACT_HEADING) {
            heading = fact_string(facts, fact);
            append_element(html, "h3", heading);
        } else if (fact->kind == FACT_SAY || fact->kind == FACT_ANSWER) {
            append_element(html, "p", fact_string(facts, fact));
        } else if (fact->kind == FACT_LINE) {
            page_append_copy(html, fact_string(facts, fact));
        }
    }
}
