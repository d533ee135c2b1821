/* A treap: a search tree by address that is a heap by a hash of the serial, so that it is balanced
 * whatever the order of allocations. */
#include "kit/private/instance.h"

static uint64_t larger_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t gap_between(uint64_t end, uint64_t start)
{
    return start > end ? start - end : 0;
}

static bool is_before(const struct kit_block *a, const struct kit_block *b)
{
    return a->at.address != b->at.address ? a->at.address < b->at.address : a->serial < b->serial;
}

static uint64_t priority_of(const struct kit_block *block)
{
    uint64_t mixed = block->serial * UINT64_C(0x9e3779b97f4a7c15);
    mixed ^= mixed >> 29;
    return mixed * UINT64_C(0xbf58476d1ce4e5b9);
}

/* The span from the block and the spans of what is below it. */
static void sum_span(struct kit_block *block)
{
    const struct kit_block *left = block->left, *right = block->right;
    block->span_start = block->at.address;
    block->span_end = block->at.address + block->at.size_bytes;
    block->gap_bytes = 0;
    if (left != NULL) {
        block->gap_bytes = larger_of(left->gap_bytes,
                                     gap_between(left->span_end, block->span_start));
        block->span_start = left->span_start;
        block->span_end = larger_of(block->span_end, left->span_end);
    }
    if (right != NULL) {
        const uint64_t gap = gap_between(block->span_end, right->span_start);
        block->gap_bytes = larger_of(block->gap_bytes, larger_of(gap, right->gap_bytes));
        block->span_end = larger_of(block->span_end, right->span_end);
    }
}

/* Cuts a tree into what lies before the block and what lies behind. */
static void split_tree(struct kit_block *root, const struct kit_block *at,
                       struct kit_block **before, struct kit_block **behind)
{
    if (root == NULL) {
        *before = *behind = NULL;
        return;
    }
    if (is_before(root, at)) {
        split_tree(root->right, at, &root->right, behind);
        *before = root;
    } else {
        split_tree(root->left, at, before, &root->left);
        *behind = root;
    }
    sum_span(root);
}

static struct kit_block *join_trees(struct kit_block *before, struct kit_block *behind)
{
    if (before == NULL || behind == NULL) {
        return before == NULL ? behind : before;
    }
    struct kit_block *root = priority_of(before) > priority_of(behind) ? before : behind;
    if (root == before) {
        root->right = join_trees(root->right, behind);
    } else {
        root->left = join_trees(before, root->left);
    }
    sum_span(root);
    return root;
}

void kit_blocks_insert(struct kit_block **root, struct kit_block *block)
{
    struct kit_block *top = *root;
    if (top != NULL && priority_of(top) >= priority_of(block)) {
        kit_blocks_insert(is_before(block, top) ? &top->left : &top->right, block);
        sum_span(top);
        return;
    }
    split_tree(top, block, &block->left, &block->right);
    sum_span(block);
    *root = block;
}

void kit_blocks_remove(struct kit_block **root, struct kit_block *block)
{
    struct kit_block *top = *root;
    if (top == block) {
        *root = join_trees(block->left, block->right);
        return;
    }
    kit_blocks_remove(is_before(block, top) ? &top->left : &top->right, block);
    sum_span(top);
}

const struct kit_block *kit_blocks_find(const struct kit_block *root, uint64_t address)
{
    while (root != NULL && root->at.address != address) {
        root = address < root->at.address ? root->left : root->right;
    }
    return root;
}

uint64_t kit_blocks_largest_gap(const struct kit_block *root, uint64_t start, uint64_t end)
{
    if (root == NULL) {
        return end - start;
    }
    const uint64_t outer = larger_of(gap_between(start, root->span_start),
                                     gap_between(root->span_end, end));
    return larger_of(root->gap_bytes, outer);
}
