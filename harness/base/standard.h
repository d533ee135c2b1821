/* Standard output and standard error of the program.  A process that runs a target gives the
 * descriptors 1 and 2 to that target, so what the program prints itself goes through here. */
#ifndef HARNESS_BASE_STANDARD_H
#define HARNESS_BASE_STANDARD_H

#include <stdio.h>

/* stdout and stderr, or after standard_keep() streams of our own on the same files.  Not for two
 * threads at once. */
FILE *standard_output(void);
FILE *standard_error(void);

/* From here on the two are on copies of the descriptors 1 and 2, which are free then.  The copies
 * have numbers of at least file_min and are closed by an exec.  A stream that cannot be copied
 * stays where it is.  Called again it does nothing. */
void standard_keep(int file_min);
/* They are stdout and stderr again; the copies are closed. */
void standard_drop(void);
/* Their descriptors: 1 and 2, or those of the copies. */
int standard_output_file(void);
int standard_error_file(void);

#endif
