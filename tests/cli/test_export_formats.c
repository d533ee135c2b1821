/* What goes out in the words of other tools is as they write it, and comes in again as the same
 * requests. */
#include "formats/formats.h"
#include "formats/torch/private/plain.h"
#include "harness/op/ops_file.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"
#include "tests/cli/export_rig.h"
#include "tests/formats/plain_json.h"
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- RMM --- */

static const char plain_list[] =
    "hbmstress-ops 1\ncapacity 1M\ngranule 512\ntarget hbm\noption defrag=none\n\n"
    "0: alloc size=100000\n1: alloc size=512\n2: alloc size=700\n3: free block=1\n"
    "4: alloc size=2M\n5: advance delay=90m\n6: alloc size=300K\n7: free block=0\n"
    "8: alloc size=12345\n9: free block=6\n";

EVERY_TEST(.timeout_s = 300);

static bool import_exported(const char *format, const char *text, size_t length,
                            struct import *import)
{
    struct import_error error = {0};
    import_init(import);
    ck_assert_msg(import_text(text, length, "auto", NULL, import, &error) == IMPORT_OK, "%zu: %s",
                  error.line, error.reason);
    ck_assert_str_eq(import->format->name, format);
    return true;
}

/* The requests and frees of an import; a block of PyTorch is rounded, and its request is meant. */
static void snap_requests(const struct op_list *ops)
{
    struct writing requests = {0};
    for (size_t i = 0; i < ops->count; i++) {
        char text[OP_TEXT_BYTES];
        const struct op *op = &ops->ops[i];
        if (op->kind != OP_ALLOC && op->kind != OP_FREE) {
            continue;
        }
        struct op plain = op_make((enum op_kind)op->kind);
        plain.ref = op->kind == OP_FREE ? op->ref : OP_NONE;
        plain.size_bytes = op->kind == OP_ALLOC && op->unpadded_bytes != 0 ? op->unpadded_bytes
                                                                           : op->size_bytes;
        writing_append_format(&requests, "%s\n", op_print(&plain, text));
    }
    snap(writing_string(&requests));
    writing_deinit(&requests);
}

/* What is written, and that it comes in as the requests and frees of the plain list. */
static void check_comes_back(const struct exporter *exporter, const char *format)
{
    struct told told;
    static struct import import;
    char *text = told_export(plain_list, exporter, &told);
    ck_assert(import_exported(format, text, told.length, &import));
    snap_requests(&import.ops);
    import_deinit(&import);
    free(text);
    told_deinit(&told);
}

TEST(a_log_of_rmm_has_its_rows_and_comes_back_as_the_same_requests)
{
    struct told told;
    char *text = told_export(plain_list, &exporter_rmm, &told);
    snap(text);
    free(text);
    told_deinit(&told);
    check_comes_back(&exporter_rmm, "rmm");
}

/* --- PyTorch --- */

/* Blocks tile their segment, whose sums are theirs; the events lead there: allocs less completed
 * frees are what is active at the end. */
TEST(a_snapshot_of_pytorch_is_tiled_and_has_the_events_that_led_there)
{
    struct told told;
    char *text = told_export(told_list, &exporter_torch_snapshot, &told);
    snap_json(text);
    free(text);
    told_deinit(&told);
}

TEST(a_snapshot_of_pytorch_comes_back_as_the_same_requests)
{
    check_comes_back(&exporter_torch_snapshot, "torch_snapshot");
}

TEST(a_pickle_for_memory_viz_comes_back_as_the_same_requests)
{
    check_comes_back(&exporter_memory_viz, "torch_snapshot");
}

/* More events than a list of a pickle takes at once, numbers of each width, and a tag of every
 * character that means something somewhere. */
static char *write_long_list(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    fprintf(stream, "hbmstress-ops 1\ncapacity 96G\ngranule 512\ntarget hbm\nhosts 2\n"
                    "tag 1 \"<script>alert(1)</script>\\'& \303\251\"\n\n");
    for (int i = 0; i < 2600; i += 2) {
        fprintf(stream, "%d: alloc size=%u tag=1 host=%d\n%d: free block=%d host=%d\n", i,
                1u << (i % 31), i % 4 / 2, i + 1, i, i % 4 / 2);
    }
    fprintf(stream, "2600: alloc size=60G\n2601: advance delay=3000s\n2602: alloc size=60G\n");
    fclose(stream);
    return text;
}

TEST(the_pickle_and_the_json_of_a_snapshot_are_one_document, .to = 2)
{
    struct told told_of_json, told_of_pickle;
    struct import_error error = {0};
    json_error_t json_error;
    struct plain_tree tree = {0};
    struct plain_value root;
    char *list = _i == 0 ? strdup(told_list) : write_long_list();
    char *text = told_export(list, &exporter_torch_snapshot, &told_of_json);
    char *bytes = told_export(list, &exporter_memory_viz, &told_of_pickle);
    json_t *expected = json_loads(text, JSON_REJECT_DUPLICATES, &json_error);
    ck_assert_msg(expected != NULL, "%s", json_error.text);
    ck_assert_msg(pickle_read(bytes, told_of_pickle.length, &tree, &root, &error) == IMPORT_OK,
                  "%s", error.reason);
    json_t *found = plain_json(&tree, root);
    ck_assert(json_equal(found, expected));
    json_decref(found);
    json_decref(expected);
    plain_deinit(&tree);
    free(bytes);
    free(text);
    free(list);
    told_deinit(&told_of_json);
    told_deinit(&told_of_pickle);
}

static uint64_t failure_count(const struct told *told)
{
    uint64_t count = 0;
    for (size_t i = 0; i < told->count; i++) {
        count += told->events[i].action == EXPORT_FAILED ? 1 : 0;
    }
    return count;
}

/* The granule is that of the list, or PyTorch's where the list has a larger one. */
TEST(a_snapshot_of_pytorch_has_its_out_of_memories_at_the_same_capacity, .to = 4)
{
    static const char *const granules[] = {"1", "128", "512", "4K"};
    static const char ops[] =
        "0: alloc size=300000\n1: alloc size=40000\n2: alloc size=700\n3: free block=1\n"
        "4: alloc size=800000\n5: load size=9000 stack=20000\n6: free block=2\n"
        "7: alloc size=730000\n8: alloc size=719000\n9: execute program=5 delay=1s\n"
        "10: alloc size=4K\n";
    char text[1024];
    snprintf(text, sizeof text, "hbmstress-ops 1\ncapacity 1M\ngranule %s\ntarget hbm\n%s",
             granules[_i], ops);
    struct told told;
    static struct import import;
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    char *exported = told_export(text, &exporter_torch_snapshot, &told);
    ck_assert_uint_gt(failure_count(&told), 1);
    ck_assert(import_exported("torch_snapshot", exported, told.length, &import));
    ck_assert_uint_eq(import.setup.capacity_bytes, 1 << 20);
    ck_assert(trial_replay(target_find("hbm"), &import.setup, &import.ops, NULL, &trial, reason));
    ck_assert_uint_eq(trial.totals.ooms, failure_count(&told));
    trial_deinit(&trial);
    import_deinit(&import);
    free(exported);
    told_deinit(&told);
}
