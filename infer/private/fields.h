/* What the functions that infer the fields of infer/field_list.h share. */
#ifndef INFER_PRIVATE_FIELDS_H
#define INFER_PRIVATE_FIELDS_H

#include "infer/inference.h"

/* Each sets what it infers, the verdict, and where another experiment than the row's shows it, that
 * one. */
#define FLAG(name, experiment) \
    void infer_##name(const struct inference *inference, struct inference_line *line);
#define FIELD(name, experiment) FLAG(name, experiment)
#define FACT(name, experiment) FLAG(name, experiment)
#include "infer/field_list.h"
#undef FLAG
#undef FIELD
#undef FACT

/* What the contract says of a FIELD, in C. */
#define FLAG(name, experiment)
#define FIELD(name, experiment) \
    void declare_##name(const struct target_contract *contract, char *text);
#define FACT(name, experiment)
#include "infer/field_list.h"
#undef FLAG
#undef FIELD
#undef FACT

/* What one request shows of a mitigation. */
enum mitigation_answer {
    ANSWER_OPEN = 0, /* nothing: it was not made, or needed no mitigation */
    ANSWER_YES,      /* granted after the device call that the mitigation makes */
    ANSWER_NO        /* refused */
};
/* letter: the device call, as a sight has it. */
enum mitigation_answer field_answer(const struct lab_trace *trace, char letter);
/* Both must say yes. */
enum mitigation_answer field_join(enum mitigation_answer first, enum mitigation_answer second);

/* Sets what was inferred, in C. */
void field_infer(struct inference_line *line, const char *text);
/* Sets what was seen, or why nothing was. */
void field_see(struct inference_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What is declared: a finding against it is looked for with those of all fields. */
void field_keep_declared(struct inference_line *line);
/* Sets what was inferred of a flag, and compares it with what is declared. */
void field_compare(struct inference_line *line, enum mitigation_answer answer);

/* The trace of the experiment: with its claim, where the contract does not make it. */
const struct lab_trace *field_trace(const struct inference *inference,
                                    enum experiment_number number);
/* A claim was kept: its experiment was made to its end, and no finding speaks against it. */
bool field_claim_is_kept(const struct lab_trace *trace);

/* Behind the first `used` characters: ", .NAME = AMOUNT", or nothing if it is 0.  Returns how many
 * that is. */
size_t field_print_amount(char text[INFERENCE_TEXT_BYTES], size_t used, const char *name,
                          uint64_t amount);
/* As they stand in a contract. */
const char *field_print_flag(bool value);
void field_print_order(const enum mitigation *order, char text[INFERENCE_TEXT_BYTES]);
void field_print_rounding(const struct target_rounding *rounding, char text[INFERENCE_TEXT_BYTES]);

/* --- which rounding describes sizes --- */

/* One request and the block that it got: 1 <= asked_bytes <= block_bytes <= 2^63. */
struct size_pair {
    uint64_t asked_bytes, block_bytes;
};

struct size_fit {
    struct target_rounding rounding; /* no pair is above it; ROUNDING_ANY: nothing fits */
    uint64_t slack_bytes;            /* the most that a block is below what it allows; 0 = exact */
};

/* Fits the rounding to pairs[count].  Of all that allow every pair it is the one whose bounds are
 * lowest in sum, and of equals the simplest: granules before classes, few classes before many.
 * limit_bytes: an overhead of this or more is no fit.  granule_bytes: a power of two up to 2^30.
 * Pure. */
struct size_fit size_fit_find(const struct size_pair *pairs, size_t count, uint64_t granule_bytes,
                              uint64_t limit_bytes);

#endif
