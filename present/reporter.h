/* One call reports a thing in every form.  A sink is one form (JSON lines, text for people, and the
 * documents of a whole campaign); a reporter asks each for its words, and its owner puts them where
 * they belong. */
#ifndef PRESENT_REPORTER_H
#define PRESENT_REPORTER_H

#include "harness/base/writing.h"
#include "present/report.h"

enum report_kind {
    REPORT_START,
    REPORT_OOM,      /* an out-of-memory that a replay lists */
    REPORT_FINDING,  /* a broken promise */
    REPORT_DISPUTE,  /* an out-of-memory on which our own judges disagree */
    REPORT_FOUND,    /* the first verdict of a finding, before it is shrunk */
    REPORT_SAVED,    /* an unknown one, whose line was printed before its files were saved */
    REPORT_TRIAL,    /* one trial that counts */
    REPORT_END,      /* of one list */
    REPORT_CAMPAIGN, /* a whole campaign, when it ends */
    REPORT_KIND_COUNT
};

enum report_form {
    REPORT_LINES,    /* JSON lines, for programs */
    REPORT_PEOPLE,   /* text for a terminal */
    REPORT_COMMANDS, /* lines that the CI system reads, on standard output, or on standard error
                        where that has JSON lines */
    REPORT_STEP,     /* Markdown for the page of the CI system's step */
    REPORT_DOCUMENT  /* a file of its own, named as the sink is */
};

/* One form.  Each function appends what the form has to say; NULL: nothing. */
struct report_sink {
    const char *name; /* "json", "terminal", "summary.json", "github" */
    enum report_form form;
    void (*start)(struct writing *text, const struct report_start *start);
    void (*finding[REPORT_KIND_COUNT])(struct writing *text, const struct report_finding *finding);
    void (*trial)(struct writing *text, const struct report_trial *trial);
    void (*end)(struct writing *text, const struct report_end *end);
    void (*campaign)(struct writing *text, const struct report_campaign *campaign);
};
/* In the order in which they are asked; ends with NULL. */
extern const struct report_sink *const report_sinks[];

/* put is called for each sink that has something to say; text is its to read until it returns.
 * False: the words could not be put there; the sinks after it are still asked. */
struct reporter {
    bool (*put)(void *context, const struct report_sink *sink, enum report_kind kind,
                const struct writing *text);
    void *context;
    struct writing text;
};
void reporter_init(struct reporter *reporter,
                   bool (*put)(void *context, const struct report_sink *sink, enum report_kind kind,
                               const struct writing *text),
                   void *context);
void reporter_deinit(struct reporter *reporter);

/* Each returns whether every put did. */
bool reporter_start(struct reporter *reporter, const struct report_start *start);
/* kind: one from REPORT_OOM to REPORT_SAVED. */
bool reporter_finding(struct reporter *reporter, enum report_kind kind,
                      const struct report_finding *finding);
bool reporter_trial(struct reporter *reporter, const struct report_trial *trial);
bool reporter_end(struct reporter *reporter, const struct report_end *end);
bool reporter_campaign(struct reporter *reporter, const struct report_campaign *campaign);

#endif
