/* The runner of the cases: a target answers what a case says, or a real one must; the harness
 * judges, and its words are compared.  README.md here has the form of a case. */
#include "harness/device/device.h"
#include "harness/op/ops_file.h"
#include "harness/run/run.h"
#include "targets/targets.h"
#include "tests/cases/case_file.h"
#include "tests/harness/rules/overlap_rig.h"
#include "tests/helpers/suite.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- the case that runs --- */

struct expected {
    const struct case_line *line;
    char verdict[768]; /* "" = every promise is kept */
};

static const struct test_case *now; /* it, and its line that is carried out */
static const struct case_line *line;
static struct setup setup;
static struct op_list list;
static bool is_real, overlaps, goes_on, hears_one;
static struct expected expected[CALL_COUNT_MAX]; /* by op, of an overlap: it is judged at its end */
static const struct verdict *said; /* the last one, or that on the op that a line names */
static uint64_t stage_stack[8], taken_bytes;
static uint32_t stage_count; /* that are in host memory: the last one is meant */
static void *taken;

#define FAIL(...)                                                                           \
    do {                                                                                    \
        char words[1600];                                                                   \
        snprintf(words, sizeof words, __VA_ARGS__);                                         \
        ck_abort_msg("%s:%zu: %s\n    in: %s", now->file, line->number, words, line->text); \
    } while (0)

/* --- words of a line --- */

/* The next word, up to a blank or a comma; a text in quotes is one. */
static bool next_word(const char **at, char word[256])
{
    *at += strspn(*at, " ,");
    const size_t length = **at == '"' ? strcspn(*at + 1, "\"") + 2 : strcspn(*at, " ,");
    snprintf(word, 256, "%.*s", (int)length, *at);
    *at += strnlen(*at, length);
    return length > 0;
}

static void need_word(const char **at, char word[256])
{
    if (!next_word(at, word)) {
        FAIL("a word is missing");
    }
}

static uint64_t read_number(const char *word)
{
    char *end = NULL;
    const uint64_t number = strtoull(word, &end, 0);
    if (end == word || *end != '\0') {
        FAIL("'%s' is not a number", word);
    }
    return number;
}

static uint64_t need_number(const char **at)
{
    char word[256];
    need_word(at, word);
    return read_number(word);
}

/* Granules, or with the suffix B bytes. */
static uint64_t read_bytes(char *word)
{
    char *suffix = strchr(word, 'B');
    if (suffix != NULL) {
        *suffix = '\0';
    }
    return read_number(word) * (suffix != NULL ? 1 : G);
}

static uint64_t need_bytes(const char **at)
{
    char word[256];
    need_word(at, word);
    return strcmp(word, "nowhere") == 0 ? TARGET_ADDRESS_NONE : read_bytes(word);
}

/* Without the quotes; it is kept for the time of the case. */
static const char *unquoted(const char *word)
{
    const size_t length = strlen(word);
    return word[0] == '"' ? strndup(word + 1, length - 2) : strdup(word);
}

/* --- what the target does: inside a call, or between two --- */

static uint32_t acting_host; /* that of the call */

static const struct device_services *services(void)
{
    return script.device[acting_host];
}

static void expect_result(const char **at, enum device_result result)
{
    static const char *const names[] = {"done", "lost", "refused", "partial"};
    const char *rest = *at + strspn(*at, " ");
    const char *wanted = "done";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (*rest == '(' && strncmp(rest + 1, names[i], strlen(names[i])) == 0) {
            wanted = names[i];
            *at = strchr(rest, ')') + 1;
        }
    }
    if (strcmp(names[result], wanted) != 0) {
        FAIL("the device answered %s, not %s", names[result], wanted);
    }
}

static void act_copied(const char **at)
{
    char word[256];
    const uint64_t from = need_bytes(at);
    need_word(at, word); /* to */
    const uint64_t to = need_bytes(at);
    need_word(at, word); /* size */
    expect_result(at, services()->copy(services()->context, from, to, need_bytes(at)));
}

