/* Helpers of leak, growing_set and still_growing: the trend of a tag, the blocks that pile up, and
 * the length of a step. */
#ifndef DIAGNOSIS_PRIVATE_LEAK_H
#define DIAGNOSIS_PRIVATE_LEAK_H

#include "diagnosis/cause.h"
#include "diagnosis/private/survivors.h"
#include "harness/base/trend.h"

/* The chance that a trend is seen in any tag of a list without one. */
#define LEAK_ALPHA 0.001
/* A shorter list reports no leak. */
enum { LEAK_OP_COUNT_MIN = 128, LEAK_FLOOR_COUNT_MIN = 64 };

/* True if the tag ever held something on the host. */
bool leak_has_tag(const struct evidence *evidence, int tag);
/* Returns how many tags did. */
uint32_t leak_tag_count(const struct evidence *evidence);
/* The trend of the tag's floors, alpha divided by the number of tags.  trend is as trend_test()
 * says. */
enum trend_answer leak_trend(const struct evidence *evidence, uint8_t tag, uint32_t tag_count,
                             struct trend *trend);
/* Tags of which blocks pile up, with their trend. */
struct leak_pile {
    struct survivors survivors;
    enum trend_answer answer;
    struct trend trend;
};
/* True if blocks of the tag pile up; survivors[i][tag] belongs to survivors_parts[i]. */
bool leak_piles_up(const struct evidence *evidence, uint8_t tag, uint32_t tag_count,
                   struct survivors survivors[SURVIVORS_PART_COUNT][OP_TAG_COUNT],
                   struct leak_pile *pile);
/* Returns the survivors of all tags, for each of survivors_parts; the caller frees them. */
struct survivors (*leak_survivors(const struct evidence *evidence))[OP_TAG_COUNT];
/* True if something was freed or executed in at least 12 of 16 equal parts of the list.  Without
 * that, the list only fills the device, and growth is no leak. */
bool leak_life_goes_on(const struct evidence *evidence);
/* Executions from first_op on and before end_op; 0 when there are so few that they are no steps. */
uint64_t leak_step_count(const struct evidence *evidence, uint64_t first_op, uint64_t end_op);
/* Says by how much it grew in so many ops since first_op, per thousand ops and, where steps are
 * known, per step. */
void leak_describe_rate(const struct evidence *evidence, uint64_t bytes, uint64_t first_op,
                        uint64_t end_op, struct diagnosis *diagnosis);

#endif
