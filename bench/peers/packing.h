/* Measures how much memory a list needs if nothing moves. */
#ifndef BENCH_PEERS_PACKING_H
#define BENCH_PEERS_PACKING_H

/* Prints a table of all subjects and policies over the lists of these files, which any importer
 * reads (static planning, .ops).  2 after one message: a file cannot be read, or no list. */
int packing_print(char *const *paths, int count);

#endif
