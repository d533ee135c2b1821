/* What the tests of memory snapshots share: a file is imported, its ops are printed, added up, and
 * run. */
#ifndef TESTS_FORMATS_TORCH_RIG_H
#define TESTS_FORMATS_TORCH_RIG_H

#include "formats/formats.h"

/* What was imported last, or why it was not.  A fixture sets both up and takes them down. */
extern struct import import;
extern struct import_error refusal;
void setup_import(void);
void teardown_import(void);

/* Imports the file; a refusal fails the test. */
void load(const char *path, const char *format);

/* The ops as text, one a line; the caller frees. */
char *ops_text(void);
void assert_ops(const char *expected);

/* All bytes of a file, decompressed if need be, and a NUL behind them; the caller frees. */
char *file_bytes(const char *path, size_t *length);

/* Runs the ops on target hbm; no promise may break.  Returns how many requests ran out of memory.
 */
uint64_t replay(void);

/* Whether the log says that the request failed. */
bool was_refused(uint32_t op);

/* What is live after the ops if each request is granted that the log says was, and the most that
 * ever was. */
struct live {
    uint64_t bytes, requested_bytes, count, peak_bytes;
};

struct live count_live(void);

#endif
