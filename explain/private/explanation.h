/* What explain knows of a list after its two runs, and the parts of what it tells; each part fills
 * facts, in words and for JSON. */
#ifndef EXPLAIN_PRIVATE_EXPLANATION_H
#define EXPLAIN_PRIVATE_EXPLANATION_H

#include "diagnosis/diagnosis.h"
#include "diagnosis/history.h"
#include "diagnosis/what_if_trial.h"
#include "explain/explain.h"
#include "harness/lanes/lanes_list.h"
#include "harness/run/run.h"
#include "measure/headroom.h"
#include "present/facts.h"
#include "present/memory_track.h"
#include "recording/list_growth.h"
#include "recording/occupancy.h"
#include "recording/step_axis.h"

/* --- the first of the two runs: what is to be explained, and when each host was fullest --- */

/* A timeline has one row for each step or, where there are more, for a share of them. */
enum { SURVEY_ROW_COUNT = 32 };

/* When the most was in use, the stack counted, fillers and retired memory not.  Turns count the ops
 * in the order in which they were judged, from 0: without lanes that is their number. */
struct survey_peak {
    bool is_seen;
    uint32_t op;
    uint64_t turn, bytes;
};

/* What is in use over time, by host; retired memory is no part of a device.  A plain value of 13
 * MiB; all zero = nothing was added. */
struct survey_curves {
    bool is_refused; /* behind a refusal the list is no longer what the job did: nothing grows */
    struct memory_track tracks[OP_HOST_COUNT_MAX];
    struct list_use uses[OP_HOST_COUNT_MAX];
};

/* steps and curves outlive it.  2 MiB at most. */
struct survey {
    const struct step_axis *steps;
    struct survey_curves *curves; /* of all that is heard; NULL: not wanted */
    uint64_t turn, turn_count;    /* the next one; that there will be */
    unsigned filler_tag;
    uint64_t capacities[OP_HOST_COUNT_MAX];
    struct survey_peak peaks[OP_HOST_COUNT_MAX];
    struct survey_peak rows[OP_HOST_COUNT_MAX][SURVEY_ROW_COUNT];
};

void survey_init(struct survey *survey, const struct step_axis *steps, const struct setup *setup,
                 uint64_t turn_count);
/* After each op; what comes after the list is left out.  O(log steps). */
void survey_hear(struct survey *survey, const struct run *run);
/* The host that filled the largest share of its device, the first of equals. */
uint32_t survey_fullest_host(const struct survey *survey);
/* What is in use on the host now, as a survey counts it. */
uint64_t survey_in_use(const struct survey *survey, const struct run *run, uint32_t host);

/* --- the second run: the state of the moment that is described --- */

/* The heap as a picture of few parts: part i is [i, i + 1) * capacity / HEAP_MAP_PART_COUNT; the
 * rest of a part is free. */
enum { HEAP_MAP_PART_COUNT = 64 };
struct heap_part {
    uint64_t bytes;
    uint64_t used_bytes; /* of blocks that may move, idle programs as well */
    uint64_t held_bytes; /* that may not: held, in use, queued frees, retired, the stack */
};
struct heap_map {
    bool has_places; /* false: the allocator tells nobody where its blocks lie; parts are empty */
    struct heap_part parts[HEAP_MAP_PART_COUNT];
};
/* Nothing moves under DEFRAG_NONE: all blocks count as used, those that are held apart.
 * O(blocks). */
void heap_map_take(const struct model *model, struct heap_map *map);

/* The state of one host: at the failure, or where nothing failed at its peak. */
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
    bool is_served;                 /* the request that failed by FILE is served on its list */
    struct history *history;        /* until this moment */
    struct hangs hangs;             /* of the job, in the first run that comes to its end */
    struct standstills standstills; /* of the clients, in the same */
    struct shortages shortages;     /* of the device that hosts share, in the same */
    struct what_if_trial *trial;    /* of the remedies; NULL: none was tried yet */
    struct explain_best best;
    struct facts facts;
    struct facts_column holder_columns[5], row_columns[7]; /* of tables */
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

/* After each op of the second run, until what is explained is there: what is in use over time, the
 * moment of the peak, the rows of the timeline. */
