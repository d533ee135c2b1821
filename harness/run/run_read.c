/* Reads what a run shows of itself. */
#include "harness/base/check.h"
#include "harness/oracle/certificate.h"
#include "harness/run/run_state.h"

bool run_is_broken(const struct run *run)
{
    return run->is_broken;
}

const struct waits *run_waits(const struct run *run)
{
    return &run->waits;
}

void run_hangs(const struct run *run, struct hangs *hangs)
{
    hang_watch_read(run->hangs, &run->ops, hangs);
}

const struct standstills *run_standstills(const struct run *run)
{
    return run->standstills == NULL ? NULL : standstill_watch_read(run->standstills);
}

const struct shortages *run_shortages(const struct run *run)
{
    return &run->shortages;
}

const struct run_findings *run_findings(const struct run *run)
{
    return &run->findings;
}

const struct verdict *run_hidden_oom(const struct run *run)
{
    return run->judge.hides_oom ? &run->judge.oom_verdict : NULL;
}

bool run_sums_decide(const struct run *run, bool *fits)
{
    *fits = run->judge.sums == JUDGE_SUMS_FIT;
    return run->judge.sums != JUDGE_SUMS_DO_NOT_DECIDE;
}

const struct observation *run_observation(const struct run *run)
{
    return &run->observation;
}

const char *run_message(const struct run *run)
{
    return run->message;
}

/* Judges it again, with the proof kept. */
static const struct proof *prove_verdict(const struct run *run, struct verdict *verdict)
{
    const enum verdict_kind kind = run->verdict.kind;
    CHECK(kind == VERDICT_JUSTIFIED || kind == VERDICT_PREMATURE || kind == VERDICT_UNKNOWN ||
          kind == VERDICT_DISPUTED);
    *verdict = (struct verdict){.op = run->verdict.op};
    const struct proof *proof = assumed_prove(run->judge.assumed, run->judge.oracle,
                                              &run->judge.oom, run->verdict.nodes_max, verdict);
    CHECK(verdict->kind == kind || kind == VERDICT_DISPUTED);
    return proof;
}

/* Names the list.  If lanes overlap, ops behind this one may have come before it in time. */
static struct certificate_list name_list(const struct run *run)
{
    const uint32_t op = run->verdict.op;
    const bool has_lanes = run->hosts[0].clients != NULL;
    CHECK(op < run->ops.count);
    struct certificate_list list = {.setup = &run->setup, .op = op, .host = run->ops.ops[op].host};
    ops_hash(&run->setup, &run->ops, has_lanes ? run->ops.count : (size_t)op + 1, list.hash);
    return list;
}

void run_print_certificate(const struct run *run, struct writing *text)
{
    struct verdict verdict;
    const struct proof *proof = prove_verdict(run, &verdict);
    const struct certificate_list list = name_list(run);
    certificate_print(&run->judge.oom, proof, &verdict, &list, text);
}

const struct oom *run_oom(const struct run *run)
{
    return &run->judge.oom;
}

const struct proof *run_prove(const struct run *run)
{
    struct verdict verdict;
    return prove_verdict(run, &verdict);
}

/* On a shared device the oracle knows whether the request may have a region, and of no larger one:
 * the answer is a lower bound. */
static struct oracle_largest find_largest_shared(const struct run *run, uint64_t nodes_max)
{
    const struct oom *oom = &run->judge.oom;
    if (run->verdict.kind == VERDICT_PREMATURE) {
        return (struct oracle_largest){.bytes = oom->request.size_bytes};
    }
    struct oracle_largest largest = oracle_find_largest(run->judge.oracle, oom, run->verdict.kind,
                                                        nodes_max);
    largest.is_exact = false;
    return largest;
}

struct oracle_largest run_find_largest(const struct run *run, uint64_t nodes_max)
{
    const uint64_t nodes = nodes_max == 0 ? run->judge.nodes_max : nodes_max;
    return run->setup.shared_hosts != 0 && run->judge.oom.promised.grows
               ? find_largest_shared(run, nodes)
               : oracle_find_largest(run->judge.oracle, &run->judge.oom, run->verdict.kind, nodes);
}

const struct op_list *run_ops(const struct run *run)
{
    return &run->ops;
}

const struct run_totals *run_totals(const struct run *run)
{
    return &run->totals;
}

const struct setup *run_setup(const struct run *run)
{
    return &run->setup;
}

const struct model *run_model(const struct run *run, uint32_t host)
{
    CHECK(host < run->setup.host_count);
    return run->models[host];
}

struct device *run_device(const struct run *run, uint32_t host)
{
    CHECK(host < run->setup.host_count);
    return run->hosts[host].device;
}

const struct target_stats *run_stats(const struct run *run, uint32_t host)
{
    CHECK(host < run->setup.host_count);
    return &run->hosts[host].stats;
}

uint64_t run_digest(const struct run *run)
{
    return run->digest;
}

void run_view(const struct run *run, struct scenario_view *view)
{
    CHECK(run->setup.host_count >= 1);
    CHECK(run->ops.count < OP_NONE);
    view->hosts = run->models;
    view->host_count = run->setup.host_count;
    view->op_number = (uint32_t)run->ops.count;
}

bool run_growing_tag(const struct run *run, uint32_t host, struct growth *growth)
{
    CHECK(host < run->setup.host_count);
    return growth_find(&run->growth[host], run->models[host], growth);
}
