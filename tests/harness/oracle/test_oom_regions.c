/* Out-of-memories of a contract that grows: every judge agrees on states at random.  By hand they
 * are in tests/cases/oracle/oom_regions.case. */
#include "harness/oracle/oom.h"
#include "tests/harness/oracle/judged_everywhere.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

enum { G = 512, BLOCKS_MAX = 12, REGIONS_MAX = 6, RANDOM_COUNT = 40000, TIME_COUNT = 4 };

static struct device_region regions[REGIONS_MAX];
static struct oom_block blocks[BLOCKS_MAX];

/* Regions begin at multiples of 4 granules. */
static void draw_regions(struct random *random, struct oom *oom)
{
    uint64_t at = 0;
    for (size_t i = 0; i < REGIONS_MAX; i++) {
        at = (at + 3) / 4 * 4 + 4 * random_below(random, 2);
        const uint64_t size = random_between(random, 1, 9);
        if (at + size > oom->capacity_bytes / G) {
            break;
        }
        regions[oom->region_count++] = (struct device_region){at * G, size * G};
        at += size;
    }
}

static void draw_blocks(struct random *random, struct oom *oom)
{
    for (size_t i = 0; i < oom->region_count; i++) {
        uint64_t at = regions[i].address;
        for (int k = 0; k < 3 && oom->block_count < BLOCKS_MAX; k++) {
            at += random_below(random, 4) * G;
            const uint64_t size = random_between(random, 1, 4) * G;
            if (at + size > regions[i].address + regions[i].size_bytes) {
                break;
            }
            const uint64_t freed_at_ns = random_chance(random, 1, 2)
                                             ? random_between(random, 1, TIME_COUNT)
                                             : 0;
            blocks[oom->block_count] = (struct oom_block){.address = at,
                                                          .size_bytes = size,
                                                          .align_bytes = G,
                                                          .freed_at_ns = freed_at_ns,
                                                          .op = (uint32_t)oom->block_count,
                                                          .state = freed_at_ns > 0 ? BLOCK_DYING
                                                                                   : BLOCK_LIVE};
            oom->block_count++;
            at += size;
        }
    }
}

static const struct oom *draw_oom(struct random *random)
{
    static struct oom oom;
    oom = (struct oom){.capacity_bytes = random_between(random, 1, 40) * G,
                       .granule_bytes = G,
                       .region_align_bytes = (uint64_t)4 * G,
                       .regions = regions,
                       .blocks = blocks};
    oom.promised.grows = true;
    oom.promised.step_bytes = random_between(random, 1, 6) * G;
    oom.request.align_bytes = (uint64_t)G << random_below(random, 3);
    oom.promised.trims = random_chance(random, 1, 2);
    oom.drains = random_chance(random, 1, 2);
    oom.faults_fired = random_chance(random, 1, 8) ? 1u << FAULT_REGION : 0;
    draw_regions(random, &oom);
    oom.request.size_bytes = random_between(random, 1, oom.capacity_bytes / G + 1) * G;
    oom.request.own_op = OP_NONE;
    draw_blocks(random, &oom);
    return &oom;
}

TEST(every_judge_agrees_on_states_at_random, .timeout_s = 120)
{
    judge_at_random(77, draws_count(RANDOM_COUNT, 1), draw_oom, "\"grows\": true");
}
