/* The story of a whole log: which of its sources failed first, at which step and how, who only
 * waited, what was no failure at all. */
#ifndef FORMATS_LOG_LOG_STORY_H
#define FORMATS_LOG_LOG_STORY_H

#include "formats/log/log_line.h"
#include "harness/base/writing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LOG_SOURCE_COUNT_MAX = 1024,    /* more count as the last one */
    LOG_EVENT_COUNT_MAX = 1024,     /* more are counted and not kept */
    LOG_EVENT_COUNT_RESERVED = 256, /* of these for what ran out of memory */
    LOG_PRINTER_COUNT_MAX = 16,
    LOG_RANK_COUNT_MAX = 4096,
    LOG_MISSING_COUNT_MAX = 16,
    LOG_TEXT_BYTES = 320,
    LOG_WHERE_BYTES = 200,
    LOG_EVENT_UNKNOWN = -1
};

enum log_event_kind {
    LOG_EVENT_NONE = 0,
    LOG_EVENT_OOM,        /* the device's memory: a request was refused */
    LOG_EVENT_RETRY,      /* a warning after which the allocator went on */
    LOG_EVENT_PLAN,       /* a budget that does not suffice; nothing was allocated */
    LOG_EVENT_SCRATCHPAD, /* a program does not fit into the memory on the chip; not the HBM */
    LOG_EVENT_HOST_OOM,   /* the kernel, container or scheduler: the host's memory */
    LOG_EVENT_KILLED,     /* ended from outside; who did it is not said */
    LOG_EVENT_CRASH,      /* ended by itself: a signal */
    LOG_EVENT_EXCEPTION,  /* a traceback's last line, or what the like prints */
    LOG_EVENT_TIMEOUT,    /* waited for others in vain */
    LOG_EVENT_PEER        /* was told that another one is gone */
};

/* The words that an out-of-memory has. */
enum log_form {
    LOG_FORM_NONE = 0,
    LOG_FORM_TPU_RUNTIME,
    LOG_FORM_COMPILE, /* a program is too large, found when it was compiled */
    LOG_FORM_TORCH,
    LOG_FORM_BFC,
    LOG_FORM_XLA_GPU,
    LOG_FORM_RMM,
    LOG_FORM_ONNX,
    LOG_FORM_TOKENS, /* a cache that counts tokens */
    LOG_FORM_NO_SIZE
};

/* When a source fell silent: its last line against the first failure, which is another's. */
enum log_silence {
    LOG_SILENCE_ALONE = 0, /* nobody failed */
    LOG_SILENCE_BEFORE,    /* by more steps than it leaves out between two lines */
    LOG_SILENCE_SAME_STEP, /* the log does not say which was first */
    LOG_SILENCE_AFTER      /* later by as many */
};

/* A thing that happened, once: however often it is printed. */
struct log_event {
    enum log_event_kind kind;
    enum log_form form;
    uint32_t source;          /* the first that printed it */
    uint64_t count;           /* how often it was printed, folded lines included */
    uint32_t file, last_file; /* index of the part of the log that the first and last are in */
    size_t line;              /* of that file, from 1: the first */
    size_t last_line;         /* of the last one's file */
    struct log_time time;     /* of the first */
    bool has_step;
    uint64_t step;   /* the last one that its source, or else the log, printed before */
    bool is_in_step; /* that step had begun and was not over */
    uint64_t low_bytes, high_bytes; /* what was asked for; 0 = not said */
    uint64_t victim_pid;            /* whom the kernel killed; 0 = not said */
    bool has_victim;                /* a launcher names the rank that was killed */
    uint32_t victim_rank;
    enum log_silence victim_silence; /* of that rank, where its lines are there */
    uint64_t waited_ms;              /* of a time-out that says it */
    bool is_blame;     /* what a launcher says of another process's end: no failure of its own
                          where the log has one */
    bool has_survived; /* its source went on: later steps, a retry with less, or its end */
    uint32_t printers[LOG_PRINTER_COUNT_MAX]; /* printer_count sources */
    uint32_t printer_count;
    char text[LOG_TEXT_BYTES];   /* the line's own words, printable */
    char where[LOG_WHERE_BYTES]; /* "train.py:88 in step", the user's last line of the traceback;
                                    "" = none */
    uint64_t words_hash;
    uint64_t steps_before;    /* of its source */
    size_t order, last_order; /* its first and last line, counted as they were read */
};

/* Who printed lines. */
struct log_source {
    char name[LOG_SOURCE_BYTES]; /* "" = the lines without a label */
    uint32_t rank;               /* or LOG_RANK_NONE */
    uint64_t pid;                /* 0 = not said */
    size_t line_count;
    uint32_t file;
    size_t last_line;  /* of that file */
    size_t last_order; /* of that line, counted as they were read */
    struct log_time last_time;
    bool has_step;
    uint64_t first_step, last_step, step_count;
    bool is_in_step; /* the last one began and is not over */
    size_t last_step_line;
};

