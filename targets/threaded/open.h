/* An instance of the target threaded or of a race, which threaded/open.c makes and its calls use.
 */
#ifndef TARGETS_THREADED_OPEN_H
#define TARGETS_THREADED_OPEN_H

#include "targets/private/option.h"
#include "targets/threaded/heap.h"

/* Kept in its contract. */
#define THREADED_OPTION_ROWS                                              \
    OPTION_WORDS("defrag", "none|slide", struct target_contract, defrag), \
        OPTION_GRANULE(struct target_contract, granule_bytes),            \
        OPTION_YES_NO("program_evicts_program", struct target_contract, program_evicts_program)
extern const struct target_option_row threaded_option_rows[];

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
