/* The state of a reader of a log at a line: shared by the steps of log_story_read. */
#ifndef FORMATS_LOG_PRIVATE_LOG_READING_H
#define FORMATS_LOG_PRIVATE_LOG_READING_H

#include "formats/log/log_line.h"
#include "formats/log/log_story.h"
#include "harness/base/writing.h"

#include <stdbool.h>
#include <stddef.h>

/* --- the text: line by line, out of whatever wraps it; entries of a structured log are put in the
 * order of their times, and each line knows its line in the file --- */

/* A part of a log: an entry of a structured one, or else a whole file. */
struct log_entry {
    const char *bytes;
    size_t length;
    size_t line;        /* of its first, or of the entry in its file; from 1 */
    bool counts_lines;  /* its lines are the file's; otherwise all of them stand in `line` */
    const char *source; /* who wrote it, such as "pod train-0"; "" = not said */
    uint32_t rank;      /* of that source, or LOG_RANK_NONE */
    uint32_t file;      /* index of the part of the log that it is of */
    struct log_time time;
};

struct log_text {
    struct log_entry *entries; /* entry_count of them, in the order in which they are read */
    size_t entry_count;
    bool is_structured;    /* some part is */
    size_t left_out_count; /* what is no entry, or one that came twice */
    /* what it owns */
    struct writing *unwrapped; /* of each part */
    size_t part_count;
    char **sources;
    size_t source_count, entry_room;
};

/* Unwraps the parts, which must outlive it. Linear but for sorting the entries of each. */
void log_text_init(struct log_text *text, const struct log_part *parts, size_t count);
void log_text_deinit(struct log_text *text);

/* Goes through the lines.  A carriage return ends a line as a line feed does, since progress bars
 * are parted by it, and so does the label of a rank in the middle of one. */
struct log_walk {
    const struct log_text *text;
    size_t entry;                /* that is read */
    size_t at;                   /* in its bytes */
    size_t line;                 /* of its file */
    size_t feed_at, carriage_at; /* the next of each from `at` on, or its length */
    struct writing clean;
};
struct log_fragment {
    const char *at; /* without colours; valid until the next one */
    size_t length;
    size_t line; /* of the file, from 1 */
    const struct log_entry *entry;
};
void log_walk_init(struct log_walk *walk, const struct log_text *text);
void log_walk_deinit(struct log_walk *walk);
/* False at the end. */
bool log_walk_next(struct log_walk *walk, struct log_fragment *fragment);

/* --- words --- */

/* The facts that one line tells. */
struct log_words {
    enum log_event_kind kind; /* LOG_EVENT_NONE: nothing that counts */
    enum log_form form;
    size_t at; /* where in the line the words begin that tell it from others */
    bool may_have_step, may_have_world_size, may_be_blame;
    bool has_gone_on;               /* it tries again with less, or has come to its end */
    bool is_blame;                  /* see struct log_event */
    uint64_t low_bytes, high_bytes; /* what was asked for, as printed; 0 to 0 = not said */
};
/* Reads the words of a line without its prefix.  O(length). */
void log_words_read(const char *text, size_t length, struct log_words *words);

/* Returns what a process that ended so has met: 137 and 143 are signals from outside;
 * LOG_EVENT_NONE: the code alone does not say. */
enum log_event_kind log_kind_of_exit(uint64_t code);

/* The step that a line reports, such as "completed step: 7", "step 7", "7/100 [00:12<..., 2s/it]".
 * False: none.  */
bool log_step_read(const char *text, size_t length, uint64_t *step);

/* The step that the job is headed for, as "step 24031/80000", "7/100 [00:12<...", "max_steps:
 * 80000" and the like say.  False: the line does not.  */
bool log_step_total_read(const char *text, size_t length, uint64_t *total);

/* A number behind the words, which blanks, ':', '=' and '(' may part; false: there is none. */
bool log_number_behind(const char *text, size_t length, const char *words, uint64_t *number);

bool log_has_words(const char *text, size_t length, const char *words);

/* --- the reading --- */

