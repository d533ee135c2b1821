#include "recording/occupancy.h"

#include "harness/model/model.h"

#include <string.h>

static void add_block(struct occupancy_sum *sum, const struct block *block)
{
    sum->oldest_op = sum->count == 0 || block->op < sum->oldest_op ? block->op : sum->oldest_op;
    sum->newest_op = block->op > sum->newest_op ? block->op : sum->newest_op;
    sum->count++;
    sum->bytes += block->size_bytes;
}

/* The few largest, by selection; a tie goes to the smaller tag. */
static void choose_tags(const struct occupancy_sum sums[OP_TAG_COUNT], struct occupancy *occupancy)
{
    bool chosen[OP_TAG_COUNT] = {false};
    for (; occupancy->tag_count < OCCUPANCY_TAG_COUNT_MAX; occupancy->tag_count++) {
        int best = -1;
        for (int tag = 0; tag < OP_TAG_COUNT; tag++) {
            if (!chosen[tag] && sums[tag].count > 0 &&
                (best < 0 || sums[tag].bytes > sums[best].bytes)) {
                best = tag;
            }
        }
        if (best < 0) {
            return;
        }
        chosen[best] = true;
        occupancy->tags[occupancy->tag_count].tag = (uint8_t)best;
        occupancy->tags[occupancy->tag_count].sum = sums[best];
    }
}

static void add_programs(const struct model *model, struct occupancy *occupancy,
                         struct occupancy_sum tags[OP_TAG_COUNT])
{
    for (size_t i = 0; i < model_program_count(model); i++) {
        const struct block *program = model_program(model, i);
        if (program->state == BLOCK_GONE) {
            occupancy->evicted_count++;
            continue;
        }
        add_block(program->use_count > 0 ? &occupancy->busy : &occupancy->idle, program);
        add_block(&tags[program->tag], program);
    }
}

void occupancy_take(const struct model *model, struct occupancy *occupancy)
{
    struct occupancy_sum tags[OP_TAG_COUNT];
    memset(tags, 0, sizeof tags);
    *occupancy = (struct occupancy){.capacity_bytes = model_capacity_bytes(model),
                                    .free_bytes = model_free_bytes(model),
                                    .largest_hole_bytes = model_largest_hole_bytes(model),
                                    .hole_count = model_hole_count(model),
                                    .reserved_bytes = model_reserved_bytes(model),
                                    .in_use_bytes = model_in_use_bytes(model)};
    for (size_t i = 0; i < model_live_count(model); i++) {
        const struct block *block = model_live(model, i);
        add_block(block_is_movable(block) ? &occupancy->movable : &occupancy->held, block);
        add_block(&tags[block->tag], block);
    }
    add_programs(model, occupancy, tags);
    occupancy->retired = (struct occupancy_sum){.count = model_retired_count(model),
                                                .bytes = model_retired_bytes(model),
                                                .oldest_op = OP_NONE};
    occupancy->dying.count = model_dying_count(model);
    occupancy->dying.oldest_op = OP_NONE;
    occupancy->dying.bytes = occupancy->in_use_bytes - occupancy->movable.bytes -
                             occupancy->held.bytes - occupancy->idle.bytes - occupancy->busy.bytes -
                             occupancy->retired.bytes;
    choose_tags(tags, occupancy);
}
