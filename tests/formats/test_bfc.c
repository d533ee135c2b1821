/* Dumps of the BFC allocator, of our own making and from the field: each chunk comes to lie at its
 * place, and the request fails as the log says.  What ours become is in
 * tests/snap/formats_bfc.snap. */
#include "harness/model/model.h"
#include "harness/run/run.h"
#include "targets/targets.h"
#include "tests/formats/import_rig.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA HBMSTRESS_FIELD_DATA "/data/bfc_oom/"
enum { CHUNK_COUNT_MAX = 4096 };

/* --- what a file says, read in the simplest way --- */

struct chunk {
    uint64_t address, size_bytes, offset;
    bool is_in_use, is_pending, begins_region;
};
struct facts {
    struct chunk chunks[CHUNK_COUNT_MAX];
    size_t count, in_use_count, pending_count, hole_count, gap_count;
    uint64_t in_use_bytes, free_bytes, largest_bytes, device_bytes;
    uint64_t stats_bytes; /* InUse of the statistics */
};

/* The decimal number behind the words in the line. */
static uint64_t number_behind(const char *line, const char *words)
{
    const char *at = strstr(line, words);
    return at == NULL ? 0 : strtoull(at + strlen(words), NULL, 10);
}

static void take_line(struct facts *facts, const char *line, bool *is_new_region)
{
    static const char *const words[] = {"InUse at ", "Chunk at ", "Free at ", "Free  at "};
    *is_new_region = *is_new_region || strstr(line, "Next region of size") != NULL;
    if (strncmp(line, "InUse:", 6) == 0) {
        facts->stats_bytes = number_behind(line, "InUse:");
    }
    for (size_t i = 0; i < 4; i++) {
        const char *at = strstr(line, words[i]);
        if (at == NULL || strstr(line, " of size ") == NULL) {
            continue;
        }
        ck_assert_uint_lt(facts->count, CHUNK_COUNT_MAX);
        facts->chunks[facts->count++] = (struct chunk){
            .address = strtoull(at + strlen(words[i]), NULL, 16),
            .size_bytes = number_behind(line, " of size "),
            .is_in_use = i < 2,
            .is_pending = i >= 2 && number_behind(line, "freed_at_count ") > 0,
            .begins_region = *is_new_region,
        };
        *is_new_region = false;
    }
}

