/* The runner of the cases: a target answers what a case says, or a real one must; the harness
 * judges, and its words are compared.  README.md here has the form of a case. */
#include "harness/run/run.h"
#include "targets/targets.h"
#include "tests/cases/case.h"

#include <stdlib.h>

struct case_now now;

struct expected {
    const struct case_line *line;
    char verdict[VERDICT_TEXT_BYTES]; /* "" = every promise is kept */
};
static struct expected expected[CALL_COUNT_MAX]; /* by op, of an overlap: it is judged at its end */

/* --- answers --- */

/* Sets the script for one call: "8", "8 size 3 handle 0", "refused \"words\"", then acts.  Returns
 * the place that a real target must give, or TARGET_ADDRESS_NONE. */
static uint64_t take_answer(const char *answer, const struct op *op, uint32_t number)
{
    static const char *const results[] = {"ok", "refused", "invalid", "failed", "nonsense"};
    const char *at = answer, *rest;
    char word[256];
    uint64_t place = TARGET_ADDRESS_NONE;
    bool is_result = false;
    script.block = op->kind == OP_EXECUTE && op->ref != OP_NONE
                       ? script.at[op->ref + 1]
                       : (struct target_block){number + 1, 0, op->size_bytes};
    for (rest = at; next_word(&at, word); rest = at) {
        for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
            if (strcmp(word, results[i]) == 0) {
                script.result = (enum target_result)i;
                is_result = true;
            }
        }
        if (word[0] == '"') {
            script.message = unquoted(word);
        } else if (strcmp(word, "size") == 0) {
            script.block.size_bytes = need_bytes(&at);
        } else if (strcmp(word, "handle") == 0) {
            script.block.handle = need_number(&at);
        } else if (word[0] >= '0' && word[0] <= '9') {
            script.block.address = place = read_bytes(word);
        } else if (!is_result || strcmp(word, results[script.result]) != 0) {
            break; /* an act */
        }
    }
    now.acts = rest;
    now.acting_host = op->host;
    script.act = rest[strspn(rest, " ,")] == '\0' ? NULL : act_in_call;
    return place;
}

static bool is_pending(const struct model *model, uint32_t op)
{
    size_t i = 0;
    while (i < model_event_count(model) && model_event_op(model, i) != op) {
        i++;
    }
    return i < model_event_count(model);
}

/* What a real target must do to its blocks: "moved 3 to 0, evicted 2, waited 4".  It is looked for
 * after the call, and before it must not be so. */
static void check_real_acts(const char *at, bool is_done)
{
    const struct model *model = run_model(script.run, now.acting_host);
    char act[256], word[256];
    while (next_word(&at, act)) {
        const uint32_t op = (uint32_t)need_number(&at);
        const struct block *block = model_find(model, op);
        const bool is_there = block != NULL && block->state != BLOCK_GONE && !block->is_absent;
        bool is_so = !is_there;
        if (strcmp(act, "moved") == 0) {
            need_word(&at, word); /* to */
            is_so = need_bytes(&at) == (is_there ? block->address : TARGET_ADDRESS_NONE);
        } else if (strcmp(act, "waited") == 0) {
            is_so = !is_pending(model, op);
        } else if (strcmp(act, "evicted") != 0) {
            FAIL("'%s' is not looked for at a real target", act);
        }
        if (is_so != is_done) {
            FAIL("expected: %s %u\n         got: %s", act, op, is_so ? "so before" : "not so");
        }
    }
}

/* \n within the quotes is the end of a line. */
static bool is_message(const char *quoted, const char *message)
{
    for (const char *at = quoted + 1; *at != '"' && *at != '\0'; at++, message++) {
        const bool is_end = at[0] == '\\' && at[1] == 'n';
        if (*message != (is_end ? '\n' : *at)) {
            return false;
        }
        at += is_end;
    }
    return *message == '\0';
}

