#include "checker/certificate_check.h"
#include "harness/run/run.h"
#include "harness/run/run_state.h"
#include "tests/cases/case.h"

#include <ctype.h>

/* "justified", "broken spmd (mechanism) \"the reason\"", each in part as written. */
void check_verdict(const struct verdict *verdict, const char *wanted)
{
    wanted = strcmp(wanted, "kept") == 0 ? "" : wanted;
    char got[VERDICT_TEXT_BYTES] = "";
    wanted = strcmp(wanted, "kept") == 0 ? "" : wanted;
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
    wanted = strcmp(wanted, "kept") == 0 ? "" : wanted;
    if (strcmp(got, wanted) != 0) {
        FAIL("expected: %s\n         got: %s%s%s", wanted[0] == '\0' ? "kept" : wanted,
             got[0] == '\0' ? "kept" : got, strchr(got, '"') == NULL ? ": " : "",
             strchr(got, '"') == NULL ? verdict->reason : "");
    }
}

/* Of an out-of-memory, which is judged again for them. */
static uint64_t find_fact_of_oom(const char *name)
{
    const struct run *run = script.run;
    struct oracle_largest largest;
    if (strcmp(name, "certified") == 0) { /* the independent checker accepts why */
        char reason[CERTIFICATE_REASON_BYTES] = "";
        struct writing text;
        writing_init(&text);
        run_print_certificate(run, &text);
        const enum certificate_result result = certificate_check(text.bytes, text.length, reason);
        writing_deinit(&text);
        return result == CERTIFICATE_VALID;
    }
    const struct oom_bounds reservable = oom_reservable(run_oom(run));
    if (strcmp(name, "reservable") == 0 && reservable.low_bytes == reservable.high_bytes) {
        return reservable.low_bytes / G;
    }
    if (strcmp(name, "room") == 0) {
        largest = run_find_largest(run, 0);
    } else if (strcmp(name, "stack_room") == 0) {
        largest = oracle_find_largest_stack(run->judge.oracle, run_oom(run), run->verdict.kind, 0);
    } else {
        FAIL("there is no fact '%s'", name);
    }
    ck_assert(largest.is_exact);
    return largest.bytes / G;
}

/* What is told of the run as it is by now, the gravest first. */
static const struct run_findings *settled_findings(void)
{
    static struct run_findings settled;
    run_findings_copy(&settled, run_findings(script.run));
    run_findings_settle(&settled);
    return &settled;
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
    const struct op_list *ops = run_ops(script.run);
    const struct op last = ops->count == 0 ? (struct op){0} : ops->ops[ops->count - 1];
    const struct run_findings *found = run_findings(script.run);
    size_t region_count = 0;
    (void)model_regions(model, &region_count);
    const struct model_counters *counters = model_counters(model);
    const struct standstills *stills = run_standstills(script.run);
    const struct standstill *still = stills == NULL ? &(const struct standstill){0}
                                                    : &stills->standstills[0];
    const struct target_stats *stats = run_stats(script.run, 0);
    uint64_t count;
    const struct {
        const char *name;
        uint64_t number;
    } facts[] = {{"skipped", now.overlaps ? rig.calls[now.said->op].skipped : seen->skipped},
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
                 {"all_broken", totals->broken},
                 {"all_ooms", totals->ooms},
                 {"all_retries", totals->retries},
                 {"all_retries_granted", totals->retries_granted},
                 {"all_late", totals->late},
                 {"blocks", model_counters(model)->block_count},
                 {"in_use", model_in_use_bytes(model) / G},
                 {"free", model_free_bytes(model) / G},
                 {"hole", model_largest_hole_bytes(model) / G},
                 {"holes", model_hole_count(model)},
                 {"kept", model_kept_count(model)},
                 {"dying", model_dying_count(model)},
                 {"regions", region_count},
                 {"all_second_opinions", totals->second_opinions},
                 {"all_relations", totals->relations_checked},
                 {"first_op", found->findings[0].verdict.op},
                 {"last_op", found->findings[(found->count + 15) % 16].verdict.op},
                 {"told", settled_findings()->count},
                 {"all_regretted", totals->regretted},
                 {"all_evicted_too_much", totals->regrets[REGRET_EVICTED_TOO_MUCH]},
                 {"all_regretted_evicted", totals->regretted_evicted_bytes / G},
                 {"all_regrets_unknown", totals->regrets_unknown},
                 {"stack", model_reserved_bytes(model) / G},
                 {"requested", script.run->verdict.requested_bytes / G},
                 {"op_address", last.address / G},
                 {"op_size", last.size_bytes / G},
                 {"op_flags", last.flags},
                 {"live", model_live_count(model)},
                 {"busy", model_busy_count(model)},
                 {"events", model_event_count(model)},
                 {"sound", model_invariants_hold(model)},
                 {"seen_op", model_last_op(model)},
                 {"seen_result", model_last_result(model)},
                 {"seen_skipped", model_last_skipped(model)},
                 {"closed", script.is_closed},
                 {"frees", script.free_count},
                 {"last_freed", script.last_freed - 1},
                 {"retire_calls", (uint64_t)script.retire_calls},
                 {"reports", script.report_count},
                 {"requested_bytes", now.said->requested_bytes},
                 {"said_free", granules(now.said->free_bytes)},
                 {"nodes_max", now.said->nodes_max},
                 {"peak_low", granules(counters->peak_low_bytes)},
                 {"peak_high", granules(counters->peak_high_bytes)},
                 {"good", rig.is_good},
                 {"time", model_now_ns(model)},
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
                 {"stage", acts_stage()},
                 {"reserved", model_reserved_bytes(model) / G},
                 {"peak", stats->peak_bytes_in_use / G}, /* as the target counts */
                 {"peak_reserved", stats->peak_bytes_reserved / G},
                 {"reservable_limit", stats->bytes_reservable_limit / G},
                 {"largest", stats->largest_alloc_size / G},
                 {"stages", seen->stage_count},
                 {"evictions", seen->unload_count}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (strcmp(name, facts[i].name) == 0) {
            return facts[i].number;
        }
    }
    if (!find_count(name, &count)) {
        return find_fact_of_oom(name);
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
                                   block->is_kept                ? " kept"
                                   : block->state == BLOCK_DYING ? " dying"
                                                                 : "");
    }
    if (strcmp(got, wanted) != 0) {
        FAIL("expected: %s\n         got: %s", wanted, got);
    }
}

void check_facts(const char *at)
{
    char name[256], word[256];
    uint32_t host = 0;
    while (next_word(&at, name)) {
        if (strcmp(name, "host") == 0) { /* which the facts behind it are of */
            host = (uint32_t)need_number(&at) % HOST_COUNT;
            continue;
        }
        if (isdigit((unsigned char)name[0])) { /* of an overlap: what was now.said of that op */
            now.said = &rig.verdicts[read_number(name) % CALL_COUNT_MAX];
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
        if (strcmp(name, "leads") == 0) { /* the rule of the gravest */
            const char *got = rule_info(settled_findings()->findings[0].verdict.rule)->name;
            need_word(&at, word);
            if (strcmp(got, word) != 0) {
                FAIL("expected: leads %s\n         got: %s", word, got);
            }
            continue;
        }
        const uint64_t wanted = need_number(&at), got = find_fact(name, host);
        if (got != wanted) {
            FAIL("expected: %s %" PRIu64 "\n         got: %" PRIu64, name, wanted, got);
        }
    }
}
