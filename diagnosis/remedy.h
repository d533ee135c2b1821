/* Remedies: what a job could change so that an out-of-memory does not happen.  Each one turns a
 * setup and a list of ops into others that can be run, written and replayed like any list.
 * docs/what-if.md describes each of them. */
#ifndef DIAGNOSIS_REMEDY_H
#define DIAGNOSIS_REMEDY_H

#include "diagnosis/remedy_lives.h"
#include "diagnosis/remedy_steps.h"
#include "harness/op/op.h"
#include "harness/op/setup.h"
#include "harness/target.h"

/* The case that a remedy is applied to. ops: resolved (no relative references, no fits), one lane,
 * no OP_SWITCH, and every op of it acts when the list is run with the setup (remedy_case_init
 * checks none of that).  The caller owns all of it. */
struct remedy_case {
    const struct target *target;
    const struct target_contract *contract; /* as the target gave it for the setup */
    const struct setup *setup;              /* with a capacity */
    const struct op_list *ops;
    const bool *has_failed; /* by op: the device refused it something, and it made nothing; it stays
                             * in the list, because the fault that is meant for it would strike
                             * another op otherwise */
    struct remedy_lives lives;
    struct remedy_steps steps;
    const bool *
        named_tags; /* OP_TAG_COUNT of them: those whose checkpointing is asked for, and no others';
                     * NULL: those of the steps with most to gain.  remedy_case_init leaves NULL */
    bool has_tag;   /* a cause named a tag: remedies whose parameter is a tag look at no other.
                       remedy_case_init leaves false */
    uint8_t tag;
};
/* O(ops), with lists that have no period up to 256 times that of their requests. */
void remedy_case_init(struct remedy_case *given, const struct target *target,
                      const struct target_contract *contract, const struct setup *setup,
                      const struct op_list *ops, const bool *has_failed);
void remedy_case_deinit(struct remedy_case *given);

enum { REMEDY_NOTE_BYTES = 192, REMEDY_LABEL_BYTES = 64 };
/* A variant has at most so many ops for each of the list, and REMEDY_OPS_MORE besides. */
enum { REMEDY_OPS_FACTOR = 4, REMEDY_OPS_MORE = 1024 };

/* The result of a remedy: a variant of the list. */
struct remedy_result {
    struct setup setup;
    struct op_list ops;
    char note[REMEDY_NOTE_BYTES]; /* what was changed, in numbers; after a refusal: why it does not
                                     apply.  One line */
};
void remedy_result_init(struct remedy_result *result);
void remedy_result_deinit(struct remedy_result *result);
/* The note of a result: the format where count is above 0, which it returns, otherwise `none`. */
bool remedy_note(struct remedy_result *result, uint64_t count, const char *none, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));

/* The parameters of a remedy that are worth running. */
enum remedy_search {
    REMEDY_EACH,    /* every one */
    REMEDY_FIRST,   /* one after the other, from the smallest change, up to the first that fits */
    REMEDY_REFINED, /* the same; then what lies between it and the one before is halved, for the
                       smallest change */
    REMEDY_BISECTED /* a capacity: the smallest that fits */
};

/* One remedy; a constant. */
struct remedy {
    const char *name;           /* of files, too: letters, digits, '-' */
    const char *summary;        /* what is changed: one phrase */
    const char *parameter_name; /* what the parameter is; NULL: there is one only, 0 */
    const char *assumes;        /* what must be true for the answer to hold: one sentence */
    bool is_estimate;           /* the list does not say all that the change would do */
    enum remedy_search search;
    /* The index-th parameter that is worth a try, by growing change where search is not
     * REMEDY_EACH.  False: there are no more; with index 0: none at all, and note says why.  NULL:
     * 0 alone. */
    bool (*parameter)(const struct remedy_case *given, size_t index, uint64_t *parameter,
                      char note[REMEDY_NOTE_BYTES]);
    /* The parameter as a word of letters, digits, '.', '_' and '-'; never empty.  NULL: its number,
     * or nothing. */
    void (*label)(const struct remedy_case *given, uint64_t parameter,
                  char text[REMEDY_LABEL_BYTES]);
    /* Fills *result (initialised, empty).  False: it does not apply, and result->note says why; the
     * rest is unspecified. */
    bool (*apply)(const struct remedy_case *given, uint64_t parameter,
                  struct remedy_result *result);
};

#define REMEDY(name) extern const struct remedy remedy_##name;
#include "diagnosis/remedies/list.h"
#undef REMEDY

/* The remedies of diagnosis/remedies/list.h, in its order; ends with NULL. */
extern const struct remedy *const remedies[];
const struct remedy *remedy_find(const char *name); /* NULL when there is none */

/* Applies it, and refuses what grew too long.  *result: initialised, empty. */
bool remedy_apply(const struct remedy *remedy, const struct remedy_case *given, uint64_t parameter,
                  struct remedy_result *result);
/* "name" or "name-label", for tables and files. */
enum { REMEDY_TITLE_BYTES = 2 * REMEDY_LABEL_BYTES };
void remedy_title(const struct remedy *remedy, const struct remedy_case *given, uint64_t parameter,
                  char text[REMEDY_TITLE_BYTES]);

#endif
