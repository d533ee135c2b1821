/* Describes how one variant of a list ran: a row of the table of diagnosis/what_if.h. */
#ifndef DIAGNOSIS_WHAT_IF_ROW_H
#define DIAGNOSIS_WHAT_IF_ROW_H

#include "diagnosis/advice.h"
#include "diagnosis/forecast.h"
#include "harness/run/run.h"

/* The way a variant ended. */
enum what_if_end {
    WHAT_IF_FITS, /* no out-of-memory and no broken promise, those after the last op included */
    WHAT_IF_NO_MEMORY,     /* an out-of-memory at failed_op */
    WHAT_IF_BROKEN,        /* another promise broke at failed_op */
    WHAT_IF_REFUSED,       /* the target refused the setup */
    WHAT_IF_DOES_NOT_APPLY /* there is no such variant; note says why */
};

struct what_if_row {
    const struct remedy *remedy; /* NULL: the list as it is */
    uint64_t parameter;
    char title[REMEDY_TITLE_BYTES]; /* "as-it-is", "chip-v5p" */
    enum what_if_end end;
    bool is_smallest; /* of its remedy, the smallest change that fits */
    uint64_t capacity_bytes;
    uint64_t peak_bytes; /* the most in use, stack included, fillers (SETUP_FILLER_NAME) and retired
                          * memory left out, on any one host; up to where it failed */
    uint64_t headroom_bytes; /* the least that a host had besides: capacity, less what is retired
                                and in use */
    uint64_t largest_hole_bytes; /* at that moment on that host; at the failure when there is one */
    uint64_t op_count;           /* of the variant */
    uint32_t failed_op;          /* in the variant */
    uint64_t requested_bytes;    /* of the request that failed */
    struct projection full; /* the list grows, and so does this one; at 0: it does not, or it fails
                               before */
    char note[REMEDY_NOTE_BYTES];
    char sign[ADVICE_SIGN_BYTES]; /* as by advice_sign */
};

/* "fits", "out of memory", "broken", "refused", "does not apply". */
const char *what_if_end_name(enum what_if_end end);
/* The advice of the row in the words of the system, "" without a remedy. */
void what_if_advice(const struct setup *setup, const struct what_if_row *row,
                    char words[ADVICE_WORDS_BYTES]);
/* headroom_bytes; 0 when it does not fit. */
uint64_t what_if_headroom_bytes(const struct what_if_row *row);

/* The outcome of the list that the variants start from. */
enum what_if_result {
    WHAT_IF_DONE,
    WHAT_IF_PROMISE_BROKE, /* the first thing that goes wrong in the list is no out-of-memory:
                              nothing is tried */
    WHAT_IF_TARGET_REFUSED /* the target refuses the setup of the list */
};

#endif