static void act_moved(const char **at)
{
    char word[256];
    struct target_block *block = &script.at[need_number(at) + 1];
    need_word(at, word); /* to */
    const uint64_t to = need_bytes(at);
    expect_result(at, services()->copy(services()->context, block->address, to, block->size_bytes));
    block->address = to;
}

static void act_tells(const char **at)
{
    char word[256];
    struct target_block *block = &script.at[need_number(at) + 1];
    need_word(at, word); /* at, size */
    const bool is_size = strcmp(word, "size") == 0;
    *(is_size ? &block->size_bytes : &block->address) = need_bytes(at);
}

static void act_waited(const char **at)
{
    expect_result(at, services()->event_wait(services()->context, need_number(at) + 1));
}

static void act_looked(const char **at)
{
    (void)services()->event_done(services()->context, need_number(at) + 1);
}

static void act_unloaded(const char **at)
{
    expect_result(at, services()->unload(services()->context, need_number(at) + 1));
}

static void act_evicted(const char **at)
{
    const uint64_t op = need_number(at);
    expect_result(at, services()->unload(services()->context, op + 1));
    script.at[op + 1].address = TARGET_ADDRESS_NONE;
}

static void act_staged(const char **at)
{
    char word[256];
    need_word(at, word);
    uint64_t *stage = &stage_stack[(stage_count - (strcmp(word, "out") != 0)) % 8];
    if (strcmp(word, "dropped") == 0) {
        services()->stage_drop(services()->context, *stage);
        stage_count--;
    } else if (strcmp(word, "in") == 0) {
        const uint64_t to = need_bytes(at);
        const enum device_result result = services()->stage_in(services()->context, *stage, to);
        stage_count -= result == DEVICE_OK;
        expect_result(at, result);
    } else { /* out: ADDRESS size SIZE */
        const uint64_t from = need_bytes(at);
        need_word(at, word);
        const uint64_t size = need_bytes(at);
        expect_result(at, services()->stage_out(services()->context, from, size, stage));
        stage_count++;
    }
}

static void act_took(const char **at)
{
    taken_bytes = need_number(at);
    taken = services()->host_alloc(services()->context, taken_bytes);
}

static void act_gave(const char **at)
{
    (void)at;
    services()->host_free(services()->context, taken, taken_bytes);
}

/* The counters of the target are off by so much: "counts num_allocs 1". */
static void act_counts(const char **at)
{
    static const struct {
        const char *name;
        size_t offset;
    } rows[] = {
#define ROW(name) {#name, offsetof(struct target_stats, name)}
        ROW(num_allocs),          ROW(bytes_in_use),    ROW(peak_bytes_in_use),
        ROW(largest_alloc_size),  ROW(bytes_limit),     ROW(bytes_reserved),
        ROW(peak_bytes_reserved), ROW(free_bytes),      ROW(largest_free_block_bytes),
        ROW(used_bytes),          ROW(evictable_bytes), ROW(held_bytes)};
#undef ROW
    char word[256], number[256];
    need_word(at, word);
    need_word(at, number);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(word, rows[i].name) == 0) {
            *(uint64_t *)(void *)((char *)&script.stats_more +
                                  rows[i].offset) = (uint64_t)strtoll(number, NULL, 0);
            return;
        }
    }
    FAIL("there is no counter '%s'", word);
}

static void act_says(const char **at)
{
    char word[256];
    need_word(at, word);
    script.message = unquoted(word);
}

/* It acts on the device of that host from here on. */
static void act_host(const char **at)
{
    acting_host = (uint32_t)need_number(at) % HOST_COUNT;
}

