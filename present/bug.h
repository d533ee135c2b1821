/* A finding as a maintainer of the allocator needs it: the calls that lead to it, in the
 * allocator's own API, and what they show.  A program and a report in Markdown are written from it.
 */
#ifndef PRESENT_BUG_H
#define PRESENT_BUG_H

#include "harness/base/writing.h"
#include "harness/oracle/verdict.h"
#include "harness/target.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bug_call_kind {
    BUG_ALLOC = 0, /* makes the next block: the first one is 0 */
    BUG_REFUSED,   /* the same request, which got no block */
    BUG_FREE       /* of `block` */
};

/* One call of the allocator.  Sizes and addresses are those of the table of the target. */
struct bug_call {
    uint32_t kind;        /* enum bug_call_kind */
    uint32_t op;          /* of the list */
    uint32_t block;       /* of an alloc or a refusal: a number of its own */
    uint64_t asked_bytes; /* as the op has it */
    uint64_t size_bytes;  /* the same, rounded up to granules */
    uint64_t align_bytes; /* 0: the granule suffices */
    uint64_t address;     /* of a block: where it lay in the replay, and what it took there */
    uint64_t taken_bytes;
};

/* What the last call shows. */
enum bug_sign {
    BUG_SIGN_REFUSED = 0, /* it was refused although it fits */
    BUG_SIGN_OVERLAP,     /* its block meets another one */
    BUG_SIGN_OUTSIDE,     /* its block ends beyond the memory of the allocator */
    BUG_SIGN_MISALIGNED,
    BUG_SIGN_TAKEN,    /* its block takes another number of bytes than it may */
    BUG_SIGN_CONTENTS, /* bytes of a block changed */
    BUG_SIGN_CRASH,    /* the process ends */
    BUG_SIGN_HANG      /* the call does not return */
};

/* An open value; the arrays belong to the caller. */
struct bug {
    const struct target_api *api;
    const char *target;           /* its name */
    const struct bug_call *calls; /* call_count of them */
    size_t call_count;
    uint32_t block_count; /* numbers of blocks are below it */
    enum bug_sign sign;
    const char *reason; /* of the verdict, in words */
    uint64_t capacity_bytes, granule_bytes, header_bytes;
    /* The block of the last call needs so many bytes, its address at a multiple of align_bytes; a
     * block that is too large or too small may take least_bytes..need_bytes. */
    uint64_t need_bytes, align_bytes, least_bytes;
    /* Blocks have addresses.  A request is served between from and to, of the device; without
     * places sums decide. */
    bool has_places;
    uint64_t from, to;
    uint64_t witness_address; /* refused, with places: the lowest byte of a range that serves */
};

/* In words: "a request is refused although it fits". */
const char *bug_sign_title(enum bug_sign sign);
/* Whether the sign is seen from outside of the process. */
bool bug_sign_is_death(enum bug_sign sign);

/* --- the program --- */

/* Appends the source: C or C++ of the allocator's own API alone, a statement for each call.  It
 * prints "SHOWN: ..." and exits with 1 when the defect is seen, "NOT SHOWN: ..." and 0 otherwise;
 * of a crash or a hang it shows the call before which it printed the last line.  What comes from an
 * op list is written as numbers alone. */
void bug_program_append(const struct bug *bug, struct writing *text);

/* Why the calls cannot be written in the texts of the API: an alignment, a size or bytes that it
 * has no text for.  NULL: they can. */
const char *bug_program_flaw(const struct bug *bug);

/* --- the report --- */

/* What stands in it besides the finding; texts of any bytes, and lines where it says so. */
struct bug_circumstances {
    const char *hbmstress; /* its version */
    const char *compiler;  /* a line; "" = not known */
    const char *sources;   /* a line: which versions of them; "" = not known */
    const char *system;    /* a line */
    const char *program;   /* lines: the source */
    const char *file;      /* its name */
    const char *build;     /* the command that was run, with its names of variables */
    const char *variables; /* lines: NAME=VALUE of those; "" = there are none */
    const char *run;       /* the command */
    const char *output;    /* lines: what it printed */
    const char *end;       /* how it ended: "exit status 1", "signal 11 (Segmentation fault)" */
    const char *repeat;    /* the line of hbmstress that repeats the finding */
    const char *list;      /* lines: the ops */
};

/* Appends it, in Markdown. */
void bug_report_append(const struct bug *bug, const struct bug_circumstances *circumstances,
                       struct writing *text);

/* Appends the picture of the heap right after the last call: a bar, and a row for each range. Lines
 * of text without markup; nothing where blocks have no places. */
void bug_picture_append(const struct bug *bug, struct writing *text);

/* --- texts --- */

/* In the texts of a target's own API (struct target_api): what stands for a value, without its '@',
 * and the value. */
struct bug_word {
    const char *name;
    const char *value;
};

/* Appends the template.  "@NAME" becomes the value of that word, where what follows NAME could not
 * belong to a name; every other '@' stays.  Values are not looked into. */
void bug_text_append(struct writing *text, const char *template, const struct bug_word *words,
                     size_t word_count);

/* The same, each line behind so many blanks, and the last one ended; nothing for NULL. */
void bug_text_append_lines(struct writing *text, const char *template, const struct bug_word *words,
                           size_t word_count, unsigned indent);

/* Appends the text of one paragraph or heading: nothing in it is markup, breaks the line, or acts
 * on a terminal. */
void bug_text_append_markdown(struct writing *text, const char *string);

/* Appends the lines as a code block that no line of them ends.  language may be "". */
void bug_text_append_code(struct writing *text, const char *language, const char *lines);

#endif
