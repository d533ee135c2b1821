/* Reads the folder of a campaign for a page: results.jsonl line by line, and summary.json if the
 * campaign ended.  The folder may come from a stranger: no link below it is followed, and the
 * amount that is kept is bounded. */
#ifndef PAGE_CAMPAIGN_LINES_H
#define PAGE_CAMPAIGN_LINES_H

#include "campaign/base/message.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

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
    json_t *causes; /* by cause and kind: cause, kind, count, text, scenario, trial, op, verdict */
    json_t *proofs; /* the first lines of justified out-of-memories that have a certificate */
    json_t *sweeps; /* lines `sweep`, of a sweep */
    uint64_t line_count, trial_count;
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
const char *member_text(const json_t *object, const char *name);
bool member_is_true(const json_t *object, const char *name);

/* "FOLDER/FILE" below the directory for a path that a line names, whatever stands before these two;
 * NULL: it is no file of a campaign. */
const char *campaign_lines_file(const char *path);

#endif