/* The next call of that kind is struck: "struck copy". */
static void act_struck(const char **at)
{
    char word[256];
    need_word(at, word);
    for (int i = 0; i < FAULT_KIND_COUNT; i++) {
        if (strcmp(word, fault_info((enum fault_kind)i)->name) == 0) {
            device_arm(run_device(script.run, acting_host),
                       &(struct device_fault){.kind = (enum fault_kind)i, .call = 1});
            return;
        }
    }
    FAIL("there is no fault '%s'", word);
}

/* The clock, or the count of completed events. */
static void act_asked(const char **at)
{
    char word[256];
    need_word(at, word);
    if (strcmp(word, "clock") == 0) {
        (void)services()->clock_ns(services()->context);
    } else {
        (void)services()->completed_count(services()->context);
    }
}

/* It writes behind the memory that it took. */
static void act_overran(const char **at)
{
    (void)at;
    ((unsigned char *)taken)[taken_bytes] ^= 1;
}

static const struct {
    const char *name;
    void (*act)(const char **at);
} acts[] = {{"moved", act_moved},       {"copied", act_copied}, {"tells", act_tells},
            {"waited", act_waited},     {"looked", act_looked}, {"evicted", act_evicted},
            {"unloaded", act_unloaded}, {"staged", act_staged}, {"took", act_took},
            {"gave", act_gave},         {"counts", act_counts}, {"says", act_says},
            {"host", act_host},         {"struck", act_struck}, {"overran", act_overran},
            {"asked", act_asked}};

/* Carries out all that is listed: "moved 3 to 0, waited 1". */
static void act_all(const char *at)
{
    char word[256];
    while (next_word(&at, word)) {
        size_t i = 0;
        while (i < sizeof acts / sizeof *acts && strcmp(word, acts[i].name) != 0) {
            i++;
        }
        if (i == sizeof acts / sizeof *acts) {
            FAIL("there is no act '%s'", word);
        }
        acts[i].act(&at);
    }
}

static const char *acts_now;
static void act_in_call(void)
{
    act_all(acts_now);
}

/* --- what is compared --- */

/* "justified", "broken spmd (mechanism) \"the reason\"", each in part as written. */
static void check_verdict(const struct verdict *verdict, const char *wanted)
{
    wanted = strcmp(wanted, "kept") == 0 ? "" : wanted;
    char got[sizeof((struct expected *)0)->verdict] = "";
    if (verdict->kind != VERDICT_NONE) {
        const bool is_broken = verdict->kind == VERDICT_BROKEN;
        size_t length = (size_t)snprintf(got, sizeof got, "%s%s%s", verdict_name(verdict->kind),
                                         is_broken ? " " : "",
                                         is_broken ? rule_info(verdict->rule)->name : "");
        if (strchr(wanted, '(') != NULL && strchr(wanted, '(') < wanted + strcspn(wanted, "\"")) {
            length += (size_t)snprintf(got + length, sizeof got - length, " (%s)",
                                       verdict->mechanism);
        }
        const char *quote = strchr(wanted, '"');
        const char *words = quote == NULL ? "" : unquoted(quote);
        if (quote != NULL && quote > wanted && quote[-1] == '~' &&
            strstr(verdict->reason, words) != NULL) {
            snprintf(got + length, sizeof got - length, " ~%s", quote);
        } else if (quote != NULL) {
            snprintf(got + length, sizeof got - length, " \"%s\"", verdict->reason);
        }
    }
    if (strcmp(got, wanted) != 0) {
        FAIL("expected: %s\n         got: %s%s%s", wanted[0] == '\0' ? "kept" : wanted,
             got[0] == '\0' ? "kept" : got, strchr(got, '"') == NULL ? ": " : "",
             strchr(got, '"') == NULL ? verdict->reason : "");
    }
}

/* Any other number of bytes is a number that no case has. */
static uint64_t granules(uint64_t bytes)
{
    return bytes % G == 0 ? bytes / G : UINT64_MAX;
}

