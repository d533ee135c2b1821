/* One HTML document that stands alone: it opens from disk, asks no host for anything, and runs no
 * script but its own.  What its scripts and its style are: reports/page/assets/. */
#ifndef PRESENT_PAGE_PAGE_H
#define PRESENT_PAGE_PAGE_H

#include "harness/base/writing.h"

/* All texts may hold any bytes; they appear as text. */

/* Appends the document up to its first section: title is a path, whose last part becomes the
 * title of the window and the first heading.  A Content-Security-Policy allows the style and the
 * scripts below by their hashes, images of the page itself, and nothing else. */
void page_begin(struct writing *html, const char *title);
/* Appends the scripts and the end. */
void page_end(struct writing *html);

/* A section with its heading; id (letters, digits, hyphens) is where links within the page go. */
void page_section_begin(struct writing *html, const char *id, const char *heading);
void page_section_end(struct writing *html);

/* Appends string as text of an element, or of an attribute between double quotes.  Lines stay
 * lines; other control characters, and what is not UTF-8, become \xXX. */
void page_append_text(struct writing *html, const char *string);

/* Appends a JSON document as data for the scripts, under that id; json is valid JSON. */
void page_append_data(struct writing *html, const char *id, const struct writing *json);
/* Appends bytes as a string of JSON, in Base64. */
void page_append_base64(struct writing *json, const void *bytes, size_t length);

/* Whether the build had uPlot: without it the page says that curves are left out. */
bool page_has_curves(void);

#endif