static int compare_addresses(const void *a, const void *b)
{
    const struct chunk *x = a;
    const struct chunk *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

/* From the bottom up, with a granule of 256 for each gap. */
static void lay_out(struct facts *facts)
{
    uint64_t end = 0;
    qsort(facts->chunks, facts->count, sizeof facts->chunks[0], compare_addresses);
    for (size_t i = 0; i < facts->count; i++) {
        struct chunk *chunk = &facts->chunks[i];
        if (i > 0 &&
            (chunk->begins_region || chunk[-1].address + chunk[-1].size_bytes != chunk->address)) {
            end += 256;
            facts->gap_count++;
        }
        chunk->offset = end;
        end += chunk->size_bytes;
        facts->in_use_count += chunk->is_in_use;
        facts->pending_count += chunk->is_pending;
        facts->in_use_bytes += chunk->is_in_use ? chunk->size_bytes : 0;
        if (!chunk->is_in_use && !chunk->is_pending) {
            facts->free_bytes += chunk->size_bytes;
            facts->hole_count++;
            facts->largest_bytes = chunk->size_bytes > facts->largest_bytes ? chunk->size_bytes
                                                                            : facts->largest_bytes;
        }
    }
    facts->device_bytes = end;
}

/* Of the text, which is lost, up to the end of the first dump. */
static void read_facts(struct facts *facts, char *text)
{
    bool is_new_region = false;
    memset(facts, 0, sizeof *facts);
    for (char *line = strtok(text, "\r\n"); line != NULL && facts->stats_bytes == 0;
         line = strtok(NULL, "\r\n")) {
        take_line(facts, line, &is_new_region);
    }
    lay_out(facts);
}

/* --- replay --- */

static struct run *start_run(const char *defrag)
{
    char reason[RUN_REASON_BYTES] = "";
    struct setup setup = import.setup;
    ck_assert(setup_set_option(&setup, "defrag", defrag));
    struct run *run = run_create(target_find("hbm"), &setup, reason);
    ck_assert_msg(run != NULL, "%s", reason);
    return run;
}

/* All ops but the request. */
static void rebuild_heap(struct run *run)
{
    for (size_t i = 0; i + 1 < import.ops.count; i++) {
        const struct verdict *verdict = run_step(run, &import.ops.ops[i]);
        ck_assert_msg(verdict->kind == VERDICT_NONE, "op %zu: %s", i, verdict->reason);
        ck_assert_uint_eq(run_observation(run)->skipped, 0);
        ck_assert_int_eq(run_observation(run)->result, TARGET_OK);
    }
}

static enum target_result replay_request(struct run *run, const struct verdict **verdict)
{
    *verdict = run_step(run, &import.ops.ops[import.ops.count - 1]);
    return (enum target_result)run_observation(run)->result;
}

static void finish_run(struct run *run)
{
    const struct verdict *verdict = run_finish(run);
    ck_assert_msg(verdict->kind == VERDICT_NONE, "%s", verdict->reason);
    run_destroy(run);
}

static const struct block *block_at(const struct model *model, uint64_t address)
{
    for (size_t i = 0; i < model_live_count(model); i++) {
        if (model_live(model, i)->address == address) {
            return model_live(model, i);
        }
    }
    return NULL;
}

static void check_heap(const struct run *run, const struct facts *facts)
{
    const struct model *model = run_model(run, 0);
    ck_assert_uint_eq(model_capacity_bytes(model), facts->device_bytes);
    ck_assert_uint_eq(model_live_count(model), facts->in_use_count);
    ck_assert_uint_eq(model_free_bytes(model), facts->free_bytes);
    ck_assert_uint_eq(model_hole_count(model), facts->hole_count);
    ck_assert_uint_eq(model_largest_hole_bytes(model), facts->largest_bytes);
    for (size_t i = 0; i < facts->count; i++) {
        const struct chunk *chunk = &facts->chunks[i];
        const struct block *block = block_at(model, chunk->offset);
        ck_assert_int_eq(block != NULL, chunk->is_in_use);
        ck_assert_uint_eq(block == NULL ? chunk->size_bytes : block->size_bytes, chunk->size_bytes);
    }
}

static uint64_t said_value(enum said_kind kind)
{
    for (size_t i = 0; i < import.said_count; i++) {
        if (import.said[i].kind == kind && import.said[i].op == import.ops.count - 1) {
            return import.said[i].value;
        }
    }
    return UINT64_MAX;
}

/* Whether the request would be granted if all blocks in use could be moved. */
static bool moves_would_help(void)
{
    const struct verdict *verdict = NULL;
    struct run *run = start_run("repack");
    rebuild_heap(run);
    const enum target_result result = replay_request(run, &verdict);
    ck_assert_int_ne(verdict->kind, VERDICT_PREMATURE);
    ck_assert_int_ne(verdict->kind, VERDICT_BROKEN);
    finish_run(run);
    return result == TARGET_OK;
}

/* The import that was just made is what its text says, chunk by chunk, and ends as it says. */
static struct facts facts;
static bool check_replay(char *text)
{
    const struct verdict *verdict = NULL;
    read_facts(&facts, text);
    ck_assert_uint_eq(facts.in_use_bytes, facts.stats_bytes);
    struct run *run = start_run("none");
    rebuild_heap(run);
    check_heap(run, &facts);
    ck_assert_int_eq(replay_request(run, &verdict), TARGET_NO_MEMORY);
    ck_assert_int_eq(verdict->kind, VERDICT_JUSTIFIED);
    ck_assert_uint_eq(verdict->free_bytes, facts.free_bytes);
    ck_assert_uint_eq(verdict->requested_bytes, import.ops.ops[import.ops.count - 1].size_bytes);
    finish_run(run);
    ck_assert_uint_eq(said_value(SAID_FAILED), 0);
    ck_assert_uint_eq(said_value(SAID_FREE_BYTES), facts.free_bytes);
    ck_assert_uint_eq(said_value(SAID_LARGEST_HOLE_BYTES), facts.largest_bytes);
    /* What is retired or pending counts as in use in a run, but not in the statistics. */
    const bool is_comparable = facts.gap_count == 0 && facts.pending_count == 0;
    ck_assert_uint_eq(said_value(SAID_IN_USE_BYTES),
                      is_comparable ? facts.stats_bytes : UINT64_MAX);
    return moves_would_help();
}

/* --- our own files --- */

static const char *const own[] = {
    "tf08.log",          "tf11.log", "tf14.log", "tf22_windows.log", "tf25_operations.log",
    "xla_two_dumps.log", "bare.log"};
enum { OWN_COUNT = sizeof own / sizeof own[0] };

EVERY_TEST(.timeout_s = 300);

TEST(a_dump_of_each_era_is_rebuilt_chunk_by_chunk_and_fails_as_it_did, .to = OWN_COUNT,
     .setup = setup_import, .teardown = teardown_import)
{
    char path[512];
    size_t length = 0;
    snprintf(path, sizeof path, HBMSTRESS_SOURCE_DIR "/corpus/field/bfc/%s", own[_i]);
    char *text = file_bytes(path, &length);
    ck_assert_msg(import_bytes(text, length, "auto") == IMPORT_OK, "%s:%zu: %s", own[_i],
                  refusal.line, refusal.reason);
    (void)check_replay(text);
    free(text);
}

/* --- from the field --- */

static void measure_message(const char *name)
{
    char path[512];
    size_t length = 0;
    snprintf(path, sizeof path, DATA "%s", name);
    setup_import();
    char *text = file_bytes(path, &length);
    const enum import_result result = import_bytes(text, length, "auto");
    if (strstr(name, ".PARTIAL.") != NULL) {
        ck_assert_int_eq(result, IMPORT_INCOMPLETE);
        printf("%-52s refused, line %zu: %s\n", name, refusal.line, refusal.reason);
    } else {
        ck_assert_msg(result == IMPORT_OK, "%s:%zu: %s", name, refusal.line, refusal.reason);
        const bool is_served = check_replay(text);
        printf("%-52s %3zu chunks in use, %11" PRIu64 " bytes (InUse %" PRIu64 "); free %10" PRIu64
               ", largest %10" PRIu64 "; asked %10" PRIu64 ": refused; with moves: %s\n",
               name, facts.in_use_count, facts.in_use_bytes, facts.stats_bytes, facts.free_bytes,
               facts.largest_bytes, import.ops.ops[import.ops.count - 1].size_bytes,
               is_served ? "granted" : "refused");
    }
    fflush(stdout);
    free(text);
    teardown_import();
}

TEST(dumps_from_the_field_are_rebuilt_or_refused_for_what_they_lack)
{
    struct dirent **names = NULL;
    const int count = scandir(DATA, &names, NULL, alphasort);
    if (count < 0) {
        printf("skipped: no %s\n", DATA);
        return;
    }
    for (int i = 0; i < count; i++) {
        if (strstr(names[i]->d_name, ".log") != NULL) {
            measure_message(names[i]->d_name);
        }
        free(names[i]);
    }
    free(names);
}
