#include "diagnosis/strength.h"

#include <math.h>

static const struct strength_info infos[STRENGTH_COUNT] = {
#define STRENGTH(name, cause, words, right, wrong, rank) {#name, cause, words, right, wrong, rank},
#include "diagnosis/strengths.h"
#undef STRENGTH
};

const struct strength_info *strength_info(enum strength strength)
{
    return &infos[strength];
}

uint32_t strength_lower_end(uint32_t right, uint32_t wrong)
{
    const double z = 1.96;
    const double count = (double)right + wrong;
    if (count == 0) {
        return 0;
    }
    const double part = right / count;
    const double middle = part + z * z / (2 * count);
    const double half = z * sqrt(part * (1 - part) / count + z * z / (4 * count * count));
    return (uint32_t)(100 * (middle - half) / (1 + z * z / count));
}

bool strength_is_measured(enum strength strength)
{
    return infos[strength].right + infos[strength].wrong >= STRENGTH_COUNT_MIN;
}

uint32_t strength_confidence(enum strength strength)
{
    const struct strength_info *info = &infos[strength];
    return strength_is_measured(strength) ? strength_lower_end(info->right, info->wrong)
                                          : info->rank;
}

void strength_set(struct diagnosis *diagnosis, enum strength strength)
{
    diagnosis->strength = strength;
    diagnosis->confidence = strength_confidence(strength);
}
