/* A contract that aligns naturally: every judge agrees on its refusals, in states at random.  What
 * it says by hand is in tests/cases/oracle/natural.case. */
#include "harness/oracle/oom.h"
#include "tests/harness/oracle/judged_everywhere.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

enum { G = 512, BLOCKS_MAX = 12, RANDOM_COUNT = 20000 };

static const struct oom *draw_oom(struct random *random)
{
    static struct oom_block blocks[BLOCKS_MAX];
    static struct oom oom;
    const uint64_t capacity = random_between(random, 1, 40);
    const uint64_t need = UINT64_C(1) << random_below(random, 6);
    const uint64_t asked = UINT64_C(1) << random_below(random, 4);
    oom = (struct oom){
        .capacity_bytes = capacity * G,
        .granule_bytes = G,
        .aligns_naturally = true,
        .request = {.size_bytes = need * G,
                    .asked_align_bytes = asked * G,
                    .align_bytes = (need > asked && need <= capacity ? need : asked) * G,
                    .own_op = OP_NONE},
        .promised = {.step_bytes = G},
        .region_align_bytes = TARGET_REGION_ALIGN_BYTES,
        .blocks = blocks};
    uint64_t at = 0;
    for (uint32_t i = 0; i < BLOCKS_MAX; i++) {
        const uint64_t size = UINT64_C(1) << random_below(random, 3);
        at = (at + random_below(random, 9) + size - 1) / size * size;
        if (at + size > capacity) {
            break;
        }
        blocks[oom.block_count++] = (struct oom_block){.address = at * G,
                                                       .size_bytes = size * G,
                                                       .align_bytes = G,
                                                       .op = i,
                                                       .state = BLOCK_LIVE};
        at += size;
    }
    return &oom;
}

TEST(every_judge_agrees_on_states_at_random, .timeout_s = 120)
{
    judge_at_random(81, draws_count(RANDOM_COUNT, 1), draw_oom, "\"aligns_naturally\": true");
}
