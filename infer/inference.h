/* What all experiments on one target show of its contract: line by line what it declares, what was
 * inferred, and whether an experiment refutes a promise. */
#ifndef INFER_INFERENCE_H
#define INFER_INFERENCE_H

#include "infer/experiment.h"

#include "harness/oracle/rule.h"

enum { INFERENCE_TEXT_BYTES = 192, INFERENCE_SEEN_BYTES = VERDICT_REASON_BYTES + 64 };

/* Everything that was seen: EXPERIMENT_COUNT traces each, the caller's.  One that was not made has
 * neither is_opened nor is_dead. */
struct inference {
    const struct target *target;
    struct lab_trace *declared; /* under the target's own contract */
    struct lab_trace *claimed;  /* with the claim of the experiment besides */
};

/* What the target declares: as in the first experiment that it survived. */
const struct target_contract *inference_contract(const struct inference *inference);

/* The lines, in the order in which they are printed: members of struct target_contract, then what
 * it has no member for. */
enum inference_field {
#define FLAG(name, experiment) FIELD_##name,
#define FIELD(name, experiment) FIELD_##name,
#define FACT(name, experiment) FIELD_##name,
#include "infer/field_list.h"
#undef FLAG
#undef FIELD
#undef FACT
    FIELD_COUNT
};

enum inference_verdict {
    INFERENCE_KEPT = 0,   /* declared, and no experiment refutes it */
    INFERENCE_REFUTED,    /* an experiment shows that a promise is not kept */
    INFERENCE_UNDECLARED, /* not promised, and kept in every experiment */
    INFERENCE_OPEN        /* no experiment shows it */
};
const char *inference_verdict_name(enum inference_verdict verdict); /* "kept", ... */

struct inference_line {
    const char *name;
    bool is_member;                      /* of struct target_contract */
    char declared[INFERENCE_TEXT_BYTES]; /* in C; "" where the contract has no member */
    char inferred[INFERENCE_TEXT_BYTES]; /* the same; "" = nothing is known */
    enum inference_verdict verdict;
    enum experiment_number experiment; /* that shows it best, or refutes it; EXPERIMENT_COUNT: none
                                          does */
    uint32_t op;                       /* of it; OP_NONE */
    char expected[INFERENCE_TEXT_BYTES]; /* refuted: what was promised */
    char seen[INFERENCE_SEEN_BYTES];     /* what was seen, or why nothing was */
};

/* The target orders frees by streams, whether it declares that or not. */
bool inference_is_stream_ordered(const struct inference *inference);
/* It takes regions of the device, whether it declares that or not. */
bool inference_takes_regions(const struct inference *inference);

/* The tightest rounding that allows every block that was seen; false: none was seen, and *rounding
 * is untouched. */
bool inference_rounding(const struct inference *inference, struct target_rounding *rounding);

const char *inference_field_name(enum inference_field field); /* "granule_bytes" */
/* What the contract says of the field, in C; text stays as it is where it has no member for it. */
void inference_declared(enum inference_field field, const struct target_contract *contract,
                        char text[INFERENCE_TEXT_BYTES]);
/* The line of a field. */
void inference_read(const struct inference *inference, enum inference_field field,
                    struct inference_line *line);
/* The line of a rule that no field stands for: kept, or refuted by its first finding. */
void inference_read_rule(const struct inference *inference, enum rule rule,
                         struct inference_line *line);
/* What to declare: what is kept, or what was inferred where that is more, or where a promise was
 * refuted. */
const char *inference_value(const struct inference_line *line);

#endif
