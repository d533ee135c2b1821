/* What the tests of formats that profilers write share: an import that is cut, damaged and
 * replayed. */
#ifndef TESTS_FORMATS_PROFILE_IMPORTS_H
#define TESTS_FORMATS_PROFILE_IMPORTS_H

#include "tests/formats/import_rig.h"

/* Every beginning of the file is imported or said to be cut off, from text_min bytes on recognised,
 * and never INVALID. */
void profile_assert_cuts_are_said(const char *path, const char *format, size_t recognised_min);

/* With bytes changed, the file is sometimes imported, and sometimes refused with a reason. */
void profile_assert_damage_is_survived(const char *path, const char *format, uint64_t rounds);

/* Replays the ops on target hbm: no promise breaks, no request is refused, and what is said of the
 * bytes in use and of their peak is what the target counts, memory that was retired aside.  Returns
 * how many sayings were compared. */
uint64_t profile_assert_replay(void);

#endif
