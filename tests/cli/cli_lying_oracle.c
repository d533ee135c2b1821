/* An oracle that is wrong about devices with granules of 1024 bytes (the linker's --wrap): a
 * program linked with it must notice, though it never runs one. */
#include "harness/oracle/oracle.h"

void __real_oracle_judge(struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
                         struct verdict *verdict);
void __wrap_oracle_judge(struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
                         struct verdict *verdict);

void __wrap_oracle_judge(struct oracle *oracle, const struct oom *oom, uint64_t nodes_max,
                         struct verdict *verdict)
{
    __real_oracle_judge(oracle, oom, nodes_max, verdict);
    if (oom->granule_bytes == 1024) {
        verdict->kind = verdict->kind == VERDICT_JUSTIFIED ? VERDICT_PREMATURE : VERDICT_JUSTIFIED;
    }
}
