/* Finds the line of its file in which an op stands. */
#ifndef RECORDING_OP_LINE_H
#define RECORDING_OP_LINE_H

#include <stddef.h>
#include <stdint.h>

/* Returns the line, from 1.  0: not known, as the file is no plain .ops file that can be read
 * (standard input, a trace, a packed list), or has no such op.  O(length of the file). */
size_t op_line_find(const char *path, uint32_t op);

#endif
