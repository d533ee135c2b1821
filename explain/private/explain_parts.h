/* What explain says of one moment of a run, and its forms: words (words.c), JSON (json.c), and in
 * both the causes (causes.c), numbers, and the rest. */
#ifndef EXPLAIN_PRIVATE_EXPLAIN_PARTS_H
#define EXPLAIN_PRIVATE_EXPLAIN_PARTS_H

#include "diagnosis/diagnosis.h"
#include "diagnosis/history.h"
#include "diagnosis/what_if_trial.h"
#include "explain/heap_map.h"
#include "explain/options.h"
#include "explain/private/survey.h"
#include "harness/base/writing.h"
#include "harness/lanes/lanes_list.h"
#include "harness/run/run.h"
#include "measure/headroom.h"
#include "recording/occupancy.h"
#include "recording/recording.h"

/* The state of one host that is described: at the failure, or where nothing failed at its peak. */
struct moment {
    bool is_taken;
    uint32_t host, op;
    struct occupancy occupancy;
    struct headroom headroom;
    struct heap_map heap;
};

/* A row of the timeline: the fullest moment of a step, or of a share of the list. */
struct moment_row {
    uint32_t op;
    struct headroom headroom;
};

/* What to do next, of all remedies that were tried. */
struct explain_best {
    bool is_there, is_tried, fits, is_estimate;
    char words[ADVICE_WORDS_BYTES];
};

/* What is explained; op is NULL when the last promises broke, after the list, or when nothing
 * happened. */
struct explanation {
    const struct run *run;
    const struct verdict *verdict;
    const struct op *op;
    const struct target_contract *contract;
    const struct explain_options *options; /* FILE is their first word */
    const struct recording *recording;     /* FILE */
    bool is_json;
    bool is_served;          /* the request that failed by FILE is served on its list */
    struct history *history; /* until this moment */
    struct occupancy occupancy;
    struct hangs hangs;             /* of the job, in the first run that comes to its end */
    struct standstills standstills; /* of the clients, in the same */
    struct shortages shortages;     /* of the device that hosts share, in the same */
    struct what_if_trial *trial;    /* of the remedies; NULL: none was tried yet */
    struct explain_best best;
    struct writing text;
    const struct step_axis *steps;
    const struct survey *survey;
    uint32_t host; /* that is looked at: where it failed; else that which was fullest */
    uint64_t turn; /* of the next op, as in struct survey */
    struct moment moment;
    struct oracle_largest largest; /* in place of the request that ran out of memory */
    struct survey_curves *curves;  /* until this moment */
    bool is_alarmed;               /* a host filled the share of its device that options name */
    /* row_count of them, of host; --timeline; the last one may be the failure */
    struct moment_row rows[SURVEY_ROW_COUNT + 1];
    size_t row_count, row_next;
    struct oracle *oracle; /* and oom: scratch of headroom_take() */
    struct oom oom;
    struct writing svg; /* --svg */
};

/* The name of a tag, or "tag N". */
const char *explain_tag_name(const struct run *run, uint8_t tag, char name[SETUP_NAME_BYTES]);

/* After each op of the second run, until what is explained is there: what is in use over time, the
 * moment of the peak, the rows of the timeline. */
void explain_hear(struct explanation *explanation, const struct run *run);
/* Takes the moment: the last op of the run, on that host.  After a broken promise without headroom:
 * what it broke may be what that relies on. */
void explain_take_moment(struct explanation *explanation, const struct run *run, uint32_t host,
                         uint32_t op);

/* "the target", or the allocator that the reader's system has. */
const char *explain_allocator(const struct explanation *explanation);
/* Whether blocks move: where the reader's system moves nothing they do not, whatever the target
 * that its list runs on may do. */
bool explain_may_move(const struct explanation *explanation);
/* "The device", "The GPU", or with several hosts "GPU 3". */
const char *explain_device(const struct explanation *explanation, uint32_t host,
                           char name[DEVICE_NAME_BYTES]);