/* How often a probe was hit, or a regret felt, in the run so far. */
static bool find_count(const char *name, uint64_t *count)
{
    const struct run_totals *totals = run_totals(script.run);
    for (unsigned i = 0; i < PROBE_COUNT; i++) {
        if (strcmp(name, probe_info((enum probe)i)->name) == 0) {
            *count = totals->probes[i];
            return true;
        }
    }
    *count = 0;
    for (unsigned i = 0; i < REGRET_KIND_COUNT; i++) {
        if (strcmp(name, regret_info((enum regret_kind)i)->name) == 0) {
            *count = totals->regrets[i];
            return true;
        }
        *count += totals->regrets[i];
    }
    return strcmp(name, "regrets") == 0; /* all of them */
}

/* What stands behind "then": one number of the run, or of a host, each. */
static uint64_t find_fact(const char *name, uint32_t host)
{
    const struct observation *seen = run_observation(script.run);
    const struct run_totals *totals = run_totals(script.run);
    const struct model *model = run_model(script.run, host);
    const struct model_counters *counters = model_counters(model);
    const struct standstills *stills = run_standstills(script.run);
    const struct standstill *still = stills == NULL ? &(const struct standstill){0}
                                                    : &stills->standstills[0];
    uint64_t count;
    const struct {
        const char *name;
        uint64_t number;
    } facts[] = {{"skipped", overlaps ? rig.calls[said->op].skipped : seen->skipped},
                 {"result", seen->result},
                 {"calls", seen->call_count},
                 {"waits", seen->wait_count},
                 {"copies", seen->copy_count},
                 {"moved", granules(seen->copy_bytes)},
                 {"now", seen->now_ns},
                 {"absent", model_absent_count(model)},
                 {"ended", run_is_broken(script.run)},
                 {"findings", run_findings(script.run)->count},
                 {"all_skipped", totals->skipped},
                 {"all_evictions", totals->evictions},
                 {"all_moves", totals->moves},
                 {"all_drains", totals->drains},
                 {"all_excused", totals->excused},
                 {"all_premature", totals->premature},
                 {"all_justified", totals->justified},
                 {"all_ooms", totals->ooms},
                 {"all_broken", totals->broken},
                 {"requested", granules(said->requested_bytes)},
                 {"requested_bytes", said->requested_bytes},
                 {"said_free", granules(said->free_bytes)},
                 {"nodes_max", said->nodes_max},
                 {"in_use", granules(counters->in_use_bytes)},
                 {"peak_low", granules(counters->peak_low_bytes)},
                 {"peak_high", granules(counters->peak_high_bytes)},
                 {"good", rig.is_good},
                 {"time", model_now_ns(model)},
                 {"events", model_event_count(model)},
                 {"vain_waits", run_waits(script.run)->total},
                 {"regretted", totals->regretted},
                 {"regretted_moved", granules(totals->regretted_moved_bytes)},
                 {"regretted_evicted", granules(totals->regretted_evicted_bytes)},
                 {"cost_ops", op_costs_op_count(&totals->costs)},
                 {"cost_calls_max", totals->costs.calls.max},
                 {"cost_moved_max", granules(totals->costs.moved_bytes.max)},
                 {"class1_ops", totals->costs.classes[1].op_count},
                 {"class1_effects", totals->costs.classes[1].effects},
                 {"class1_asked", granules(totals->costs.classes[1].asked_bytes)},
                 {"stats_calls", script.stats_calls}, /* by the last op */
                 {"standstills", totals->standstills},
                 {"standstills_ordered", totals->standstills_ordered},
                 {"still_watched", stills != NULL}, /* the first of them */
                 {"still_listed", stills == NULL ? 0 : stills->count},
                 {"still_ordered", still->way == STANDSTILL_ORDER},
                 {"still_too_small", still->way == STANDSTILL_TOO_SMALL},
                 {"still_since", still->since},
                 {"still_told", still->told},
                 {"still_clients", still->client_count},
                 {"still_client", still->client},
                 {"still_gives_way", still->gives_way},
                 {"still_nobody_gives_way", still->gives_way == STANDSTILL_NOBODY},
                 {"still_requested", granules(still->requested_bytes)},
                 {"still_fits_now", still->fits_now},
                 {"stage", stage_stack[(stage_count - 1) % 8]}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (strcmp(name, facts[i].name) == 0) {
            return facts[i].number;
        }
    }
    if (!find_count(name, &count)) {
        FAIL("there is no fact '%s'", name);
    }
    return count;
}

