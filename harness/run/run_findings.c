#include "harness/run/run.h"

#include "harness/base/check.h"

#include <stdio.h>
#include <string.h>

/* A dispute is no finding, and comes before all of them. */
static unsigned weigh_verdict(const struct verdict *verdict)
{
    return verdict->kind == VERDICT_DISPUTED ? GRAVITY_HARM + 1u
                                             : (unsigned)rule_gravity(verdict->rule);
}

/* The one of exactly that signature. */
static struct run_finding *find_signature(struct run_findings *findings, const char *signature)
{
    for (size_t i = 0; i < findings->count; i++) {
        if (strcmp(findings->findings[i].signature, signature) == 0) {
            return &findings->findings[i];
        }
    }
    return NULL;
}

/* If there are too many, the last one goes for a graver one. */
bool run_findings_take(struct run_findings *findings, const struct run_finding *finding)
{
    struct run_finding *known = find_signature(findings, finding->signature);
    if (known != NULL) {
        known->count += finding->count;
        return false;
    }
    if (findings->count == RUN_FINDING_COUNT_MAX) {
        const struct verdict *last = &findings->findings[findings->count - 1].verdict;
        if (weigh_verdict(&finding->verdict) <= weigh_verdict(last)) {
            return false;
        }
        findings->count--;
    }
    findings->findings[findings->count] = *finding;
    findings->findings[findings->count++].list = 0;
    return true;
}

void run_findings_add(struct run_findings *findings, const struct verdict *verdict,
                      const struct op_list *ops, const char *message)
{
    struct run_finding finding;
    CHECK(verdict->kind == VERDICT_PREMATURE || verdict->kind == VERDICT_BROKEN ||
          verdict->kind == VERDICT_DISPUTED);
    finding.verdict = *verdict;
    finding.list = 0;
    finding.count = 1;
    signature_print(verdict, ops, finding.signature);
    (void)snprintf(finding.message, sizeof finding.message, "%s", message);
    (void)run_findings_take(findings, &finding);
}

void run_findings_set(struct run_findings *findings, const struct verdict *verdict,
                      const struct op_list *ops)
{
    char signature[SIGNATURE_BYTES];
    signature_print(verdict, ops, signature);
    struct run_finding *known = find_signature(findings, signature);
    if (known != NULL) {
        known->verdict = *verdict;
        return;
    }
    findings->count -= findings->count == RUN_FINDING_COUNT_MAX;
    run_findings_add(findings, verdict, ops, "");
}

void run_findings_copy(struct run_findings *to, const struct run_findings *from)
{
    to->count = from->count;
    memcpy(to->findings, from->findings, from->count * sizeof from->findings[0]);
}

const struct run_finding *run_findings_find(const struct run_findings *findings,
                                            const char *signature)
{
    for (size_t i = 0; i < findings->count; i++) {
        if (signature_stands_for(findings->findings[i].signature, signature)) {
            return &findings->findings[i];
        }
    }
    return NULL;
}

const struct run_finding *run_findings_gravest(const struct run_findings *findings)
{
    const struct run_finding *gravest = NULL;
    for (size_t i = 0; i < findings->count; i++) {
        const struct run_finding *finding = &findings->findings[i];
        if (gravest == NULL ||
            weigh_verdict(&finding->verdict) > weigh_verdict(&gravest->verdict)) {
            gravest = finding;
        }
    }
    return gravest;
}

void run_findings_settle(struct run_findings *findings)
{
    const struct run_finding *found = run_findings_gravest(findings);
    if (found == NULL) {
        return;
    }
    const struct run_finding gravest = *found;
    const size_t index = (size_t)(found - findings->findings);
    size_t count = 1;
    memmove(findings->findings + 1, findings->findings, index * sizeof gravest);
    findings->findings[0] = gravest;
    const bool is_harm = weigh_verdict(&gravest.verdict) >= GRAVITY_HARM;
    for (size_t i = 1; i < findings->count; i++) {
        const struct verdict *verdict = &findings->findings[i].verdict;
        if (!is_harm || verdict->kind != VERDICT_BROKEN || verdict->rule != RULE_COUNTERS) {
            findings->findings[count++] = findings->findings[i];
        }
    }
    findings->count = count;
}
