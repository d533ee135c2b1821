/* An import: a format turns a text into a setup and a list of ops, with what the log says of them.
 * Otherwise it says in one line which fact is missing or wrong, and where. */
#ifndef FORMATS_COMMON_IMPORT_H
#define FORMATS_COMMON_IMPORT_H

#include "formats/common/compile_report.h"
#include "formats/common/import_error.h"
#include "formats/common/stacks.h"
#include "harness/op/op.h"
#include "harness/op/setup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    IMPORT_NOTES_BYTES = 2048,
    IMPORT_MESSAGE_BYTES = 512,
    IMPORT_DEVICE_BYTES = 32,
    IMPORT_SETTINGS_BYTES = 192
};

struct format;
struct writing;

/* A fact that the log says happened, to be compared with what a run sees.  The order of values is
 * free to change. */
enum said_kind {
    SAID_FAILED, /* the request was refused: out of memory; a request of which nothing is said was
                    granted */
    SAID_IN_USE_BYTES, /* after the op, on its host */
    SAID_FREE_BYTES,
    SAID_PEAK_BYTES, /* the most in use up to and with this op */
    SAID_LARGEST_HOLE_BYTES,
    SAID_ADDRESS, /* of the block that the op makes: an offset into the device, not what a log
                     prints */
    SAID_STEP,    /* this op is the first of that step of the job */
    SAID_KIND_COUNT
};
struct said {
    uint32_t op; /* index in ops; ascending */
    enum said_kind kind;
    uint64_t value; /* bytes; the step's number for SAID_STEP; 0 for SAID_FAILED */
};

/* The view of memory that the file gives.  It decides what may be said of its list. */
enum import_view {
    IMPORT_EVENTS = 0, /* what was allocated and freed, one after the other */
    IMPORT_MOMENT,     /* the blocks of one moment: the order of the ops is made up */
    IMPORT_SUMS        /* sums of one moment: places, and what one block is, are made up, too */
};

/* The result of an import. */
struct import {
    const struct format *format;
    struct setup setup;
    char named_target[SETUP_VALUE_BYTES]; /* that the text itself names, whatever is fixed; "" = it
                                             names none */
    struct op_list ops;
    enum import_view view;
    struct said *said; /* said_count of them; owned by the import */
    size_t said_count, said_room;
    char assumed[IMPORT_NOTES_BYTES]; /* what the file does not say and the list has all the same:
                                       * one sentence a line; also among the notes, behind
                                       * IMPORT_ASSUMED */
    char told[IMPORT_NOTES_BYTES];    /* what the file says beside the ops, in sentences as assumed;
                                       * among the notes behind IMPORT_TOLD */
    char message[IMPORT_MESSAGE_BYTES]; /* the file's own words for its failure, on one line; "" =
                                         * it has none */
    size_t message_line;                /* from 1; 0 = not known */
    /* by host: as the file names the device; "" = it does not */
    char devices[OP_HOST_COUNT_MAX][IMPORT_DEVICE_BYTES];
    struct compile_report *compile_report; /* owned; NULL: the file is no report of a compiler, or
                                            * is not told as one */
    struct stacks *stacks; /* owned; NULL: nobody asked for them, or the format has none */
    char settings[IMPORT_SETTINGS_BYTES]; /* of the allocator, as the file says they were set:
                                           * "key:value,key:value" in the words of the system;
                                           * "default" = none was; "" = the file does not say */
    char notes[IMPORT_NOTES_BYTES]; /* what was assumed or left out, one line each, "\n" between;
                                     * meant as the comments of the .ops file */
};
void import_init(struct import *import);
void import_deinit(struct import *import);

/* The input of a format. text[length] may hold any bytes, even NULs, and need not end in one. */
struct import_input {
    const char *text;
    size_t length;
    const struct setup *fixed;                         /* never NULL; see struct import_options */
    uint64_t kv_bytes_per_token, kv_tokens_per_second; /* the same */
    bool with_stacks;                                  /* the same */
};

/* One format; a constant. */
struct format {
    const char *name;
    const char *summary; /* one sentence: what such a file is and where it comes from */

    /* Returns how sure the format is of the text: 0 (not at all) to 100.  At most linear. */
    unsigned (*recognise)(const char *text, size_t length);

    /* Turns the text into import->setup, ->ops and ->notes (initialised, empty).  On failure *error
     * says where and why and *import is unspecified but safe to deinit: a part is never taken for
     * the whole.  Only ->compile_report and ->message are kept then: IMPORT_INCOMPLETE with a
     * report is one of which no list can be made. A list of no ops is refused by import_text() of
     * formats.h, but for .ops files. */
    enum import_result (*import)(const struct import_input *input, struct import *import,
                                 struct import_error *error);
};

/* --- for formats --- */

/* Adds a line to the notes; of those that no longer fit the last line is the number, and so of the
 * two below. */
