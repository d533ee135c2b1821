/* Field logs and traces come in here: each format recognises its own text and turns it into a setup
 * and a list of ops, or says in one line which fact is missing or wrong, and where. */
#ifndef FORMATS_FORMATS_H
#define FORMATS_FORMATS_H

#include "harness/op/op.h"
#include "harness/op/setup.h"

#include <stdbool.h>
#include <stddef.h>

enum import_result {
    IMPORT_OK = 0,
    IMPORT_UNREADABLE,   /* the world: no such file, a directory, a damaged or too large archive */
    IMPORT_UNRECOGNISED, /* no format knows this text, or there is no format of that name */
    IMPORT_INVALID, /* the text breaks its format's grammar, or contradicts itself or the options */
    IMPORT_INCOMPLETE /* the grammar is kept as far as it goes, but facts are missing: a cut log */
};

enum { IMPORT_REASON_BYTES = 384, IMPORT_NOTES_BYTES = 2048 };

/* Where and why: reason is one line without control characters. */
struct import_error {
    size_t line;   /* from 1, of the decompressed text; 0 = the whole file */
    size_t column; /* from 1, in bytes; 0 = the whole line */
    char reason[IMPORT_REASON_BYTES];
};

/* What the user fixed.  Zero-initialise, then set. */
struct import_options {
    /* Non-empty fields win over what the text says or the format would assume: chip,
     * capacity_bytes, granule_bytes, target ("" = not fixed), options.  NULL: nothing is fixed. */
    const struct setup *fixed;
    /* Of request traces (formats/generic/azure_llm.c), which do not say them; 0 = a default, which
     * the notes name. */
    uint64_t kv_bytes_per_token, kv_tokens_per_second;
};

struct format;

/* What the log says happened, to be compared with what a run sees.  The order of values is free to
 * change. */
enum said_kind {
    SAID_FAILED, /* the request was refused: out of memory; a request of which nothing is said was
                    granted */
    SAID_IN_USE_BYTES, /* after the op, on its host */
    SAID_FREE_BYTES,
    SAID_PEAK_BYTES, /* the most in use up to and with this op */
    SAID_LARGEST_HOLE_BYTES,
    SAID_ADDRESS, /* of the block that the op makes: an offset into the device, not what a log
                     prints */
    SAID_KIND_COUNT
};
struct said {
    uint32_t op; /* index in ops; ascending */
    enum said_kind kind;
    uint64_t value; /* bytes; 0 for SAID_FAILED */
};

/* What came in. */
struct import {
    const struct format *format;
    struct setup setup;
    char named_target[SETUP_VALUE_BYTES]; /* that the text itself names, whatever is fixed; "" = it
                                             names none */
    struct op_list ops;
    struct said *said; /* said_count of them; owned by the import */
    size_t said_count, said_room;
    char notes[IMPORT_NOTES_BYTES]; /* what was assumed or left out, one line each, "\n" between;
                                     * meant as the comments of the .ops file */
};
void import_init(struct import *import);
void import_deinit(struct import *import);

/* What a format gets.  text[length] may hold any bytes, NULs included, and need not end in one. */
struct import_input {
    const char *text;
    size_t length;
    const struct setup *fixed;                         /* never NULL; see import_options */
    uint64_t kv_bytes_per_token, kv_tokens_per_second; /* the same */
};

/* One format; a constant. */
struct format {
    const char *name;
    const char *summary; /* one sentence: what such a file is and where it comes from */

    /* How sure it is that the text is of this format: 0 (not at all) to 100.  At most linear. */
    unsigned (*recognise)(const char *text, size_t length);

    /* Turns the text into import->setup, ->ops and ->notes (initialised, empty).  On failure *error
     * says where and why and *import is unspecified but safe to deinit: a part is never taken for
     * the whole. A list of no ops is refused by import_text, but for .ops files. */
    enum import_result (*import)(const struct import_input *input, struct import *import,
                                 struct import_error *error);
};

/* Every format; ends with NULL.  A new one is one file, one line here and one in formats.c. */
extern const struct format *const formats[];
extern const struct format format_ops;
extern const struct format format_azure_llm;
extern const struct format format_bfc;
extern const struct format format_hbm_allocations;
extern const struct format format_hbm_report;
extern const struct format format_jax_device_memory;
extern const struct format format_malloc_lab;
extern const struct format format_rmm;
extern const struct format format_static_planning;
extern const struct format format_torch_snapshot;
extern const struct format format_torch_state;
extern const struct format format_tpu_message;
extern const struct format format_trace_json;
extern const struct format format_xplane;

/* NULL when there is none of that name. */
const struct format *format_find(const char *name);
/* The surest one; on equal scores the first of the table.  NULL: none recognises it. */
const struct format *format_recognise(const char *text, size_t length);

/* Imports a text.  format_name "auto" or NULL: the surest format.  options may be NULL.  import
 * must be initialised; it is replaced.  After a failure it is empty again. */
enum import_result import_text(const char *text, size_t length, const char *format_name,
                               const struct import_options *options, struct import *import,
                               struct import_error *error);

/* The same for a file ("-": standard input): plain, gzip or zstd (told apart by content), up to
 * IMPORT_BYTES_MAX bytes of text. */
#define IMPORT_BYTES_MAX ((size_t)64 << 30)
enum import_result import_file(const char *path, const char *format_name,
                               const struct import_options *options, struct import *import,
                               struct import_error *error);

/* "path:line:column: reason", without what is unknown.  Writes at most size bytes with the NUL;
 * returns text. */
const char *import_error_print(const char *path, const struct import_error *error, char *text,
                               size_t size);

/* --- for formats --- */

/* Sets *error and returns result, so that a format can say `return import_fail(...)`. */
enum import_result import_fail(struct import_error *error, enum import_result result, size_t line,
                               size_t column, const char *reason, ...)
    __attribute__((format(printf, 5, 6)));
/* Adds a line to the notes; what no longer fits is left out. */
void import_note(struct import *import, const char *note, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds what the log says of an op; ops must not descend from call to call. O(1). */
void import_say(struct import *import, uint32_t op, enum said_kind kind, uint64_t value);
/* Bytes of the well-formed UTF-8 character at text, which ends in NUL; 0: none is there. */
size_t import_character_length(const char *text);
/* Line and column of a byte of the text.  O(offset). */
void import_position(const char *text, size_t offset, size_t *line, size_t *column);
/* What the user fixed as capacity: capacity_bytes, or that of the chip, rounded down to the granule
 * (0 = not yet known, not rounded); 0 = neither. */
uint64_t import_fixed_capacity(const struct setup *fixed, uint64_t granule_bytes);
/* Copies into *setup whatever *fixed fixes.  Set what the format chooses, the granule above all,
 * before it. */
void import_apply_fixed(const struct setup *fixed, struct setup *setup);
/* Sets a target option for target `hbm`, unless the user fixed it or another target. */
void import_suggest_option(struct setup *setup, const char *key, const char *value);

#endif
