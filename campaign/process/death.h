/* The death of a process of ours that runs a target: how it died, in which call, and where in the
 * code.  It notes that itself, in memory shared with its parent.  The parent makes words and a
 * signature of it. */
#ifndef CAMPAIGN_PROCESS_DEATH_H
#define CAMPAIGN_PROCESS_DEATH_H

#include "harness/call/progress.h"
#include "harness/oracle/signature.h"

#include <stdbool.h>
#include <stdint.h>

enum death_kind {
    DEATH_NONE = 0,  /* it lives, or left no note */
    DEATH_SIGNAL,    /* number: which */
    DEATH_EXIT,      /* number: the status; the target ended the process */
    DEATH_SANITIZER, /* text: "AddressSanitizer heap-buffer-overflow" */
    DEATH_HANG,      /* one call took too much processor time, or did not return */
    DEATH_CHECK,  /* text: a CHECK of ours, "FILE:LINE: CONDITION does not hold"; not the target's
                     fault */
    DEATH_CHANNEL /* it closed, replaced or wrote to a descriptor of ours */
};
enum { DEATH_FRAME_COUNT_MAX = 24, DEATH_TEXT_BYTES = 512, DEATH_WORDS_BYTES = 256 };

/* An open value.  frames are return addresses, innermost first; the first one is the place itself
 * when is_exact. */
struct death {
    struct call_progress progress;
    volatile uint32_t kind; /* enum death_kind: the first note counts */
    volatile int32_t number;
    volatile uint32_t frame_count;
    uint32_t is_exact;
    uint32_t was_paused; /* noted by the parent: a signal stopped it, from outside or its own */
    volatile uint32_t is_done; /* the work was done: what ends the process now is no death */
    /* The answer, announced here: other bytes are not the process's own.  See child.h. */
    volatile uint32_t is_answered;
    volatile uint64_t answer_bytes, answer_hash;
    uintptr_t frames[DEATH_FRAME_COUNT_MAX];
    char text[DEATH_TEXT_BYTES];
};

/* Forgets what was noted. */
void death_clear(struct death *death);

/* Sets how much processor time one call of the target may take, in processes that begin to watch
 * from now on; at first 20 s. */
void death_set_op_timeout(uint64_t op_timeout_ns);
uint64_t death_op_timeout(void);

/* In the child, before the target runs: from here on what ends the process is noted in *death, and
 * a call that takes longer than the bound ends it.  NULL: no more. */
void death_watch(struct death *death);

/* Around a fork of ours.  Of a process that the target forks nothing is noted, it has no file of
 * ours, and it ends when it comes back from the target's call. */
void death_begin_fork(void);
void death_end_fork(void);

/* In the child: notes that a descriptor of ours is damaged. */
void death_note_channel(struct death *death);

/* In the parent: takes in how the process ended, as waitpid says it, where it left no note itself.
 */
void death_conclude(struct death *death, int status);

/* The name under which equal deaths are counted: "crash: SIGSEGV at f < g < h", "crash: exit status
 * 3 in alloc", "hang in defragment".  Frames are those of the target, at most 3; none of them
 * known: the call.  "" without a death, and for a CHECK. */
void death_signature(const struct death *death, char signature[SIGNATURE_BYTES]);
/* Like death_signature(), without the rule: "SIGSEGV at f < g < h".  For a CHECK its text. */
void death_name(const struct death *death, char name[SIGNATURE_BYTES]);
/* The rule that the death breaks; RULE_NONE without one, and for a CHECK. */
enum rule death_rule(const struct death *death);
/* Describes the death in words: "the target ended its process: SIGSEGV at f (heap.c:12) < g". */
void death_describe(const struct death *death, char words[DEATH_WORDS_BYTES]);

/* Names for addresses of code: the function, from the symbol table of its object, or else the
 * object and the offset in it; and the line, where its object has that.  Slow; for what a dead
 * process left behind. */

enum { SYMBOL_BYTES = 96 };

struct symbol {
    char object[SYMBOL_BYTES]; /* its file without the folder */
    char name[SYMBOL_BYTES];   /* "hbm_alloc", or "mine.so+0x12a0" where no table has it */
    char file[SYMBOL_BYTES];   /* "heap.c": of the source, without the folder; "" = not known */
    uint32_t line;             /* 0 = not known */
    bool is_of_program;        /* of the program itself, not of a shared object */
};

/* False: no object has that address.  Objects stay loaded, so what was found once is known.  Not
 * for two threads at once. */
bool symbol_find(uintptr_t address, struct symbol *symbol);
/* Closes the files of objects that were looked at: processes that are forked would have them, too.
 */
void symbols_close(void);

#endif
