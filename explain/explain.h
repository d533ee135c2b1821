/* explain: the first broken promise of a list, or else its first out-of-memory, in words and
 * numbers, and why it came; what a log tells, what a compiler's report says, and two files side by
 * side. */
#ifndef EXPLAIN_EXPLAIN_H
#define EXPLAIN_EXPLAIN_H

#include "harness/base/writing.h"
#include "recording/recording.h"

/* What is to be explained, and how.  Texts belong to the caller; NULL: not given. */
struct explain_options {
    struct recording_options reading;
    const char *paths[2]; /* the file; and one that it is compared with */
    const char *svg, *what_if_out, *checkpoint_tags;
    uint64_t alarm_percent; /* 1..100, of a device; 0: not given */
    bool is_json, has_what_if, has_timeline;
    bool changes_setup; /* the run is on another target or device than that of the file */
};

/* Explains the file, and prints.  The usual codes. */
enum exit_code explain_run(const struct explain_options *options);

/* Appends the words that explain prints of a list, for a page; they are taken in a process of their
 * own.  The file's path is the first of the options.  EXIT_KEPT, also where the target died or
 * hung: then nothing is appended, and why says how; or another code after one message. */
enum { EXPLAIN_WHY_BYTES = 512 };
enum exit_code explain_text(const struct explain_options *options,
                            const struct recording *recording, struct writing *text,
                            char why[EXPLAIN_WHY_BYTES]);

/* Appends what changed from one of these two files to the other, in words. */
enum exit_code explain_compare_text(const struct explain_options *options,
                                    const char *const paths[2], struct writing *text);

#endif
