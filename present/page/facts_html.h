/* Facts (present/facts.h) as sections of the page. */
#ifndef PRESENT_PAGE_FACTS_HTML_H
#define PRESENT_PAGE_FACTS_HTML_H

#include "present/facts.h"

/* Appends headings, paragraphs, texts to copy and tables, in their order.  A heading is one of the
 * third level. */
void facts_html(const struct facts *facts, struct writing *html);

#endif