/* The state that decided: its blocks, with all of each that is not as usual. */
static void check_judged(const char *wanted)
{
    static const char *const kinds[] = {"", " output", " program", " retired"};
    const struct oom *oom = run_oom(script.run);
    char got[256] = "";
    size_t length = 0;
    for (size_t i = 0; i < oom->block_count && length < sizeof got; i++) {
        const struct oom_block *block = &oom->blocks[i];
        const struct {
            const char *name;
            uint64_t number, usual;
        } parts[] = {{"at", granules(block->address), UINT64_MAX},
                     {"size", granules(block->size_bytes), 0},
                     {"surplus", granules(block->surplus_bytes), 0},
                     {"align", granules(block->align_bytes), 1},
                     {"stack", granules(block->stack_bytes), 0},
                     {"holds", block->hold_count, 0},
                     {"used", block->used_until_ns, 0},
                     {"freed", block->freed_at_ns, 0}};
        length += (size_t)snprintf(got + length, sizeof got - length, "%s%" PRIu32 "%s",
                                   i == 0 ? "" : ", ", block->op, kinds[block->kind]);
        for (size_t j = 0; j < sizeof parts / sizeof *parts && length < sizeof got; j++) {
            if (parts[j].number != parts[j].usual) {
                const bool is_never = parts[j].number == DELAY_NEVER;
                length += (size_t)snprintf(got + length, sizeof got - length,
                                           is_never ? " %s never" : " %s %" PRIu64, parts[j].name,
                                           parts[j].number);
            }
        }
        length += (size_t)snprintf(got + length, sizeof got - length, "%s",
                                   block->state == BLOCK_DYING ? " dying" : "");
    }
    if (strcmp(got, wanted) != 0) {
        FAIL("expected: %s\n         got: %s", wanted, got);
    }
}

static void check_facts(const char *at)
{
    char name[256], word[256];
    uint32_t host = 0;
    while (next_word(&at, name)) {
        if (strcmp(name, "host") == 0) { /* which the facts behind it are of */
            host = (uint32_t)need_number(&at) % HOST_COUNT;
            continue;
        }
        if (isdigit((unsigned char)name[0])) { /* of an overlap: what was said of that op */
            said = &rig.verdicts[read_number(name) % CALL_COUNT_MAX];
            continue;
        }
        if (strcmp(name, "judged") == 0) {
            need_word(&at, word);
            check_judged(unquoted(word));
            continue;
        }
        if (strcmp(name, "hidden") == 0) { /* the verdict on an out-of-memory behind another */
            const struct verdict *hidden = run_hidden_oom(script.run);
            need_word(&at, word);
            const char *got = hidden == NULL ? "none" : verdict_name(hidden->kind);
            if (strcmp(got, word) != 0) {
                FAIL("expected: hidden %s\n         got: %s", word, got);
            }
            continue;
        }
        const uint64_t wanted = need_number(&at), got = find_fact(name, host);
        if (got != wanted) {
            FAIL("expected: %s %" PRIu64 "\n         got: %" PRIu64, name, wanted, got);
        }
    }
}

/* --- answers --- */

/* Sets the script for one call: "8", "8 size 3 handle 0", "refused \"words\"", then acts.  Returns
 * the place that a real target must give, or TARGET_ADDRESS_NONE. */
