/* The manual pages of the program and of its subcommands, from the tables of --help. */
#ifndef CLI_MANUAL_PAGES_H
#define CLI_MANUAL_PAGES_H

#include "cli/manual/mdoc.h"
#include "cli/subcommands.h"

/* hbmstress(1) */
void page_program(struct writing *text, const char *date, const char *version);
/* hbmstress-NAME(1) */
void page_subcommand(struct writing *text, const struct subcommand *subcommand, const char *date,
                     const char *version);
/* hbmstress-job(5): the keys of a job file, which are options of run. */
void page_job(struct writing *text, const char *date, const char *version);
/* hbmstress-ops(5): the text of an op list. */
void page_ops(struct writing *text, const char *date, const char *version);

#endif