/* What is said of the op that was run last. */
void explain_now(struct explanation *explanation, const struct run *run,
                 const struct verdict *verdict);
/* What is said where nothing failed, before the run is finished: after that nothing is live. */
void explain_without_oom(struct explanation *explanation, const struct run *run);
/* That nothing failed; excused_count: out-of-memories that cannot be judged. */
void explain_nothing(struct explanation *explanation, const struct op_list *ops,
                     uint64_t excused_count);

/* The last request that failed by the file, on the device and with the target of the file; OP_NONE:
 * there is none, or the command line has others. */
uint32_t explain_find_said_failure(const struct explanation *explanation);
/* That this request failed by the file and is served on its list: the verdict is unknown. */
void explain_served(struct explanation *explanation, uint32_t failed);

/* Each appends to the text. */
/* Who holds the memory of explanation->occupancy, as a table with that heading. */
void explain_holders(struct explanation *explanation, const char *heading, uint32_t now);
/* The same as members of the open object. */
void explain_holders_in_json(struct explanation *explanation);
/* Of the moment: the peak, who holds it. */
void explain_peak(struct explanation *explanation);
/* Of the moment: what is lost to fragmentation, the largest request, the smallest capacities, the
 * point of no return; with --timeline the same over time. */
void explain_numbers(struct explanation *explanation);
/* Memory over time; in words also the heap. */
void explain_pictures(struct explanation *explanation);
/* The document of --svg: memory over time, and the heap, of the moment. */
void explain_draw_svg(struct explanation *explanation);
void explain_in_words(struct explanation *explanation);
void explain_in_json(struct explanation *explanation);
/* The line of a list of op_count ops without an out-of-memory, excused_count that cannot be judged
 * apart, that keeps every promise. */
void explain_nothing_in_json(struct explanation *explanation, size_t op_count,
                             uint64_t excused_count);
/* Of an unknown verdict on a message: what it depends on, and what would settle it; of any other
 * nothing.  The JSON: members of the explanation's line. */
bool explain_has_settle(const struct explanation *explanation);
void explain_settle(struct explanation *explanation);
void explain_settle_in_json(struct explanation *explanation);
/* Who waited in vain for another host, and why that one did not come; which clients all waited for
 * memory.  Nothing where nobody did. */
void explain_hangs(struct explanation *explanation);
/* Who had the memory of a shared device when another host ran out; nothing where none did. */
void explain_shortages(struct explanation *explanation);
/* The causes, the surest first; has_failed: there is a verdict, which is said already.  Of a list
 * without any only a leak is told.  Nothing of a broken promise that is no out-of-memory. */
void explain_causes(struct explanation *explanation);

/* The remedy of a cause, right after it; nothing where it has none that applies, nor of exhausted
 * where that of another cause fits. */
void explain_remedy(struct explanation *explanation, const struct diagnosis *diagnosis);
/* After the causes, where nothing ran out of memory: when it will. */
void explain_forecast(struct explanation *explanation);
/* Of a list with steps and a capacity that is a fact: the largest batch that fits. */
void explain_largest_batch(struct explanation *explanation);
/* Where nothing failed, and the arena of the system keeps what nothing uses any more: how much, and
 * how it comes back. */
void explain_give_back(struct explanation *explanation);
/* Of a PyTorch trace: what each setting of its allocator would have done. */
void explain_settings(struct explanation *explanation);
/* Whether the capacity is no fact of FILE, but chosen by its importer: the assumption on it begins
 * with "capacity ". */
bool explain_capacity_is_assumed(const struct explanation *explanation);
/* What to do next, the last line; nothing where there is nothing to do. */
void explain_next(struct explanation *explanation);

/* What FILE says beside the ops (import_tell), and what the list has and FILE does not say; each
 * nothing where there is nothing. */
void explain_told(struct explanation *explanation);
void explain_assumed(struct explanation *explanation);

#endif
