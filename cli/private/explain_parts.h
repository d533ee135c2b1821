/* What explain says of one moment of a run, and its forms: words (explain_words.c), JSON
 * (explain_json.c), and in both the causes (explain_causes.c).  Only these and explain.c include
 * it. */
#ifndef CLI_PRIVATE_EXPLAIN_PARTS_H
#define CLI_PRIVATE_EXPLAIN_PARTS_H

#include "cli/arguments.h"
#include "cli/occupancy.h"
#include "cli/recording.h"
#include "diagnosis/history.h"
#include "harness/base/writing.h"
#include "harness/lanes/lanes_list.h"
#include "harness/run/run.h"

/* What is explained; op is NULL when the last promises broke, after the list, or when nothing
 * happened. */
struct explanation {
    const struct run *run;
    const struct verdict *verdict;
    const struct op *op;
    const struct target_contract *contract;
    const struct arguments *arguments; /* FILE is their first word */
    const struct recording *recording; /* FILE */
    bool is_json;
    struct history *history; /* until this moment */
    struct occupancy occupancy;
    struct writing text;
};

/* The name of a tag, or "tag N". */
const char *explain_tag_name(const struct run *run, uint8_t tag, char name[SETUP_NAME_BYTES]);

/* Each appends to the text. */
void explain_in_words(struct explanation *explanation);
void explain_in_json(struct explanation *explanation);
/* The line of a list of op_count ops without an out-of-memory that keeps every promise. */
void explain_nothing_in_json(struct explanation *explanation, size_t op_count);
/* The causes, the surest first; has_failed: there is a verdict, which is said already.  Of a list
 * without any only a leak is told.  Nothing of a broken promise that is no out-of-memory. */
void explain_causes(struct explanation *explanation);

/* What the list has and FILE does not say; nothing where nothing is assumed. */
void explain_assumed(struct explanation *explanation);

#endif
