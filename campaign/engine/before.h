/* The lists that run before a repro: files beside it, OUT/repros/BASE.before-1.ops and so on, and
 * the line that replays all of them. */
#ifndef CAMPAIGN_ENGINE_BEFORE_H
#define CAMPAIGN_ENGINE_BEFORE_H

#include "campaign/base/file.h"
#include "campaign/trials/earlier.h"
#include "harness/base/writing.h"
#include "present/report.h"

/* The path of the one with that number, from 1. */
void before_path(const char *directory, const char *base, uint64_t number,
                 char path[FILE_PATH_BYTES]);

/* "hbmstress replay REPRO --after FILE ...", as a shell takes it. */
void before_append_replay(struct writing *text, const char *directory, const char *base,
                          uint64_t count);

/* Returns the repeats as reports show them; before_free_report() frees them. */
struct report_repeats before_report(const char *directory, const char *base, uint64_t count,
                                    bool is_unrepeated);
void before_free_report(const struct report_repeats *repeats);

/* Writes all of them.  False: a message was given. */
bool before_write(const char *directory, const char *base, const struct earlier *earlier);
/* Removes count of them. */
void before_forget(const char *directory, const char *base, uint64_t count);

#endif