static uint64_t take_answer(const char *answer, const struct op *op, uint32_t number)
{
    static const char *const results[] = {"ok", "refused", "invalid", "failed"};
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
    acts_now = rest;
    acting_host = op->host;
    script.act = rest[strspn(rest, " ,")] == '\0' ? NULL : act_in_call;
    return place;
}

static void check_real_answer(const char *answer, uint64_t place)
{
    static const char *const results[] = {"ok", "refused", "invalid", "failed"};
    const struct observation *seen = run_observation(script.run);
    const char *wanted = results[0];
    for (size_t i = 1; i < sizeof results / sizeof *results; i++) {
        wanted = strncmp(answer, results[i], strlen(results[i])) == 0 ? results[i] : wanted;
    }
    if (strcmp(wanted, results[seen->result]) != 0) {
        FAIL("expected: %s\n         got: %s: %s", wanted, results[seen->result],
             run_message(script.run));
    }
    if (place != TARGET_ADDRESS_NONE && seen->address != place) {
        FAIL("expected: %" PRIu64 "\n         got: %" PRIu64 " bytes, which is %" PRIu64, place / G,
             seen->address, seen->address / G);
    }
}

/* --- steps --- */

/* Cuts off "-> ANSWER: VERDICT"; both "" where there is none. */
static void split_step(char *text, char **answer, char **verdict)
{
    static char none[] = "";
    char *arrow = strstr(text, " -> ");
    *answer = *verdict = none;
    if (arrow == NULL) {
        return;
    }
    *arrow = '\0';
    *answer = arrow + 4;
    for (char *at = *answer; *at != '\0'; at++) {
        if (*at == '"') { /* a message may have colons */
            at = strchr(at + 1, '"') == NULL ? at : strchr(at + 1, '"');
        } else if (at[0] == ':' && at[1] == ' ') {
            *at = '\0';
            *verdict = at + 2;
            return;
        }
    }
}

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
        line = expected[i].line;
        if (line == NULL) {
            continue;
        }
        if (strcmp(expected[i].verdict, "untold") == 0) {
            if (rig.verdicts[i].op != 0) {
                FAIL("something was said of it: %s", rig.verdicts[i].reason);
            }
        } else {
            if (rig.verdicts[i].op != i && (is_told || expected[i].verdict[0] != '\0')) {
                FAIL("nothing was said of it");
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
    (void)take_answer(answer, &list.ops[number], number);
    expected[number].line = line;
    snprintf(expected[number].verdict, sizeof expected[number].verdict, "%s", verdict);
    end_call(number);
    check_overlap();
}

static void step_once(uint32_t number, char *text)
{
    char *answer, *verdict;
    split_step(text, &answer, &verdict);
    const uint64_t place = take_answer(answer, &list.ops[number], number);
    script.stats_calls = 0;
    const struct verdict *got = said = run_step(script.run, &list.ops[number]);
    if (is_real) {
        check_real_answer(answer, place);
    }
    check_verdict(got, verdict);
}

/* Begins the op of the line, which is the next of the list. */
static uint32_t begin_next(const char *text, uint32_t *count)
{
    if (strtoul(text, NULL, 10) != *count) {
        FAIL("this is op %" PRIu32, *count);
    }
    return begin_call(list.ops[(*count)++]);
}

static void do_step(uint32_t *count)
{
    char *text = strdup(line->text);
    char *answer, *verdict;
    if (strncmp(text, "then ", 5) == 0) {
        check_facts(text + 5);
    } else if (strncmp(text, "meanwhile ", 10) == 0) {
        act_all(text + 10);
    } else if (strncmp(text, "finish", 6) == 0) {
        split_step(text, &answer, &verdict);
        check_verdict(run_finish(script.run), verdict);
    } else if (strncmp(text, "begin ", 6) == 0) {
        begin_next(text + 6, count);
    } else if (strncmp(text, "end ", 4) == 0) {
        end_overlapping((uint32_t)strtoul(text + 4, NULL, 10), text);
    } else if (overlaps) {
        end_overlapping(begin_next(text, count), text);
    } else {
        step_once((*count)++, text);
    }
    free(text);
}

/* --- the case as a list --- */

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

static bool is_step(const char *text)
{
    return (text[0] >= '0' && text[0] <= '9') || begins(text, "begin ") || begins(text, "end ") ||
           begins(text, "then ") || begins(text, "meanwhile ") || begins(text, "finish");
}

/* KEY=VALUE of a contract. */
static void set_promise(struct target_contract *contract, const char *key, const char *value)
{
    static const struct {
        const char *name;
        size_t offset, bytes;
        const char *values[4]; /* none: yes, no, or a number */
    } rows[] = {
#define ROW(name, ...)                                   \
    {                                                    \
#name, offsetof(struct target_contract, name),   \
            sizeof(((struct target_contract *)0)->name), \
        {                                                \
            __VA_ARGS__                                  \
        }                                                \
    }
        ROW(granule_bytes),
        ROW(defrag, "none", "slide", "repack"),
        ROW(queues_frees),
        ROW(drains),
        ROW(programs),
        ROW(evicts),
        ROW(program_evicts_program),
        ROW(documented_messages),
        ROW(thread_safe),
        ROW(resumes),
        ROW(placement, "ranges", "hidden", "pages"),
        ROW(header_bytes),
        ROW(limit, "device", "process"),
        ROW(order_binds),
        ROW(evicts_until_fits),
        ROW(counts_owners),
        ROW(aligns_naturally),
        ROW(stream_ordered),
        ROW(records),
        ROW(sleeps)};
#undef ROW
    uint64_t number = strcmp(value, "yes") == 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(key, rows[i].name) != 0) {
            continue;
        }
        for (uint64_t j = 0; j < 4 && rows[i].values[j] != NULL; j++) {
            number = strcmp(value, rows[i].values[j]) == 0 ? j : number;
        }
        number = value[0] >= '0' && value[0] <= '9' ? strtoull(value, NULL, 10) : number;
        memcpy((char *)contract + rows[i].offset, &number, rows[i].bytes);
        return;
    }
    FAIL("there is no promise '%s'", key);
}