static void check_real_answer(const char *answer, uint64_t place)
{
    static const char *const results[] = {"ok", "refused", "invalid", "failed", "skipped"};
    const struct observation *seen = run_observation(script.run);
    const char *wanted = results[0], *got = results[seen->skipped != 0 ? 4 : seen->result];
    const char *message = strchr(answer, '"');
    for (size_t i = 1; i < sizeof results / sizeof *results; i++) {
        wanted = begins(answer, results[i]) ? results[i] : wanted;
    }
    if (strcmp(wanted, got) != 0) {
        FAIL("expected: %s\n         got: %s: %s", wanted, got, run_message(script.run));
    }
    if (message != NULL && !is_message(message, run_message(script.run))) {
        FAIL("expected: %s\n         got: %s", message, run_message(script.run));
    }
    if (place != TARGET_ADDRESS_NONE && seen->address != place) {
        FAIL("expected: %" PRIu64 "\n         got: %" PRIu64 " bytes, which is %" PRIu64, place / G,
             seen->address, seen->address / G);
    }
    if (strstr(answer, " size ") != NULL && seen->size_bytes != script.block.size_bytes) {
        FAIL("expected: %" PRIu64 " bytes\n         got: %" PRIu64, script.block.size_bytes,
             seen->size_bytes);
    }
    if (seen->skipped == 0) {
        check_real_acts(now.acts, true);
    }
}

/* --- steps --- */

/* Nothing more is told behind a verdict that ends it: then no other need be. */
static bool ends_telling(const struct verdict *verdict)
{
    return verdict->kind == VERDICT_BROKEN || verdict->kind == VERDICT_PREMATURE;
}

static void check_overlap(void)
{
    bool is_told = true;
    for (uint32_t i = 0; rig.overlap.under_way_count == 0 && i < run_ops(script.run)->count; i++) {
        is_told &= expected[i].line == NULL || !ends_telling(&rig.verdicts[i]);
    }
    for (uint32_t i = 0; rig.overlap.under_way_count == 0 && i < run_ops(script.run)->count; i++) {
        now.line = expected[i].line;
        if (now.line == NULL) {
            continue;
        }
        if (strcmp(expected[i].verdict, "untold") == 0) {
            if (rig.verdicts[i].op != 0) {
                FAIL("something was now.said of it: %s", rig.verdicts[i].reason);
            }
        } else {
            if (rig.verdicts[i].op != i && (is_told || expected[i].verdict[0] != '\0')) {
                FAIL("nothing was now.said of it");
            }
            check_verdict(&rig.verdicts[i], expected[i].verdict);
        }
        expected[i].line = NULL;
    }
}

static void end_overlapping(uint32_t number, char *text)
{
    char *answer, *verdict;
    split_step(text, &answer, &verdict);
    (void)take_answer(answer, &now.list.ops[number], number);
    expected[number].line = now.line;
    snprintf(expected[number].verdict, sizeof expected[number].verdict, "%s", verdict);
    end_call(number);
    check_overlap();
}

static void step_once(uint32_t number, char *text)
{
    char *answer, *verdict;
    split_step(text, &answer, &verdict);
    const uint64_t place = take_answer(answer, &now.list.ops[number], number);
    script.stats_calls = 0;
    if (now.is_real && strcmp(answer, "skipped") != 0) {
        check_real_acts(now.acts, false);
    }
    const struct verdict *got = now.said = run_step(script.run, &now.list.ops[number]);
    if (now.is_real) {
        check_real_answer(answer, place);
    } else if (script.act != NULL || script.result != TARGET_OK) {
        FAIL("the target was not called");
    }
    check_verdict(got, verdict);
}

/* Begins the op of the line, which is the next of the list. */
static uint32_t begin_next(const char *text, uint32_t *count)
{
    if (strtoul(text, NULL, 10) != *count) {
        FAIL("this is op %" PRIu32, *count);
    }
    return begin_call(now.list.ops[(*count)++]);
}

static void do_step(uint32_t *count)
{
    char *text = strdup(now.line->text);
    char *answer, *verdict;
    if (strncmp(text, "then ", 5) == 0) {
        check_facts(text + 5);
    } else if (strncmp(text, "meanwhile ", 10) == 0) {
        act_all(text + 10);
    } else if (strncmp(text, "finish", 6) == 0) {
        split_step(text, &answer, &verdict);
        (void)take_answer(answer, &(const struct op){.kind = OP_REPORT}, 0);
        script.is_closed |= now.is_real;
        check_verdict(run_finish(script.run), verdict);
    } else if (strncmp(text, "begin ", 6) == 0) {
        begin_next(text + 6, count);
    } else if (strncmp(text, "end ", 4) == 0) {
        end_overlapping((uint32_t)strtoul(text + 4, NULL, 10), text);
    } else if (now.overlaps) {
        end_overlapping(begin_next(text, count), text);
    } else {
        step_once((*count)++, text);
    }
    free(text);
}