void explain_hear(struct explanation *explanation, const struct run *run);
/* Takes the moment: the last op of the run, on that host.  After a broken promise without headroom:
 * what it broke may be what that relies on. */
void explain_take_moment(struct explanation *explanation, const struct run *run, uint32_t host,
                         uint32_t op);

/* --- what the parts share --- */

/* The name of a tag, or "tag N", within a call. */
struct tag_text explain_tag_name(const struct explanation *explanation, uint8_t tag);
/* NULL: nobody knows the system that the list comes from. */
const struct system *explain_system(const struct explanation *explanation);
/* "the target", or the allocator that the reader's system has. */
const char *explain_allocator(const struct explanation *explanation);
/* Whether blocks move: where the reader's system moves nothing they do not, whatever the target
 * that its list runs on may do. */
bool explain_may_move(const struct explanation *explanation);
/* "The device", "The GPU", or with several hosts "GPU 3", within a call. */
struct device_text {
    char text[SETUP_NAME_BYTES];
};
struct device_text explain_device(const struct explanation *explanation, uint32_t host);
/* Whether the capacity is no fact of FILE, but chosen by its importer: the assumption on it begins
 * with "capacity ". */
bool explain_capacity_is_assumed(const struct explanation *explanation);

/* before, and "step 12" or, where the file does not number them, "about step 12"; "" where none is
 * known. */
struct step_text {
    char text[48];
};
struct step_text explain_step(const struct step_axis *steps, uint32_t op, const char *before);
/* Its step as members of the open record, where it is known; with the op before it. */
void explain_add_step(struct facts *facts, const struct step_axis *steps, uint32_t op);
void explain_add_op(struct facts *facts, const struct step_axis *steps, uint32_t op);
/* Each of those lines: a record of that type with its text, and an item below the heading.  Nothing
 * where there are none. */
void explain_lines(struct facts *facts, const char *heading, const char *type, const char *lines);
/* What to do next, the last line. */
void explain_say_next(struct facts *facts, const char *next);
/* "the file says, in line 7: …", of a message that is there. */
void explain_say_message(struct facts *facts, const struct recording *recording);

/* --- the whole --- */

/* What is said of the op that was run last. */
void explain_now(struct explanation *explanation, const struct run *run,
                 const struct verdict *verdict);
/* What is said where nothing failed, before the run is finished: after that nothing is live. */
void explain_without_oom(struct explanation *explanation, const struct run *run);
/* That nothing failed; excused_count: out-of-memories that cannot be judged. */
void explain_nothing(struct explanation *explanation, const struct op_list *ops,
                     uint64_t excused_count);

/* --- the parts --- */

/* The failure: the request, the room that it had, the verdict. */
void explain_failure(struct explanation *explanation);
/* Who holds the memory of the moment, as a table with that heading. */
void explain_holders(struct explanation *explanation, const char *heading);
/* The same as members of the open record. */
void explain_add_holders(struct explanation *explanation);
/* Of the moment: the peak, who holds it. */
void explain_peak(struct explanation *explanation);
/* Of the moment: what is lost to fragmentation, the largest request, the smallest capacities, the
 * point of no return; with --timeline the same over time. */
void explain_numbers(struct explanation *explanation);
/* Memory over time; in words also the heap. */
void explain_pictures(struct explanation *explanation);
/* The document of --svg: memory over time, and the heap, of the moment. */
void explain_draw_svg(struct explanation *explanation);
/* Who waited in vain for another host, and why that one did not come; which clients all waited for
 * memory; who had the memory of a shared device.  Nothing where nobody did. */
void explain_waits(struct explanation *explanation);
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
/* What to do next, the last line; nothing where there is nothing to do. */
void explain_next(struct explanation *explanation);

/* A phrase on a forecast, within a call: until which step a list that grows fits, or to the step
 * that its job was headed for.  until_step: setup.until_step; 0 = nobody knows it. */
struct projection_text {
    char text[192];
};
struct projection_text projection_text_of(const struct projection *projection, uint64_t until_step);
/* The same as members of the open record: full_step and its bounds, and where it is known
 * until_step, with fits_to_until: yes, no or perhaps. */
void projection_add(struct facts *facts, const struct projection *projection, uint64_t until_step);

#endif