static void set_promises(struct target_contract *contract, const char *at)
{
    char word[256];
    while (next_word(&at, word)) {
        char *value = strchr(word, '=');
        if (value == NULL) {
            FAIL("a promise is KEY=VALUE");
        }
        *value++ = '\0';
        set_promise(contract, word, value);
    }
}

/* A line before the first step.  True: it is of the head of the list. */
static bool take_setup(const char *text, struct target_contract hosts[HOST_COUNT])
{
    if (begins(text, "promises ")) {
        set_promises(&script.contract, text + 9);
        for (uint32_t i = 0; i < HOST_COUNT; i++) {
            hosts[i] = script.contract;
        }
    } else if (begins(text, "host ")) { /* behind what all promise */
        const uint32_t host = (uint32_t)(text[5] - '0') % HOST_COUNT;
        set_promises(&hosts[host],
                     strchr(text, '=') == NULL ? text : text + strlen("host 1 promises "));
        script.contract_of[host] = &hosts[host];
    } else if (strcmp(text, "goes on") == 0) {
        goes_on = true;
    } else if (strcmp(text, "blind") == 0) {
        script.is_blind = true;
    } else if (strcmp(text, "silent") == 0) {
        script.is_silent = true;
    } else if (strcmp(text, "hears one") == 0) {
        hears_one = true;
    } else {
        is_real |= begins(text, "target ");
        return true;
    }
    return false;
}

