/* An instance of the target threaded or of a race, which threaded/open.c makes and its calls use.
 */
#ifndef TARGETS_THREADED_OPEN_H
#define TARGETS_THREADED_OPEN_H

#include "targets/threaded/heap.h"

#define THREADED_OPTION_HELP "defrag=none|slide\ngranule=N\nprogram_evicts_program=yes|no\n"

struct target_instance {
    struct threaded_heap heap;
    pthread_key_t message; /* the text of the thread's last failure */
};

/* A target's open() of the variant. */
enum target_result threaded_open(enum threaded_race race, const struct target_setup *setup,
                                 const struct device_services *device, struct target_instance **out,
                                 struct target_contract *contract, char *text, size_t text_bytes);
void threaded_close(struct target_instance *instance); /* when no call is under way */

#endif
