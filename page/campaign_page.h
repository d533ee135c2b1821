/* The page of a campaign: what its folder says, read into JSON, and the sections made of it.
 *
 * results.jsonl is read line by line, and summary.json if the campaign ended.  The folder may come
 * from a stranger: no link below it is followed, and the amount that is kept is bounded. */
#ifndef PAGE_CAMPAIGN_PAGE_H
#define PAGE_CAMPAIGN_PAGE_H

#include "campaign/engine/checkpoint.h"
#include "page/report_page.h"
#include "present/page/page.h"

#include <jansson.h>

struct campaign_lines {
    const char *directory;
    json_t *start, *end, *canary; /* those lines; NULL: there is none */
    json_t *summary;              /* NULL: the campaign did not end, or the file is not there */
    /* By name, in the order of the start line: the line `scenario`; of a campaign that has none
     * yet, the sums of its trials under the same names. */
    json_t *parts;
    json_t *totals; /* as the line `end`; of a campaign without, sums of its trials,
                     * or as it was saved last */
    /* Objects, the gravest first: signature, rule, job, trial, seed, op, count, reason, message,
     * repro, certificate, after, known, unrepeated, hang: what is known of them. */
    json_t *findings;
    json_t *found;  /* the same by signature, as the lines have them */
    json_t *causes; /* by cause and kind: cause, kind, count, text, scenario, trial, op, verdict */
    json_t *proofs; /* the first lines of justified out-of-memories that have a certificate */
    json_t *sweeps; /* lines `sweep`, of a sweep */
    uint64_t line_count;
    bool is_cut;     /* the last line is not whole: it is still written, or its writer was killed */
    bool is_running; /* a process writes there now */
    /* For a campaign without an end, as it was saved last. */
    bool has_no_canary;
    uint64_t trials_omitted; /* trials without a line; totals and parts are as saved, where > 0 */
};

/* EXIT_KEPT; or EXIT_USAGE after one message: what is wrong, with file and line.  deinit in both
 * cases.  directory must outlive it. */
enum exit_code campaign_lines_read(const char *directory, struct campaign_lines *lines);
void campaign_lines_deinit(struct campaign_lines *lines);

/* Parses one of its documents; NULL: *error says why.  Sizes have 64 bits, and jansson's integers
 * 63: a document with a larger one has doubles in their place. */
json_t *campaign_lines_parse(const char *text, size_t length, json_error_t *error);

/* Members of such an object: 0, "" and false where there is none, or it is of another type. */
uint64_t member_number(const json_t *object, const char *name);
double member_real(const json_t *object, const char *name);
struct page_text member_count(const json_t *object, const char *name); /* "1,234" */
const char *member_text(const json_t *object, const char *name);
bool member_is_true(const json_t *object, const char *name);
/* Adds to such a number, which is at most 2^63 - 1 after that. */
void member_add(json_t *object, const char *name, uint64_t more);

/* "FOLDER/FILE" below the directory for a path that a line names, whatever stands before these two;
 * NULL: it is no file of a campaign. */
const char *campaign_lines_file(const char *path);

/* The state that a campaign saved in its folder to go on with.  Each field of the files is checked
 * (checkpoint.h). */
struct campaign_saved {
    struct campaign_description description;
    struct checkpoint checkpoint;
};
/* NULL, or why not, perhaps in reason; "" where there is none.  deinit in any case. */
const char *campaign_saved_load(const char *directory, struct campaign_saved *saved,
                                char reason[CHECKPOINT_REASON_BYTES]);
void campaign_saved_deinit(struct campaign_saved *saved);
/* For a campaign without an end: takes whether it has a canary.  If --results-limit kept trials out
 * of its lines, also takes totals and parts as they were saved last. */
void campaign_saved_take(struct campaign_lines *lines);

/* Sums a member over all parts, or of their ops by kind. */
uint64_t campaign_sum(const struct campaign_lines *lines, const char *member);
/* Findings that the baseline does not know. */
size_t campaign_new_findings(const struct campaign_lines *lines);

/* --- the sections, in the order of the page --- */

/* The verdict in one line, and the facts. */
void campaign_head(struct writing *html, const struct campaign_lines *lines);

/* Appends both campaigns next to each other. */
void campaign_against(struct writing *html, const struct campaign_lines *now,
                      const struct campaign_lines *before);

/* A card for each finding, as many as fit into length_max bytes of html.  A plug-in is
 * loaded only where they name it. */
void campaign_findings(struct writing *html, const struct campaign_lines *lines,
                       const struct page_options *options, size_t length_max);

/* Appends why out-of-memories were justified. */
void campaign_ooms(struct writing *html, const struct campaign_lines *lines);

/* Memory in use over all trials of each job, where the campaign left its checkpoint and this build
 * wrote it. */
void campaign_memory(struct writing *html, const struct campaign_lines *lines);

/* What was run: tables of the jobs, and of all rules. */
void campaign_tables(struct writing *html, const struct campaign_lines *lines);

/* Appends the certificate of an out-of-memory in words, with a picture of what lay where.  number
 * tells the pictures of a page apart; two are used, that and the next.  certificate may be any JSON
 * of a stranger's: what is wrong in it is said in place of the rest. */
void proof_words(struct writing *html, const json_t *certificate, unsigned number);

#endif
