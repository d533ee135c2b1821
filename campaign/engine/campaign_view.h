/* A campaign as people and programs see it: what reports/ prints of its description and of where it
 * stands. */
#ifndef CAMPAIGN_ENGINE_CAMPAIGN_VIEW_H
#define CAMPAIGN_ENGINE_CAMPAIGN_VIEW_H

#include "campaign/engine/checkpoint.h"
#include "harness/base/writing.h"
#include "present/report.h"
#include "present/watch.h"

/* Owns the arrays that its reports point to; description and directory must outlive it. */
struct campaign_view {
    const struct campaign_description *description;
    const char *directory;
    enum annotation_form annotation; /* the caller's to set */
    size_t part_count;               /* of the jobs: without the canary */
    struct report_start start;       /* the subcommand's name is the caller's to set */
    struct report_part *parts;
    struct report_result *results;
    const char **part_names;
    struct report_probe *probes;
    struct report_known *known;
    size_t known_count;
    struct report_canary canary;
    struct watch watch;
    bool is_watching; /* progress is shown */
    uint64_t looked_ns;
    struct writing text;   /* what is drawn */
    struct writing missed; /* the names of probes */
};
void campaign_view_init(struct campaign_view *view, const struct campaign_description *description,
                        const char *directory);
void campaign_view_deinit(struct campaign_view *view);

/* Progress is shown from now on, on a terminal as a table, in a pipe as a line a minute. */
void campaign_view_watch(struct campaign_view *view);
/* Shows it when that is due; takes it away, so that other text can be printed. */
void campaign_view_show(struct campaign_view *view, const struct checkpoint *at);
void campaign_view_clear(struct campaign_view *view);

/* The campaign as reports print it; what it points to is the view's until the next call. */
struct report_campaign campaign_view_report(struct campaign_view *view,
                                            const struct checkpoint *at);

/* At the end of the campaign, or of a merge: the seed, what is known and what is allowed, and the
 * exit code of what is found. */
void campaign_view_conclude(struct campaign_view *view, struct checkpoint *at);
enum exit_code campaign_view_exit_code(struct campaign_view *view, const struct checkpoint *at);
/* Says so if the time was over before any trial was. */
void campaign_view_say_nothing_shown(const struct campaign_view *view, const struct checkpoint *at);

/* Writes the document of a sink into the directory; when that fails none is left there.  False: a
 * message was given. */
bool campaign_view_put(const struct campaign_view *view, const char *name,
                       const struct writing *text);

/* Removes the documents: they speak of a campaign that is over.  False: a message was given. */
bool campaign_view_forget(const char *directory);

/* The names of probes that are required and were not hit, or NULL; the text is the view's until it
 * is used again. */
const char *campaign_view_missed_probes(struct campaign_view *view, const struct checkpoint *at);

#endif