/* --- running --- */

static void check_flaw(const struct target *target)
{
    char reason[RUN_REASON_BYTES] = "";
    script.run = open_setup(&now.setup, target, reason);
    if (script.run != NULL || strcmp(reason, now.flaw) != 0) {
        FAIL("expected: %s\n         got: %s", now.flaw, reason);
    }
    op_list_deinit(&now.list);
}

static struct test_case **all;

static void run_case(int number)
{
    static struct target_contract hosts[HOST_COUNT];
    now.test = all[number];
    now.is_real = now.is_partial = now.overlaps = now.goes_on = now.hears_one = false;
    now.flaw = NULL;
    now.partial = scripted_target;
    now.said = &rig.verdicts[0];
    acts_begin();
    prepare();
    for (uint32_t i = 0; i < HOST_COUNT; i++) {
        hosts[i] = script.contract;
    }
    read_list(hosts);
    const struct target *target = now.is_real      ? target_find(now.setup.target)
                                  : now.is_partial ? &now.partial
                                                   : NULL;
    if (now.flaw != NULL) {
        check_flaw(target);
        return;
    }
    start_setup(&now.setup, target);
    if (now.goes_on) {
        run_go_on(script.run);
    }
    if (now.overlaps) {
        begin_lanes(now.setup.host_count);
        rig.counts = now.goes_on;
        rig.ends = now.hears_one;
    }
    uint32_t count = 0;
    for (size_t i = 0; i < now.test->count; i++) {
        now.line = &now.test->lines[i];
        if (is_step(now.line->text)) {
            do_step(&count);
        }
    }
    if (now.overlaps) {
        if (rig.overlap.under_way_count > 0) {
            FAIL("calls are still under way");
        }
        stop_lanes();
    } else {
        if (now.is_real && !script.is_closed && !run_is_broken(script.run)) {
            check_verdict(run_finish(script.run), ""); /* one hole, and no host memory is left */
        }
        stop();
    }
    op_list_deinit(&now.list);
}

/* Writes what the cases of real targets run into the folder, as lists for hbmstress replay. */
static int write_lists(int count, const char *folder)
{
    static struct target_contract hosts[HOST_COUNT];
    struct ops_file_error error;
    for (int number = 0; number < count; number++) {
        char path[1024];
        now.test = all[number];
        prepare();
        now.is_real = false;
        read_list(hosts);
        snprintf(path, sizeof path, "%s/%d-%s.ops", folder, number, now.test->title);
        if (now.is_real &&
            ops_file_write(path, &now.setup, &now.list, now.test->file, &error) != OPS_FILE_OK) {
            fprintf(stderr, "%s: %s\n", path, error.reason);
            return EXIT_FAILURE;
        }
        op_list_deinit(&now.list);
    }
    return EXIT_SUCCESS;
}

int main(int argument_count, char **arguments)
{
    int count = 0;
    struct test_case *first = cases_read(HBMSTRESS_SOURCE_DIR "/tests/cases");
    for (struct test_case *at = first; at != NULL; at = at->next) {
        count++;
    }
    all = calloc((size_t)count, sizeof(struct test_case *));
    struct listed_test *tests = calloc((size_t)count, sizeof *tests);
    for (int i = 0; i < count; i++, first = first->next) {
        all[i] = first;
        tests[i] = (struct listed_test){{first->title, run_case, first->file, (int)first->line},
                                        {.from = i, .to = i + 1, .timeout_s = 60},
                                        NULL,
                                        ""};
        test_list(&tests[i]);
    }
    if (argument_count == 3 && strcmp(arguments[1], "--lists") == 0) {
        return write_lists(count, arguments[2]);
    }
    return suites_run();
}