void import_note(struct import *import, const char *note, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds what is assumed, a sentence without a full stop, to the assumptions and the notes.  Each
 * fact that decides a verdict or a number and that the file does not have is assumed, not noted.
 * One on what the device has begins with "capacity ". */
#define IMPORT_ASSUMED "assumed: "
void import_assume(struct import *import, const char *fact, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds what the file says and no op can carry, which explain tells: counters, what they show, which
 * of their checks fail.  One sentence, without a full stop. */
#define IMPORT_TOLD "told: "
void import_tell(struct import *import, const char *fact, ...)
    __attribute__((format(printf, 2, 3)));
/* The file's own words for its failure: cut to IMPORT_MESSAGE_BYTES - 1 on one line. */
void import_quote(struct import *import, const char *text, size_t length, size_t line);
/* The file's own name of that host's device, below OP_HOST_COUNT_MAX: cut to IMPORT_DEVICE_BYTES
 * - 1. */
void import_name_device(struct import *import, size_t host, const char *name, ...)
    __attribute__((format(printf, 3, 4)));
/* An op that makes something, and one on what op number `made` makes: their kind, and members that
 * are not 0. */
#define OP_TO_MAKE(op_kind, ...)                                                  \
    (struct op)                                                                   \
    {                                                                             \
        .kind = (uint8_t)(op_kind), .ref = OP_NONE, .event = OP_NONE, __VA_ARGS__ \
    }
#define OP_ON(op_kind, made, ...)                                                \
    (struct op)                                                                  \
    {                                                                            \
        .kind = (uint8_t)(op_kind), .ref = (made), .event = OP_NONE, __VA_ARGS__ \
    }
/* Appends an op and returns its index, which is below OP_NONE. */
uint32_t import_append(struct import *import, const struct op *op);
/* Adds what the log says of an op; ops must not descend from call to call. O(1). */
void import_say(struct import *import, uint32_t op, enum said_kind kind, uint64_t value);
/* Returns the capacity that the user fixed: capacity_bytes, or that of the chip, rounded down to
 * the granule (0 = not yet known, not rounded); 0 = neither. */
uint64_t import_fixed_capacity(const struct setup *fixed, uint64_t granule_bytes);
/* Copies into *setup whatever *fixed fixes.  Set what the format chooses, the granule above all,
 * before it. */
void import_apply_fixed(const struct setup *fixed, struct setup *setup);
/* Sets a target option for target `hbm`, unless the user fixed it or another target. */
void import_suggest_option(struct setup *setup, const char *key, const char *value);

/* --- the comments in which an .ops file carries facts of the file that it was imported from: a
 * replay does not need them, and with them explain says of the list what it says of the file --- */

/* Appends the lines of the comments, without their "# ": the notes, the view, the words of the file
 * for its failure, the settings of its allocator, the names of its devices, where its steps begin,
 * and which requests failed. */
void import_print_comments(const struct import *import, struct writing *text);
/* Takes them from the text of an .ops file, whose ops are in the import.  Other comments, and what
 * names no op of the list, are nothing. */
void import_read_comments(const char *text, size_t length, struct import *import);

/* --- the device of a run whose log does not say all of it --- */

#define IMPORT_CAPACITY_MAX ((uint64_t)1 << 50) /* what a setup can hold as capacity */

/* The granule of `hbm` when nobody says otherwise: the heap quantum seen in public counters of v4
 * and v5e. */
enum { IMPORT_GRANULE_BYTES = 512 };

/* 198,000 ops of 2,000 live blocks replay in 7.4 s with nothing to spare, in 5.1 s with 2 % more,
 * in 1.4 s with an eighth, and in 1.1 s with half. */
enum { CAPACITY_TIGHT_OPS_MAX = 1 << 12, CAPACITY_SPARE_PART = 8 };

/* The largest power of two up to IMPORT_GRANULE_BYTES that divides all sizes; size_bits: these,
 * or-ed. */
uint64_t capacity_granule(uint64_t size_bits);

/* Chooses what is not fixed, and adds a note where the capacity is assumed or too small.
 * size_bits: all sizes, or-ed.  peak_bytes: the most that is live at a time, each size rounded up
 * to the granule where it is fixed.  IMPORT_INVALID: there is no such device.
 *
 * - The granule, unless it is fixed or in import->setup: capacity_granule().
 * - The capacity, unless it is fixed or in import->setup: the peak.  Nothing is to spare then, so
 * that target option defrag=repack is suggested.  Of more than CAPACITY_TIGHT_OPS_MAX ops, which
 * import->ops must have by then, it is an eighth more. */
enum import_result capacity_choose(const struct import_input *input, uint64_t size_bits,
                                   uint64_t peak_bytes, struct import *import,
                                   struct import_error *error);

#endif
