/* What the tests of formats that profilers write share: one import at a time, held against its
 * text, cut, damaged and replayed. */
#ifndef TESTS_FORMATS_PROFILE_IMPORTS_H
#define TESTS_FORMATS_PROFILE_IMPORTS_H

#include "formats/formats.h"

/* The import that the functions work on, and the error of the last refusal.  For checked fixtures:
 * profile_setup, profile_teardown. */
extern struct import profile_import;
extern struct import_error profile_error;
void profile_setup(void);
void profile_teardown(void);

/* Imports a file by its content; fails the test unless it is of that format. */
void profile_load(const char *path, const char *format);

/* The ops, one a line, "\n" behind each, and without ops: "". */
void profile_assert_ops(const char *expected);

/* Every beginning of the file is imported or said to be cut off, from text_min bytes on recognised,
 * and never INVALID. */
void profile_assert_cuts_are_said(const char *path, const char *format, size_t recognised_min);

/* With bytes changed, the file is imported or refused with a reason. */
void profile_assert_damage_is_survived(const char *path, const char *format, uint64_t seeds);

/* Replays the ops on target hbm: no promise breaks, no request is refused, and what is said of the
 * bytes in use and of their peak is what the target counts, memory that was retired aside.  Returns
 * how many sayings were compared. */
uint64_t profile_assert_replay(void);

#endif
