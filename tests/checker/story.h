/* A short history for tests of the checker: a list with its log, and a certificate of its last op,
 * all written by hand. */
#ifndef TESTS_CHECKER_STORY_H
#define TESTS_CHECKER_STORY_H
#include "checker/certificate_check.h"

/* One op and its line of the log; ' stands for " in all texts. */
struct step {
    const char *op, *answer, *now, *more;
};
#define STEP(op, now, more)  \
    {                        \
        op, "ok", #now, more \
    }
#define MADE(op, address, size)                                    \
    {                                                              \
        op, "ok", "0", ", 'address': " #address ", 'size': " #size \
    }
#define DID(op)           \
    {                     \
        op, "ok", "0", "" \
    }

/* The device has 64K in granules of 512; what is NULL is as in story_write(). */
enum { STORY_STEPS_MAX = 12 };
struct story {
    struct step steps[STORY_STEPS_MAX];
    const char *head, *hosts;     /* more lines of the list's head; of the log's */
    const char *last, *last_more; /* the op that is out of memory, and its line */
    const char *contract, *refused, *request, *blocks, *proof, *list; /* of the document */
    const char *claim;
    int host;
};

#define FACT(op, kind, state, address, size, align, stack, holds, used_until, freed_at) \
    "{'op': " #op ", 'kind': '" #kind "', 'state': '" #state "', 'address': " #address  \
    ", 'size': " #size ", 'align': " #align ", 'stack': " #stack ", 'holds': " #holds   \
    ", 'used_until': " #used_until ", 'freed_at': " #freed_at "}"
#define PROMISED(rounding, defrag)                                    \
    "{'granule': 512, 'rounding': '" rounding "', 'defrag': '" defrag \
    "', 'drains': false, 'evicts': false, 'program_evicts_program': false}"
#define ASKED(class, bytes, align, stack, program)                                       \
    "{'class': '" #class "', 'bytes': " #bytes ", 'align': " #align ", 'stack': " #stack \
                         ", 'program': " #program "}"

/* The texts, as large as any test needs them. */
enum { STORY_TEXT_BYTES = 1 << 16 };
struct story_texts {
    char list[STORY_TEXT_BYTES], log[STORY_TEXT_BYTES], document[STORY_TEXT_BYTES];
};

/* Writes all three; the document has the hash that the checker makes of the list. */
void story_write(const struct story *story, struct story_texts *texts);
/* Puts into the document the hash that the checker makes of the list. */
void story_name_list(struct story_texts *texts);
void story_double_quotes(char *text);

/* The result for these texts; without a log (NULL) by the list alone.  The reason is printable.
 * UNREADABLE is also a list or log that cannot be read. */
enum certificate_result story_check(const char *list, const char *log, const char *document,
                                    char reason[CERTIFICATE_REASON_BYTES]);

#endif
