/* A second judge for which every out-of-memory is premature: a program linked with it must notice
 * that its judges disagree. */
#include "harness/oracle/exhaustive.h"

enum verdict_kind exhaustive_judge(const struct oom *oom)
{
    (void)oom;
    return VERDICT_PREMATURE;
}
