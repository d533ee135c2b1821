/* The ordered tree of the checker, against a table of which keys are there. */
#include "checker/private/tree.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>

enum { KEY_COUNT = 200, STEP_COUNT = 20000 };

static struct tree_node nodes[KEY_COUNT]; /* by key */
static bool is_there[KEY_COUNT];

/* Whether the keys are in order within [low, high], and each height is right and balanced. */
static int expect_sound(const struct tree_node *root, int64_t low, int64_t high)
{
    if (root == NULL) {
        return 0;
    }
    ck_assert(root->key >= low && root->key <= high);
    const int lower = expect_sound(root->sides[0], low, root->key - 1),
              higher = expect_sound(root->sides[1], root->key + 1, high);
    ck_assert_int_le(abs(lower - higher), 1);
    ck_assert_int_eq(root->height, 1 + (lower > higher ? lower : higher));
    return root->height;
}

static void expect_neighbours(struct tree_node *root, int key)
{
    int below = key - 1, from = key;
    while (below >= 0 && !is_there[below]) {
        below--;
    }
    while (from < KEY_COUNT && !is_there[from]) {
        from++;
    }
    struct tree_node *around[2];
    tree_find_around(root, key, around);
    ck_assert_ptr_eq(around[0], below < 0 ? NULL : &nodes[below]);
    ck_assert_ptr_eq(around[1], from == KEY_COUNT ? NULL : &nodes[from]);
}

static struct tree_node *toggle_key(struct tree_node *root, int key)
{
    is_there[key] = !is_there[key];
    nodes[key].key = key;
    return is_there[key] ? tree_put(root, &nodes[key]) : tree_take(root, &nodes[key]);
}

TEST(neighbours_are_found_whatever_comes_and_goes)
{
    struct tree_node *root = NULL;
    uint64_t state = 1;
    for (int step = 0; step < STEP_COUNT; step++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        root = toggle_key(root, (int)((state >> 33) % KEY_COUNT));
        (void)expect_sound(root, 0, KEY_COUNT - 1);
        expect_neighbours(root, (int)((state >> 45) % (KEY_COUNT + 1)));
    }
}

TEST(keys_that_come_and_go_in_order_leave_it_balanced)
{
    struct tree_node *root = NULL;
    for (int step = 0; step < 2 * KEY_COUNT; step++) {
        root = toggle_key(root, step % KEY_COUNT);
        (void)expect_sound(root, 0, KEY_COUNT - 1);
    }
    ck_assert_ptr_null(root);
}
