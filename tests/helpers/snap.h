/* Expected text beside the test: snap(text) holds what was printed against a block of
 * test_<name>.snap, which lies next to test_<name>.c.  A block begins with a line
 *
 *     == name_of_the_test 1
 *
 * with the number of the snap in its test, "[3] 1" in the run of a test with _i = 3.  What follows,
 * up to an empty line and the next block, is the text.  A text that does not end its last line ends
 * with " (no-eol)".  A control character but the end of a line, a byte that is not UTF-8 and a
 * blank at the end of a line are shown as <<1b>>, so that nothing in such a file is invisible.
 *
 * HBMSTRESS_SNAP=update rewrites the blocks, in the order of the tests, and drops those that no
 * test asked for; it is refused where the environment has CI.  Without it, a text without a block
 * fails its test, and a block that no test asks for fails its program. */
#ifndef TESTS_HELPERS_SNAP_H
#define TESTS_HELPERS_SNAP_H

#define snap(text) snap_at(__FILE__, __LINE__, text)

/* A JSON text of one line or several: as snap, with objects and arrays that do not fit a line
 * broken between their members. */
#define snap_json(text) snap_json_at(__FILE__, __LINE__, text)

/* The lines of a text that contain one of the parts, which '|' parts. */
#define snap_lines(text, parts) snap_lines_at(__FILE__, __LINE__, text, parts)

/* What differs from one build to the next: words are shown as mask from now on, in this test. */
void snap_mask(const char *words, const char *mask);

void snap_lines_at(const char *file, int line, const char *text, const char *parts);
void snap_at(const char *file, int line, const char *text);
void snap_json_at(const char *file, int line, const char *text);

#endif