/* The state of each source, while it is read. */
struct log_source_state {
    bool is_in_traceback, is_in_barrier;
    bool is_in_report;  /* of torchrun, on its children: all that failed */
    bool is_in_blame;   /* the first of them */
    bool is_kept_blame; /* which is the story's */
    size_t blame_line;  /* where it begins, in its file */
    char where[LOG_WHERE_BYTES];
    bool has_ended;     /* it said that it has come to its end, and no step follows */
    size_t went_on;     /* behind the last line that says so: its order + 1; 0 = none does */
    int open_event;     /* whose sentence goes on in the next line; LOG_EVENT_UNKNOWN = none */
    int retry_event;    /* of its last warnings; LOG_EVENT_UNKNOWN = none */
    uint64_t retry_run; /* warnings in a row of one request */
    uint64_t retry_low_bytes, retry_high_bytes;
};

struct log_reading {
    struct log_story *story;
    struct log_source_state *states; /* one for each source of the story */
    size_t state_room;
    uint32_t slots[2 * LOG_SOURCE_COUNT_MAX];        /* by hash of a name: index + 1, or 0 */
    uint64_t has_timed_out[LOG_RANK_COUNT_MAX / 64]; /* ranks */
    uint32_t rank_count;                             /* above the highest that timed out */
    bool has_step;
    uint64_t last_step; /* of any source */
    size_t order;       /* of the line, as it is read */
};

/* One line, whose source is known. */
struct log_here {
    struct log_line line;
    uint32_t file;
    size_t file_line;
    uint32_t source;
    const char *words; /* the line without its prefix */
    size_t length;
};

/* The name of a line's source: its entry's, and what its own prefix says. */
void log_name_source(const struct log_fragment *fragment, const struct log_line *line,
                     char name[LOG_SOURCE_BYTES]);
/* True if the first lines have srun's labels. */
bool log_has_task_labels(const struct log_text *text);

/* Takes the event of a line, if it has one; called for each line (log_events.c). */
void log_take_line(struct log_reading *reading, const struct log_here *here);
/* log_blame.c: true when the line is within a report of torchrun, and is no event of itself.  The
 * exit code of whom it blames becomes one in *words. */
bool log_take_blame(struct log_reading *reading, const struct log_here *here,
                    struct log_words *words);

/* Chooses the first failure at the end (log_choose.c). */
void log_choose(struct log_reading *reading);

/* Forms of messages that one importer reads together. */
bool log_forms_are_one(enum log_form a, enum log_form b);

/* --- pods of Kubernetes --- */

enum { LOG_POD_NAME_BYTES = 96, LOG_POD_COUNT_MAX = 4096 };

/* The end of a container, or of a pod, in a sentence that log_words_read() knows: "container
 * trainer ended with exit code 137, reason OOMKilled, restarts 2". */
struct log_pod_end {
    char pod[LOG_POD_NAME_BYTES]; /* printable */
    uint32_t rank;                /* its completion index, or LOG_RANK_NONE */
    size_t line;                  /* of the file, from 1: where the pod's name stands */
    struct log_time time;         /* when it ended */
    size_t begin, length;         /* of the sentence in texts */
};
struct log_pod_ends {
    struct log_pod_end *ends; /* count of them */
    size_t count, room;
    struct writing texts;
};

/* Looks at the beginning alone. */
bool log_is_pods(const char *bytes, size_t length);
/* Reads what log_is_pods takes for one; ends must be zero, and is to be deinited.  What ended well
 * is left out.  Linear. */
void log_pods_read(const char *bytes, size_t length, struct log_pod_ends *ends);
void log_pod_ends_deinit(struct log_pod_ends *ends);

/* YAML as kubectl prints it (blocks of maps, lists and plain, quoted or literal scalars, at most 64
 * deep) as JSON, every scalar a string; what is not of that form is passed over.  The caller owns
 * the result, of type json_t; never NULL.  Linear. */
struct json_t;
struct json_t *log_yaml_read(const char *bytes, size_t length);
/* The string of that key; NULL: there is none. */
const char *log_json_string(const struct json_t *object, const char *key);

#endif
