/* The manual pages of the program and of its subcommands, from the tables of --help. */
#ifndef CLI_MANUAL_PAGES_H
#define CLI_MANUAL_PAGES_H

#include "cli/subcommands.h"
#include "harness/base/writing.h"

/* Text of --help and of headers as mdoc, the language of manual pages. */

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

/* hbmstress(1) */
void page_program(struct writing *text, const char *date, const char *version);
/* hbmstress-NAME(1) */
void page_subcommand(struct writing *text, const struct subcommand *subcommand, const char *date,
                     const char *version);
/* hbmstress-job(5): the keys of a job file, which are options of run. */
void page_job(struct writing *text, const char *date, const char *version);
/* hbmstress-ops(5): the text of an op list. */
void page_ops(struct writing *text, const char *date, const char *version);

/* Completions of the shells, from the tables of --help. */

void completion_bash(struct writing *text);
void completion_zsh(struct writing *text);
void completion_fish(struct writing *text);

/* Manual pages of C headers: their comments and declarations, in their order. */

/* Appends, of the header's text, the comment that opens it. */
void header_description(struct writing *text, const char *header);
/* Appends a list of what it declares, each with its comment and members. */
void header_declarations(struct writing *text, const char *header);

#endif