enum log_verdict {
    LOG_VERDICT_NOTHING = 0, /* no line says anything of the kind */
    LOG_VERDICT_OOM,         /* the device's memory; `first` is it */
    LOG_VERDICT_HOST,        /* the host's memory */
    LOG_VERDICT_FAILED,      /* a failure that is no out-of-memory */
    LOG_VERDICT_KILLED,
    LOG_VERDICT_PLAN,
    LOG_VERDICT_WAITED,   /* nothing but time-outs and peers that are gone */
    LOG_VERDICT_RECOVERED /* nothing but warnings */
};

/* torchrun's "Root Cause (first observed failure)": whom it saw end first.  Of several reports the
 * one whose failure is the earliest. */
struct log_blame {
    bool is_said;
    uint64_t time; /* its digits, so that times compare; 0 = not said */
    uint32_t rank; /* or LOG_RANK_NONE */
    uint32_t file;
    size_t line; /* of "Root Cause" */
    char host[LOG_WHERE_BYTES];
    bool has_exit_code;
    int64_t exit_code; /* negative: a signal */
};

struct log_story {
    enum log_verdict verdict;
    int first;                /* index of the event that is explained, or LOG_EVENT_UNKNOWN */
    struct log_event *events; /* event_count of them, by their first line as read */
    size_t event_count, event_room, event_omitted;
    struct log_source *sources; /* source_count of them */
    size_t source_count, source_room;
    size_t line_count; /* of the file, or of all */
    char **files;      /* file_count names, of a log in several; else none */
    size_t file_count;
    size_t files_left_out_count; /* of a directory */
    char files_left_out[256];    /* the first of them and why; printable */
    bool is_order_known; /* of two files without a clock in common, which failed first is not */
    bool is_structured;
    size_t
        left_out_count; /* entries of a structured log that are cut, have no text, or came twice */
    bool has_task_labels;
    struct log_blame blame;                  /* of the log */
    uint64_t world_size;                     /* 0 = not said */
    uint64_t step_total;                     /* that the job was headed for; 0 = not said */
    uint32_t missing[LOG_MISSING_COUNT_MAX]; /* ranks that others waited for in vain, and that
                                                did not wait themselves, if there are such */
    uint32_t missing_count;
    uint32_t silent[LOG_MISSING_COUNT_MAX]; /* sources that end without a word while others wait */
    enum log_silence silence[LOG_MISSING_COUNT_MAX]; /* of each */
    uint32_t silent_count;
    bool has_gone_before; /* one that is silent, or was killed, was so before `first` */
};

void log_story_init(struct log_story *story);
void log_story_deinit(struct log_story *story);

/* A part of a log: the whole of it, or one of its files. */
struct log_part {
    const char *bytes;
    size_t length;
    const char *name;   /* of the file; NULL where it is the only one */
    const char *source; /* who wrote what has no label; NULL = not known */
    uint32_t rank;      /* of that source, or LOG_RANK_NONE */
};

/* Reads a whole log of any bytes, 1 to 65536 parts; story must be initialised, and is replaced.
 * Linear but for the sorting of a structured log; memory for the sources and the events, and of a
 * structured log for its texts. */
void log_story_read(const struct log_part *parts, size_t count, struct log_story *story);

/* True if event a of a story came before b.  A source prints in the order of time.  Between two the
 * times of one clock count; else the order of the lines, or of two files the steps. */
bool log_event_is_before(const struct log_event *a, const struct log_event *b);

/* True if these bytes are a structured log: objects of JSON, one a line or in an array, whose texts
 * are in textPayload, jsonPayload.message, message, msg or log.  Looks at the first object
 * alone. */
bool log_is_structured(const char *bytes, size_t length);
/* False: the text is JSON and no structured log, as traces are.  length > 0. */
bool log_is_text(const char *text, size_t length);

/* The lines of one source, for a reader of listings and messages. */
struct log_excerpt {
    struct writing text; /* without labels, but with what the program's logger put in front */
    size_t *lines;       /* line_count of them: the file's line of each */
    size_t line_count, line_room;
};
void log_excerpt_deinit(struct log_excerpt *excerpt);

/* Takes out of the log, of which this is the story, of these parts, the lines of the source that
 * failed first, from behind an earlier message of its kind to the next one of another kind.  False,
 * and nothing to deinit: the text as it stands says the same.  Linear. */
bool log_excerpt_take(const struct log_story *story, const struct log_part *parts, size_t count,
                      struct log_excerpt *excerpt);
/* The line in the file of a line of the excerpt (from 1); 0 stays 0. */
size_t log_excerpt_line(const struct log_excerpt *excerpt, size_t line);

#endif
