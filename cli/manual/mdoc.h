/* Text of --help and of headers as mdoc, the language of manual pages. */
#ifndef CLI_MANUAL_MDOC_H
#define CLI_MANUAL_MDOC_H

#include "harness/base/writing.h"

/* The first lines of each page, up to its NAME.  date: "November 28, 2026". */
struct mdoc_page {
    const char *name;    /* "hbmstress-run" */
    const char *summary; /* one line */
    int section;
    const char *date, *version;
};
void mdoc_begin(struct writing *text, const struct mdoc_page *page);

/* Appends length bytes so that they stand for themselves inside a line; is_code: every dash is one
 * that can be copied to a command line. */
void mdoc_escape(struct writing *text, const char *bytes, size_t length, bool is_code);
/* Appends the same as one argument of a macro, in quotes. */
void mdoc_argument(struct writing *text, const char *bytes, size_t length);
/* A line that is no macro. */
void mdoc_line(struct writing *text, const char *bytes, size_t length);
/* Paragraphs with empty lines between them.  Lines that begin with two blanks are a list, when a
 * name and two more blanks begin the first one, or else a display. */
void mdoc_paragraphs(struct writing *text, const char *words);
/* A display of lines as they are. */
void mdoc_display(struct writing *text, const char *lines);
/* .Sh */
void mdoc_section(struct writing *text, const char *name);

#endif
