/* What explain does with a file: the two runs of its list, its log, its report, another file beside
 * it, what if; and the model of a caching allocator that replays its requests. */
#ifndef EXPLAIN_PRIVATE_FILES_H
#define EXPLAIN_PRIVATE_FILES_H

#include "campaign/process/child.h"
#include "explain/explain.h"
#include "harness/op/op.h"
#include "harness/op/setup.h"
#include "present/facts.h"
#include "recording/recording.h"
#include "recording/step_axis.h"
#include "targets/caching/cache.h"

#define EXPLAIN_ASSUMED_HEADING "Assumed, as the file does not say it"

/* --- the two runs --- */

/* What the child works on. */
struct explain_work {
    const struct recording *recording;
    const struct explain_options *options;
};
/* context: struct explain_work.  Answers with the length of the picture (8 bytes), the exit code,
 * the picture and the text; with nothing when the target refuses. */
void explain_and_answer(void *context, int file);

/* Prints the facts.  Returns code, or EXIT_HARNESS when they cannot be written. */
enum exit_code explain_print(const struct explain_options *options, const struct facts *facts,
                             enum exit_code code);
/* The words of a child that left no answer: what was not done, "the list" that did not end, "" or
 * under which option, "" or what to do. */
struct explain_failure {
    const char *undone, *what, *under, *advice;
};
/* Returns the code after one message. */
enum exit_code explain_fail(const struct explain_failure *failure, const char *path,
                            enum child_end end, const char *death);

/* --- a log: which source failed first, where and how, who only waited, what was no failure --- */

/* In words, and as records log_event and log. */
void explain_log_story(struct facts *facts, const struct log_story *story);
/* The same where the log tells more than its one message does. */
void explain_log(struct facts *facts, const struct log_story *story);
/* Where no list can be made of the log: its story, with what to do next; reason: why there is none,
 * for an out-of-memory of a device. */
void explain_log_alone(struct facts *facts, const struct log_story *story, const char *reason);
/* The name of a source, or what stands for it. */
const char *explain_log_source(const struct log_story *story, uint32_t source);
/* Whether a source prints nothing behind its warning: what came of the request is not known. */
bool explain_log_ends_with_warning(const struct log_story *story);

/* --- a compiler's report: what the program needs, what of it is lost, the largest allocations, and
 * what the numbers say; no run is needed, since nothing ran --- */

/* Whether FILE is told as a report, and not by a replay: it has one, and that is of a compiler or
 * there is no list to replay. */
bool explain_report_is_told(const struct recording *recording);
/* All of it. */
void explain_report(struct facts *facts, const struct recording *recording);
/* After the explanation of a replay: what the runtime's failure adds of the program's plan. */
void explain_report_after(struct facts *facts, const struct recording *recording);

/* What the numbers say, in the cases of OpenXLA's page on E1000: name is a key, text a paragraph
 * that may hold any characters. */
struct report_case {
    const char *name;
    struct writing text;
};
enum { REPORT_CASE_COUNT_MAX = 10 };
struct report_cases {
    struct report_case items[REPORT_CASE_COUNT_MAX];
    size_t count;
};
/* Deinit it. */
void report_cases_find(const struct compile_report *report, struct report_cases *cases);
void report_cases_deinit(struct report_cases *cases);

/* ": its innermost dimension of 2 is padded to 128"; "" where that is not why it is padded. */
struct innermost_text {
    char text[96];
};
struct innermost_text report_innermost(const struct compile_allocation *allocation);
/* Bytes of padding in the temporaries, printed or worked out of the utilization; is_said is false
 * where neither is there. */
struct compile_size report_padding(const struct compile_report *report);
/* The parts of the program that live while it runs: HLO temp; of a GPU, the preallocated ones. */
const struct compile_size *report_temporaries(const struct compile_report *report);
/* What part of them is lost between blocks. */
const struct compile_size *report_fragmentation(const struct compile_report *report);
/* Whether the program would fit without those bytes.  missing is said. */
bool report_would_fit_without(const struct compile_size *missing, const struct compile_size *lost);

/* --- two files: before and after a change, at the peak of each and over time --- */

/* Without steps both lists are cut into so many parts of equal length; a table over time has no
 * more rows. */
enum { COMPARE_PART_COUNT = 16 };
/* What no tag holds. */
enum { COMPARE_DYING = 0, COMPARE_RETIRED, COMPARE_STACK, COMPARE_COUNT };

struct compare_sum {
    uint64_t bytes, blocks;
};

/* What the child answers; a peak for each step or part follows. */
struct compare_answer {
    uint64_t is_whole; /* 1; anything else is no answer */
    uint32_t host, peak_op;
    uint64_t peak_bytes, capacity_bytes, op_count;
    uint64_t oom_count, first_oom_op;
    uint64_t part_count;
    struct compare_sum tags[OP_TAG_COUNT], others[COMPARE_COUNT];
};

/* One of the two runs. */
struct compare_side {
    const char *path;
    struct recording recording;
    struct step_axis steps;
    struct compare_answer answer;
    uint64_t *parts; /* part_count: the most in use in each step or part */
};

/* What changed from sides[0] to sides[1]. */
void compare_describe(struct facts *facts, const struct compare_side sides[2]);
/* options->paths are the files.  EXIT_KEPT when both were compared, whatever failed in them; or
 * another code after one message. */
enum exit_code explain_compare(const struct explain_options *options);

/* --- what if: the table of what would have helped, and each variant as a list that anyone can
 * replay --- */

/* Whether what the options of --what-if name is there, and makes the folder of --what-if-out:
 * EXIT_KEPT, or after one message EXIT_USAGE or EXIT_HARNESS. */
enum exit_code what_if_check(const struct explain_options *options,
                             const struct recording *recording);
/* After the explanation, which ended with code: prints the table (with --json a line for each row)
 * and writes the lists to --what-if-out.  Does nothing unless an option asks for it; what_if_check
 * was KEPT.  Returns code, or after one message EXIT_BROKEN when the target crashes or hangs under
 * a variant, EXIT_HARNESS when a list cannot be written or the user interrupted. */
enum exit_code what_if_explain(const struct explain_options *options,
                               const struct recording *recording, enum exit_code code);

/* --- the requests of a list, made to the model of PyTorch's caching allocator instead of a target:
 * what each of its settings would have done; nothing is judged --- */

struct caching_outcome {
    uint64_t reserved_peak_bytes;  /* the most that its segments took of one device */
    uint64_t unused_bytes;         /* of that, at that moment, in no block: lost to the allocator */
    uint64_t largest_served_bytes; /* of the requests of the list */
    uint64_t oom_count;            /* requests that found no memory */
    uint32_t first_oom_op;         /* OP_NONE: none */
    bool is_skipped;               /* for its caller: it was not run */
};

/* Each host is a device with an allocator of its own, empty at first.  capacity_bytes: of each;
 * UINT64_MAX: it is unlimited.  What has the tag of SETUP_FILLER_NAME is left out.  Holds are
 * ignored, and a queued free ends with its event, or when time passes next.  Deterministic.
 * O(ops log ops). */
void caching_replay(const struct setup *setup, const struct op_list *ops,
                    const struct cache_settings *settings, uint64_t capacity_bytes,
                    struct caching_outcome *outcome);

#endif
