/* The .ops file: a run as text that people read and edit.  docs/formats.md describes it.
 *
 *     hbmstress-ops 1
 *     chip v5e
 *     capacity 64M
 *     target hbm
 *     option defrag=slide
 *     seed 1
 *     tag 3 "losses"
 *
 *     0: alloc size=8M tag=3
 *     1: use block=0 delay=5ms
 *     2: free_after block=0 event=1
 */
#ifndef HARNESS_OP_OPS_FILE_H
#define HARNESS_OP_OPS_FILE_H

#include "harness/op/op.h"
#include "harness/op/setup.h"

#include <stdio.h>

enum ops_file_result {
    OPS_FILE_OK = 0,
    OPS_FILE_UNREADABLE, /* the world: no such file, a directory, a read error */
    OPS_FILE_INVALID,    /* the text is wrong; line and column say where */
    OPS_FILE_UNWRITABLE  /* full disk, no permission; nothing is left under the final name */
};
struct ops_file_error {
    size_t line;   /* from 1; 0 = the whole file */
    size_t column; /* from 1 */
    char reason[320];
};

/* Reads text[length] into *setup and *list (initialised by the caller; replaced).  On failure
 * both are unspecified but safe to deinit, and *error says where and why. */
enum ops_file_result ops_file_parse(const char *text, size_t length, struct setup *setup,
                                    struct op_list *list, struct ops_file_error *error);
/* True if the head of a list can name the target: a name without blanks, or the path of a plug-in,
 * which may have some, but not at its ends; no control characters, below SETUP_VALUE_BYTES. */
bool ops_file_can_name(const char *target);
/* Reads in the same way from a file, or, if path is "-", from standard input as it stands; up to 16
 * GiB.  The text is in memory only in parts. */
enum ops_file_result ops_file_read(const char *path, struct setup *setup, struct op_list *list,
                                   struct ops_file_error *error);

/* Prints the one canonical text: ops_file_parse gives the same setup and ops back, and printing
 * those gives the same bytes.  comments (may be NULL) is put after the head, one "# " per line.
 * Write errors stay in the stream (ferror). */
void ops_file_print(FILE *stream, const struct setup *setup, const struct op_list *list,
                    const char *comments);
/* Prints the head alone, which an empty line parts from the ops. */
void ops_file_print_head(FILE *stream, const struct setup *setup);
/* One op without its number and line end, for messages; returns text. */
enum { OP_TEXT_BYTES = 320 };
const char *op_print(const struct op *op, char text[OP_TEXT_BYTES]);
/* One with both, as the list has it; returns the length. */
size_t op_print_line(size_t number, const struct op *op, char text[OP_TEXT_BYTES]);

/* Writes path.partial, flushes it to the disk, and renames it to path. */
enum ops_file_result ops_file_write(const char *path, const struct setup *setup,
                                    const struct op_list *list, const char *comments,
                                    struct ops_file_error *error);

/* The hash by which a certificate names its list: docs/certificate.md, "The list". */

enum { OPS_HASH_BYTES = 65 };

/* SHA-256, in lower-case hexadecimal, of what ops_file_print() prints of the head and of the first
 * op_count ops (at most list->count), without the empty line and without switches.  O(op_count). */
void ops_hash(const struct setup *setup, const struct op_list *list, size_t op_count,
              char hash[OPS_HASH_BYTES]);

#endif