/* Appends a line of the head, or an op, with numbers of granules as bytes. */
static void append_in_bytes(struct writing *text, const char *from, bool is_op)
{
    static const char *const sizes[] = {"size", "stack", "unpadded", "address", "capacity"};
    const char *at = from;
    char word[256], kind[256] = "";
    for (size_t count = 0; at += strspn(at, " "), *at != '\0'; count++) {
        const size_t length = *at == '"' ? strlen(at) : strcspn(at, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        at += length;
        char *value = strchr(word, '=');
        const char *digits = value == NULL ? word : value + 1;
        bool is_size = value == NULL && (is_op ? count >= 2 : strcmp(kind, "capacity") == 0);
        for (size_t i = 0; value != NULL && i < sizeof sizes / sizeof *sizes; i++) {
            is_size |= (size_t)(value - word) == strlen(sizes[i]) && begins(word, sizes[i]);
        }
        if (count == 0) {
            snprintf(kind, sizeof kind, "%s", word);
        }
        const char *suffix = digits + strspn(digits, "0123456789");
        if (is_size && suffix > digits && (suffix[0] == '\0' || strcmp(suffix, "B") == 0)) {
            writing_append_format(text, "%s%.*s%" PRIu64 " ", is_op && value == NULL ? "size=" : "",
                                  (int)(digits - word), word,
                                  (uint64_t)strtoull(digits, NULL, 10) * (*suffix == 'B' ? 1 : G));
        } else {
            writing_append_format(text, "%s ", word);
        }
    }
    writing_append(text, "\n");
}

/* Reads setup and ops into the list of the case. */
static void read_list(struct target_contract hosts[HOST_COUNT])
{
    size_t lines[512] = {0}, count = 2; /* of the list: which line of the case each is */
    struct writing text = {0};
    struct ops_file_error error = {0};
    writing_append_format(&text, "hbmstress-ops 1\n");
    size_t i = 0;
    for (; i < now->count && !is_step(now->lines[i].text); i++) {
        line = &now->lines[i];
        if (take_setup(line->text, hosts)) {
            lines[count++] = i;
            append_in_bytes(&text, line->text, false);
        }
    }
    if (strstr(writing_string(&text), "\ncapacity ") == NULL) {
        writing_append_format(&text, "capacity %d\n", 16 * G);
        count++;
    }
    for (; i < now->count; i++) {
        const char *op = now->lines[i].text;
        overlaps |= begins(op, "begin ");
        op += begins(op, "begin ") ? strlen("begin ") : 0;
        if (op[0] >= '0' && op[0] <= '9') {
            char *own = strdup(op), *answer, *verdict;
            split_step(own, &answer, &verdict);
            lines[count++] = i;
            append_in_bytes(&text, own, true);
            free(own);
        }
    }
    op_list_init(&list);
    if (ops_file_parse(writing_string(&text), text.length, &setup, &list, &error) != OPS_FILE_OK) {
        line = &now->lines[lines[error.line]];
        FAIL("%s", error.reason);
    }
    writing_deinit(&text);
}

/* --- running --- */

static struct test_case **all;

static void run_case(int number)
{
    static struct target_contract hosts[HOST_COUNT];
    now = all[number];
    is_real = overlaps = goes_on = hears_one = false;
    said = &rig.verdicts[0];
    stage_count = acting_host = 0;
    prepare();
    for (uint32_t i = 0; i < HOST_COUNT; i++) {
        hosts[i] = script.contract;
    }
    read_list(hosts);
    start_setup(&setup, is_real ? target_find(setup.target) : NULL);
    if (goes_on) {
        run_go_on(script.run);
    }
    if (overlaps) {
        begin_lanes(setup.host_count);
        rig.counts = goes_on;
        rig.ends = hears_one;
    }
    uint32_t count = 0;
    for (size_t i = 0; i < now->count; i++) {
        line = &now->lines[i];
        if (is_step(line->text)) {
            do_step(&count);
        }
    }
    if (overlaps) {
        if (rig.overlap.under_way_count > 0) {
            FAIL("calls are still under way");
        }
        stop_lanes();
    } else {
        stop();
    }
    op_list_deinit(&list);
}

int main(void)
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
    return suites_run();
}
