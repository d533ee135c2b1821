/* The tree of blocks knows the largest gap, whatever lies where. */
#include "harness/base/random.h"
#include "kit/private/instance.h"
#include "tests/helpers/suite.h"

#include <string.h>

enum { UNIT_COUNT = 64, BLOCK_COUNT = 40, STEP_COUNT = 200000 };

static struct kit_block blocks[BLOCK_COUNT];
static bool is_there[BLOCK_COUNT];

/* The longest run of units that no block covers. */
static uint64_t count_gap(void)
{
    bool is_covered[UNIT_COUNT + 1] = {[UNIT_COUNT] = true};
    uint64_t length = 0, largest = 0;
    for (size_t i = 0; i < BLOCK_COUNT; i++) {
        for (uint64_t unit = 0; is_there[i] && unit < blocks[i].at.size_bytes; unit++) {
            is_covered[blocks[i].at.address + unit] = true;
        }
    }
    for (size_t unit = 0; unit <= UNIT_COUNT; unit++) {
        length = is_covered[unit] ? 0 : length + 1;
        largest = length > largest ? length : largest;
    }
    return largest;
}

static bool has_overlap(const struct kit_block *block)
{
    for (size_t i = 0; i < BLOCK_COUNT; i++) {
        const struct target_block *other = &blocks[i].at;
        if (is_there[i] && other->address < block->at.address + block->at.size_bytes &&
            block->at.address < other->address + other->size_bytes) {
            return true;
        }
    }
    return false;
}

/* Inserts block i, or removes it. */
static void toggle_block(struct kit_block **root, struct random *random, size_t i, bool may_overlap)
{
    static uint64_t serial;
    if (is_there[i]) {
        kit_blocks_remove(root, &blocks[i]);
        is_there[i] = false;
        return;
    }
    blocks[i] = (struct kit_block){.serial = ++serial};
    blocks[i].at.size_bytes = 1 + random_below(random, 6);
    blocks[i].at.address = random_below(random, UNIT_COUNT - blocks[i].at.size_bytes + 1);
    if (may_overlap || !has_overlap(&blocks[i])) {
        kit_blocks_insert(root, &blocks[i]);
        is_there[i] = true;
    }
}

TEST(the_largest_gap_is_that_of_the_units)
{
    struct kit_block *root = NULL;
    struct random random;
    random_init(&random, 1);
    for (size_t step = 0; step < STEP_COUNT; step++) {
        toggle_block(&root, &random, (size_t)random_below(&random, BLOCK_COUNT), false);
        ck_assert_uint_eq(kit_blocks_largest_gap(root, 0, UNIT_COUNT), count_gap());
    }
}

TEST(blocks_that_overlap_come_and_go)
{
    struct kit_block *root = NULL;
    struct random random;
    random_init(&random, 2);
    for (size_t step = 0; step < STEP_COUNT; step++) {
        toggle_block(&root, &random, (size_t)random_below(&random, BLOCK_COUNT), true);
        ck_assert_uint_ge(kit_blocks_largest_gap(root, 0, UNIT_COUNT), count_gap());
    }
    for (size_t i = 0; i < BLOCK_COUNT; i++) {
        if (is_there[i]) {
            kit_blocks_remove(&root, &blocks[i]);
        }
    }
    ck_assert_ptr_null(root);
}

TEST(a_block_over_others_leaves_no_gap_behind_them)
{
    static struct kit_block nested[8];
    struct kit_block *root = NULL;
    for (uint64_t i = 0; i < 8; i++) {
        nested[i].serial = i + 1;
        nested[i].at = (struct target_block){.address = i, .size_bytes = i == 0 ? UNIT_COUNT : 1};
        kit_blocks_insert(&root, &nested[i]);
        ck_assert_uint_eq(kit_blocks_largest_gap(root, 0, UNIT_COUNT), 0);
    }
}

static size_t count_depth(const struct kit_block *block)
{
    if (block == NULL) {
        return 0;
    }
    const size_t left = count_depth(block->left), right = count_depth(block->right);
    return 1 + (left > right ? left : right);
}

TEST(blocks_in_ascending_order_make_no_deep_tree)
{
    enum { MANY = 100000 };
    struct kit_block *many = calloc(MANY, sizeof *many), *root = NULL;
    ck_assert_ptr_nonnull(many);
    for (size_t i = 0; i < MANY; i++) {
        many[i].serial = i + 1;
        many[i].at = (struct target_block){.address = i * 512, .size_bytes = 512};
        kit_blocks_insert(&root, &many[i]);
    }
    ck_assert_uint_lt(count_depth(root), 80);
    free(many);
}
