/* What tests of formats work on: one import at a time, of a file, or of bytes that are cut or
 * damaged, its ops as text, and their replay. */
#ifndef TESTS_FORMATS_IMPORT_RIG_H
#define TESTS_FORMATS_IMPORT_RIG_H

#include "formats/formats.h"

/* What was imported last, or why it was not.  A fixture sets both up and takes them down. */
extern struct import import;
extern struct import_error refusal;
void setup_import(void);
void teardown_import(void);

/* Imports the file, which must be of that format, or of whichever is recognised: "auto". */
void load(const char *path, const char *format);
/* Imports the file, which must be recognised to be of that format. */
void load_recognised(const char *path, const char *format);

/* Imports in memory of its own, so that a read beyond the bytes is seen.  What is imported has ops,
 * and its stacks are those of its ops; what is refused has none, and a reason in one line. */
enum import_result import_bytes(const char *bytes, size_t length, const char *format);

/* Imports so many times with some bytes replaced.  Returns how often that was imported. */
uint64_t damage(const char *bytes, size_t length, const char *format, uint64_t rounds);

/* All bytes of a file, decompressed if need be, and a NUL behind them; the caller frees. */
char *file_bytes(const char *path, size_t *length);

/* The ops as text, one a line; the caller frees. */
char *ops_text(void);
void assert_ops(const char *expected);

/* Runs the ops on target hbm; no promise may break, and no op is skipped.  Returns how many
 * requests ran out of memory. */
uint64_t replay(void);

#endif
