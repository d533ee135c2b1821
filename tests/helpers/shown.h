/* What a test shows, line by line, until it is held against a block of its snapshot.
 *
 *     SHOW(part->trials, part->note);           part->trials 2, part->note "ended at trial 5"
 *     show("row %zu: %s\n", i, complaint);       as it is
 *     HEAR(campaign_report_end(&campaign));     what the program said on standard error meanwhile
 *     snap_shown();                             all of it is the next block
 *     EVERY_TEST(.teardown = snap_rest);        what is left at the end of a test, too */
#ifndef TESTS_HELPERS_SHOWN_H
#define TESTS_HELPERS_SHOWN_H

#include "tests/helpers/messages.h"
#include "tests/helpers/scratch.h"
#include "tests/helpers/snap.h"

#include <stdbool.h>
#include <stdint.h>

/* Of the files of a test: its path is shown as OUT.  "" = there is none. */
extern char folder[SCRATCH_PATH_BYTES];

void show(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Expressions and their values, in one line: a text in quotes or "none", "yes" or "no", a number.
 * GIVEN leaves out what is 0, no and empty, and the line where all of it is. */
#define SHOW(...) (show_begin(false), SHOW_EACH(__VA_ARGS__), show_end())
#define GIVEN(...) (show_begin(true), SHOW_EACH(__VA_ARGS__), show_end())
void show_begin(bool leaves_out);
void show_end(void);
void show_text(const char *name, const char *value);
void show_truth(const char *name, bool value);
void show_number(const char *name, uint64_t value);
void show_signed(const char *name, int value);
/* clang-format off */
#define SHOW_1(value) _Generic((value), char *: show_text, const char *: show_text, \
                               bool: show_truth, int: show_signed, default: show_number)(#value, value)
/* clang-format on */
#define SHOW_2(value, ...) SHOW_1(value), SHOW_1(__VA_ARGS__)
#define SHOW_3(value, ...) SHOW_1(value), SHOW_2(__VA_ARGS__)
#define SHOW_4(value, ...) SHOW_1(value), SHOW_3(__VA_ARGS__)
#define SHOW_5(value, ...) SHOW_1(value), SHOW_4(__VA_ARGS__)
#define SHOW_6(value, ...) SHOW_1(value), SHOW_5(__VA_ARGS__)
#define SHOW_7(value, ...) SHOW_1(value), SHOW_6(__VA_ARGS__)
#define SHOW_8(value, ...) SHOW_1(value), SHOW_7(__VA_ARGS__)
#define SHOW_9(value, ...) SHOW_1(value), SHOW_8(__VA_ARGS__)
#define SHOW_N(a, b, c, d, e, f, g, h, i, name, ...) name
#define SHOW_EACH(...)                                                                            \
    SHOW_N(__VA_ARGS__, SHOW_9, SHOW_8, SHOW_7, SHOW_6, SHOW_5, SHOW_4, SHOW_3, SHOW_2, SHOW_1, ) \
    (__VA_ARGS__)

#define HEAR(statement)                         \
    do {                                        \
        const int hear_from = messages_begin(); \
        statement;                              \
        hear_end(hear_from);                    \
    } while (0)
void hear_end(int from);

/* All that was shown since the last time; the next begins anew. */
const char *shown_take(void);
#define snap_shown() snap(shown_take())

/* For the teardown of a file: what is left at the end of a test is its last block. */
void snap_rest(void);

#endif
