/* Reads the meaning of a line's words: an out-of-memory, a retry, a time-out, a death, a step. */
#ifndef FORMATS_LOG_PRIVATE_LOG_WORDS_H
#define FORMATS_LOG_PRIVATE_LOG_WORDS_H

#include "formats/log/log_story.h"

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

#endif
