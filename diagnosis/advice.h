/* Describes a remedy in the words of the system that a list comes from: the flag or the line of
 * code for it, and whether results change. docs/advice.md has a section for each. */
#ifndef DIAGNOSIS_ADVICE_H
#define DIAGNOSIS_ADVICE_H

#include "diagnosis/remedy.h"

/* Tells whether the job computes the same numbers afterwards. */
enum advice_results {
    ADVICE_SAME = 0, /* bit by bit */
    ADVICE_ROUNDING, /* sums are formed in another order */
    ADVICE_OTHER     /* it computes something else */
};
/* "same", "rounding", "other". */
const char *advice_results_name(enum advice_results results);

/* The sentence, without its full stop, that tells users of the system what to do for the remedy.
 * system is setup.system; "": nobody knows it.  The sentence may have ADVICE_TAG and ADVICE_VALUE
 * where the name of the tag and the value of the parameter belong.  NULL: they cannot do it, and
 * the remedy is no row of theirs.  For an unknown system only pages is left out. */
#define ADVICE_TAG "{tag}"
#define ADVICE_VALUE "{n}"
enum { ADVICE_WORDS_BYTES = 384 };
const char *advice_words(const struct remedy *remedy, const char *system);
enum advice_results advice_results(const struct remedy *remedy);
/* advice_words with both: the value is that of the title, as "2" of "batch-2", or n where it has
 * none.  Cut to `bytes`.  Empty where there are no words. */
void advice_write(const struct remedy *remedy, const char *system, const char *tag_name,
                  const char *title, char *text, size_t bytes);

/* Writes the sign in the list that the remedy would help: the tags live at its end whose names
 * point to the remedy, or how much is padding.  Empty: there is no sign.  O(ops). */
enum { ADVICE_SIGN_BYTES = 160 };
void advice_sign(const struct remedy *remedy, const struct remedy_case *given,
                 char text[ADVICE_SIGN_BYTES]);

/* True if a name suggests parameters or optimizer state, which do not grow with the batch.  The
 * second one: true if it suggests 32-bit floats. */
bool advice_name_is_of_model(const char *name);
bool advice_name_is_float32(const char *name);

#endif
