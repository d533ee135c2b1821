#include "tests/cli/export_rig.h"

#include "harness/op/ops_file.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { RIG_EVENT_COUNT_MAX = 1 << 16 };

const char told_list[] =
    "hbmstress-ops 1\ncapacity 64K\ngranule 512\ntarget hbm\noption defrag=repack\ntag 1 \"we,ights\"\n"
    "tag 2 \"jit_step\"\n\n"
    "0: alloc size=16000 tag=1 unpadded=180\n1: alloc size=16K\n2: alloc size=16K\n"
    "3: load size=4K stack=2K tag=2\n4: free block=1\n5: alloc size=20K\n6: alloc size=10K\n"
    "7: execute program=3 delay=1ms\n8: free_after block=0 delay=5ms\n9: advance delay=2ms\n"
    "10: alloc size=30K\n11: donate block=5 size=10K\n12: retire size=512 address=%0\n"
    "13: alloc size=60K\n14: free_after block=2 delay=5ms\n";

static void told_take(void *context, const struct export_event *event)
{
    struct told *told = context;
    ck_assert_uint_lt(told->count, RIG_EVENT_COUNT_MAX);
    told->events[told->count++] = *event;
}

void told_judged(void *context, const struct run *run, const struct verdict *verdict)
{
    struct told *told = context;
    block_events_take(told->block_events, run, verdict);
    if (told->feed.exporter != NULL) {
        export_feed_judged(&told->feed, run, verdict);
    }
}

void told_init(struct told *told, const struct exporter *exporter, FILE *stream)
{
    *told = (struct told){.count = 0};
    told->events = calloc(RIG_EVENT_COUNT_MAX, sizeof *told->events);
    told->block_events = block_events_create(told_take, told);
    ck_assert_ptr_nonnull(told->events);
    ck_assert_ptr_nonnull(told->block_events);
    if (exporter != NULL) {
        ck_assert(export_feed_init(&told->feed, exporter));
        told->feed.export.stream = stream;
    }
}

void told_deinit(struct told *told)
{
    export_feed_deinit(&told->feed);
    block_events_destroy(told->block_events);
    free(told->events);
}

void told_finish(struct told *told, const struct trial *trial)
{
    ck_assert(export_feed_finish(&told->feed, trial));
    fclose(told->feed.export.stream);
}

char *told_export(const char *ops, const struct exporter *exporter, struct told *told)
{
    struct setup setup;
    struct op_list list;
    struct ops_file_error error;
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    const struct run_listener listener = {told, told_judged};
    setup_init(&setup);
    op_list_init(&list);
    ck_assert_msg(ops_file_parse(ops, strlen(ops), &setup, &list, &error) == OPS_FILE_OK, "%s",
                  error.reason);
    told_init(told, exporter, stream);
    ck_assert_msg(trial_replay(target_find(setup.target), &setup, &list, &listener, &trial, reason),
                  "%s", reason);
    ck_assert_int_eq(trial.first.kind, VERDICT_NONE);
    told_finish(told, &trial);
    told->length = length;
    trial_deinit(&trial);
    op_list_deinit(&list);
    return text;
}
