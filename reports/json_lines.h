/* The report as JSON lines: one object a line, each with a "type".  The bytes are a function of
 * what is reported alone; only "seconds" of the last line depends on the clock. */
#ifndef REPORTS_JSON_LINES_H
#define REPORTS_JSON_LINES_H

#include "reports/report.h"
#include "reports/writing.h"

/* Parts of a line.  A comma is put where one is needed; keys are plain ASCII. */
void line_open(struct writing *text, const char *type); /* {"type":"start" */
void line_string(struct writing *text, const char *key, const char *value);
void line_number(struct writing *text, const char *key, uint64_t value);
void line_named_number(struct writing *text, const char *key,
                       uint64_t value); /* the key is any text */
void line_boolean(struct writing *text, const char *key, bool value);
void line_seconds(struct writing *text, const char *key, uint64_t duration_ns);
void line_nest(struct writing *text, const char *key,
               char bracket);                         /* '{' or '['; key NULL inside a list */
void line_unnest(struct writing *text, char bracket); /* '}' or ']' */
/* Goes on in a new line; a member must follow.  For documents that people read, too. */
void line_break(struct writing *text);
void line_close(struct writing *text); /* } and the line end */

/* Whole lines. */
void json_start(struct writing *text, const struct report_start *start);
/* An OOM that was judged. */
void json_verdict(struct writing *text, const struct report_finding *finding);
/* The paths of what was kept of a finding: the last members of its line. */
void json_paths(struct writing *text, const char *repro, const char *certificate);
/* An OOM on which our own judges disagree. */
void json_dispute(struct writing *text, const struct report_finding *finding);
/* A finding: a `verdict` line for a premature OOM, else a `broken` line. */
void json_finding(struct writing *text, const struct report_finding *finding);
/* One trial, after the lines of its verdicts. */
void json_trial(struct writing *text, const struct report_trial *trial);
void json_canary(struct writing *text, const struct report_canary *canary);
void json_result(struct writing *text, const struct report_result *result);
void json_end(struct writing *text, const struct report_end *end);
/* The lines of the jobs, of the canary, and of the end. */
void json_campaign(struct writing *text, const struct report_campaign *campaign);
/* A file that was checked; result is "valid", "refuted" or "unreadable". */
void json_certificate(struct writing *text, const char *file, const char *result,
                      const char *reason);
/* One thing of `list`. */
struct report_entry {
    const char *kind, *name, *summary;
    const char *breaks;      /* a planted target's rule; NULL = none */
    const char *options;     /* a target's, one line each; NULL = none */
    uint64_t capacity_bytes; /* a chip's; 0 = no chip */
};
void json_entry(struct writing *text, const struct report_entry *entry);

#endif
