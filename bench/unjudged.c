/* Judges that cost nothing, linked over the real ones: what a run takes with them is its time
 * without oracle, second opinions, regrets and certificates.  They call every OOM justified, which
 * on libhbm is right. */
#include "checker/certificate_check.h"
#include "harness/oracle/certificate.h"
#include "harness/oracle/exhaustive.h"
#include "harness/oracle/oracle.h"
#include "harness/oracle/regret.h"
#include "harness/oracle/relations.h"

#include <stdlib.h>

/* No blocks are taken: the request alone, because the error text is held against it. */
void oom_take(struct oom *oom, const struct model *model, const struct oom_request *request,
              uint32_t faults_fired)
{
    (void)model;
    oom->request = *request;
    oom->faults_fired = faults_fired;
}

void oom_add_absent(struct oom *oom, const struct model *model)
{
    (void)oom, (void)model;
}

void oom_copy(struct oom *to, const struct oom *from)
{
    *to = *from;
}

void oom_deinit(struct oom *oom)
{
    (void)oom;
}

uint64_t oom_reserved_bytes(const struct oom *oom)
{
    (void)oom;
    return 0;
}

/* Returns the block's bytes: nothing is premature, so that no plan is looked at. */
uint64_t oom_region_bytes(const struct oom *oom, uint64_t block_bytes)
{
    (void)oom;
    return block_bytes;
}

bool oom_has_region(const struct oom *oom, uint64_t address, uint64_t size_bytes)
{
    (void)oom, (void)address, (void)size_bytes;
    return true;
}

/* Any number will do. */
struct oom_bounds oom_reservable(const struct oom *oom)
{
    (void)oom;
    return (struct oom_bounds){0, UINT64_MAX};
}

struct oracle {
    struct proof proof;
};

struct oracle *oracle_create(void)
{
    return calloc(1, sizeof(struct oracle));
}

void oracle_destroy(struct oracle *oracle)
{
    free(oracle);
}

void oracle_reset(struct oracle *oracle, uint64_t nodes_each, uint64_t nodes_spare)
{
    (void)oracle, (void)nodes_each, (void)nodes_spare;
}

void oracle_set_terse(struct oracle *oracle, bool is_terse)
{
    (void)oracle, (void)is_terse;
}

void oracle_judge(struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
                  struct verdict *verdict)
{
    (void)oracle, (void)oom, (void)nodes_max;
    verdict->kind = VERDICT_JUSTIFIED;
    verdict->rule = RULE_NONE;
}

/* Accepts what was granted, without judging it. */
void oracle_judge_stack(struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
                        struct verdict *verdict)
{
    (void)oracle, (void)oom, (void)nodes_max;
    verdict->kind = VERDICT_NONE;
    verdict->rule = RULE_NONE;
}

const struct proof *oracle_prove(struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
                                 struct verdict *verdict)
{
    oracle_judge(oracle, oom, nodes_max, verdict);
    return &oracle->proof;
}

enum verdict_kind exhaustive_judge(const struct oom *oom)
{
    (void)oom;
    return VERDICT_NONE;
}

enum relation relations_find_broken(struct relations *relations, const struct oom *oom,
                                    const struct verdict *verdict,
                                    const struct relation_judge *judge, uint32_t *asked_count,
                                    enum verdict_kind *answer)
{
    (void)relations, (void)oom, (void)verdict, (void)judge;
    *asked_count = 0;
    *answer = VERDICT_NONE;
    return RELATION_NONE;
}

/* Defined beside it. */
const char *relation_words(enum relation relation)
{
    (void)relation;
    return "";
}

void relations_deinit(struct relations *relations)
{
    (void)relations;
}

struct regret regret_judge(struct planner *planner, const struct oom *before,
                           const struct regret_spent *spent)
{
    (void)planner, (void)before, (void)spent;
    return (struct regret){0};
}

bool regret_has_none(const struct model *model, const struct oom_request *request,
                     uint64_t moved_bytes)
{
    (void)model, (void)request, (void)moved_bytes;
    return false;
}

/* Defined beside regret_judge, so it is needed here as well. */
const struct regret_info *regret_info(enum regret_kind kind)
{
    static const struct regret_info none = {"none", "nothing is regretted"};
    (void)kind;
    return &none;
}

const char *proof_kind_name(enum proof_kind kind)
{
    (void)kind;
    return "none";
}

void certificate_print(const struct oom *oom, const struct proof *proof,
                       const struct verdict *verdict, const struct certificate_list *list,
                       struct writing *text)
{
    (void)oom, (void)proof, (void)verdict, (void)list, (void)text;
}

enum certificate_result certificate_check(const char *text, size_t length,
                                          char reason[CERTIFICATE_REASON_BYTES])
{
    (void)text, (void)length;
    reason[0] = '\0';
    return CERTIFICATE_VALID;
}
