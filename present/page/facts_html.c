#include "present/page/facts_html.h"

#include "present/page/page.h"

/* The row of the record that begins there. */
static void append_row(const struct facts *facts, size_t open, const struct fact *view,
                       struct writing *html)
{
    struct writing text = {0};
    for (size_t column = 0; column < view->number; column++) {
        const struct fact *member = fact_find(facts, open, view->columns[column].name);
        const bool is_number = view->columns[column].title[0] == '#' ||
                               (member != NULL && member->unit == FACT_COUNT);
        writing_clear(&text);
        if (member != NULL && member->unit == FACT_COUNT && column > 0) {
            writing_append(&text, page_count(member->number).text);
        } else if (member != NULL) {
            fact_append_value(facts, member, &text);
        }
        if (column == 0) {
            page_row_begin(html, writing_string(&text));
        } else {
            page_cell(html, is_number, "%s", writing_string(&text));
        }
    }
    writing_append(html, PAGE_ROW_END);
    writing_deinit(&text);
}

/* Appends the table that begins there, and returns where it ends. */
static size_t append_table(const struct facts *facts, size_t at, const char *caption,
                           struct writing *html)
{
    const struct fact *view = &facts->facts[at];
    struct writing titles = {0};
    for (size_t column = 0; column < view->number; column++) {
        writing_append_format(&titles, "%s%s", column == 0 ? "" : "|", view->columns[column].title);
    }
    page_table_begin(html, caption, writing_string(&titles));
    for (at++; facts->facts[at].kind != FACT_TABLE_END; at++) {
        if (facts->facts[at].kind == FACT_OPEN) {
            append_row(facts, at, view, html);
        }
    }
    writing_append(html, PAGE_TABLE_END);
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
            page_print(html, "<h3>%s</h3>\n", heading);
        } else if (fact->kind == FACT_SAY || fact->kind == FACT_ANSWER) {
            page_print(html, "<p>%s</p>\n", fact_string(facts, fact));
        } else if (fact->kind == FACT_LINE) {
            page_print(html, PAGE_COPY, fact_string(facts, fact));
        }
    }
}
