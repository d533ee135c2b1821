/* Target options, "key=value", read by every target of this folder.  Each function writes one line
 * that names the option and its valid values when it does not accept one. */
#ifndef TARGETS_PRIVATE_OPTION_H
#define TARGETS_PRIVATE_OPTION_H

#include "harness/target.h"

/* Where a refusal is written: text[bytes], always ended with NUL. */
struct option_reason {
    char *text;
    size_t bytes;
};

bool option_is(const struct target_option *option, const char *key);

/* Each sets *value and returns true, or leaves it and explains in reason. */
bool option_read_flag(const struct target_option *option, bool *value,
                      const struct option_reason *reason);
/* valid: words with ", " between them; *index counts them from 0. */
bool option_read_word(const struct target_option *option, const char *valid, unsigned *index,
                      const struct option_reason *reason);
/* ranges, hidden, pages. */
bool option_read_placement(const struct target_option *option, enum placement *value,
                           const struct option_reason *reason);
bool option_read_defrag(const struct target_option *option, enum defrag_contract *value,
                        const struct option_reason *reason);
/* granule; pow2, which is one size class in each doubling; classes8. */
bool option_read_rounding(const struct target_option *option, struct target_rounding *value,
                          const struct option_reason *reason);
/* undeclared, constant, logarithmic, linear. */
bool option_read_growth(const struct target_option *option, enum target_growth *value,
                        const struct option_reason *reason);
/* none, keeps, discards. */
bool option_read_sleep(const struct target_option *option, enum sleep_contract *value,
                       const struct option_reason *reason);
/* A power of two, 1..65536, as 512 or 16K. */
bool option_read_granule(const struct target_option *option, uint64_t *value,
                         const struct option_reason *reason);
/* A size of at least 1, as 512 or 1M. */
bool option_read_size(const struct target_option *option, uint64_t *value,
                      const struct option_reason *reason);
/* A permutation of drain,defragment,evict. */
bool option_read_order(const struct target_option *option,
                       enum mitigation value[MITIGATION_ORDER_COUNT],
                       const struct option_reason *reason);

/* Explains that there is no such key; help is the target's option_help.  Returns false. */
bool option_refuse_key(const struct target_option *option, const char *help,
                       const struct option_reason *reason);

/* Whether capacity and granule of a device go together; explains if not. */
bool option_check_device(uint64_t capacity_bytes, uint64_t granule_bytes,
                         const struct option_reason *reason);

#endif
