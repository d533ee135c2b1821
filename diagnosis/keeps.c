#include "diagnosis/private/findings.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/order.h"

#include <stdlib.h>
#include <string.h>

/* Shares of what is compared, by counts of cycles and of blocks. */
enum {
    DEATH_DIVISOR = 6,   /* so many survivors for each that was freed late, at least */
    HALF_SHARE_MIN = 30, /* percent of those that keep that the second half must have */
    KEEPS_DIVISOR = 8,   /* at least one in so many cycles keeps some */
    AGE_MIN = 2          /* cycles: what is freed later than that was kept, too */
};

/* A life that outlasted its cycle. */
struct long_life {
    uint8_t tag;
    bool is_live; /* still */
    uint64_t bytes;
    size_t cycle; /* that made it */
    uint32_t op;
};

static int compare_lives(const void *a, const void *b)
{
    const struct long_life *x = a;
    const struct long_life *y = b;
    return compare_then(
        compare_then(compare_numbers(x->tag, y->tag), compare_numbers(x->bytes, y->bytes)),
        compare_numbers(x->op, y->op));
}

static int compare_ops(const void *a, const void *b)
{
    return compare_numbers(((const struct long_life *)a)->op, ((const struct long_life *)b)->op);
}

/* Returns the blocks on the host that still live, and those that were freed late.  It skips blocks
 * of the first cycle, of the last whole one and of the cut one behind it: they tell nothing yet.
 * The caller frees them; NULL: there are none. */
static struct long_life *collect_lives(const struct cycles *cycles, const struct evidence *evidence,
                                       size_t *life_count)
{
    const struct op_list *ops = evidence->ops;
    struct own_ops own;
    own_ops_init(&own, evidence);
    struct long_life *lives = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < own.count; i++) {
        const struct op *op = &ops->ops[own.ops[i]];
        if ((op->kind != OP_ALLOC && op->kind != OP_OUTPUT) || op == evidence->op) {
            continue;
        }
        const size_t cycle = cycles_find(cycles, own.ops[i]);
        const uint32_t end_op = own.ends[i];
        const size_t end = end_op == OP_NONE ? SIZE_MAX : cycles_find(cycles, end_op);
        if (cycle >= 1 && cycle + 1 < cycles->swings.count && end >= cycle + AGE_MIN) {
            lives = array_grown(lives, count, &capacity, sizeof *lives);
            lives[count++] = (struct long_life){op->tag, end_op == OP_NONE, op->size_bytes, cycle,
                                                own.ops[i]};
        }
    }
    own_ops_deinit(&own);
    *life_count = count;
    return lives;
}

/* The cycles that kept a block, each once, ascending; lives are by op. */
static size_t collect_cycles(const struct long_life *lives, size_t count, size_t *kept)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (lives[i].is_live && (found == 0 || kept[found - 1] != lives[i].cycle)) {
            kept[found++] = lives[i].cycle;
        }
    }
    return found;
}

/* True if the cycles come at even distances, until now.  Random ones have pauses of all lengths, as
 * a cache has that is not full yet. */
static bool is_even(const struct cycles *cycles, const size_t *kept, size_t count)
{
    uint64_t *gaps = calloc(count, sizeof *gaps);
    CHECK(gaps != NULL);
    for (size_t i = 0; i < count; i++) {
        const size_t next = i + 1 < count ? kept[i + 1] : cycles->swings.count - 2;
        gaps[i] = next - kept[i];
    }
    const bool is_late = gaps[count - 1] > 0;
    sort_numbers(gaps, count);
    const uint64_t middle = gaps[count / 2];
    const bool is_so = gaps[count - 1] <= middle + middle / 2 + 1 &&
                       (gaps[is_late ? 0 : 1] + 1 >= middle / 2);
    free(gaps);
    return is_so;
}

/* True if the second half of the cycles since the first that kept a block has its share, both of
 * the cycles that kept some and of the blocks that they kept. */
static bool is_still_coming(const struct cycles *cycles, const struct long_life *lives,
                            size_t count, const size_t *kept, const struct keeps *keeps)
{
    const size_t middle = kept[0] + (cycles->swings.count - 1 - kept[0]) / 2;
    uint64_t late_count = 0;
    uint64_t late_cycles = 0;
    for (size_t i = 0; i < count; i++) {
        late_count += lives[i].is_live && lives[i].cycle >= middle;
    }
    for (size_t i = 0; i < keeps->cycle_count; i++) {
        late_cycles += kept[i] >= middle;
    }
    return late_count * 100 >= keeps->count * HALF_SHARE_MIN &&
           late_cycles * 100 >= keeps->cycle_count * HALF_SHARE_MIN;
}

static void sum_lives(const struct long_life *lives, size_t count, struct keeps *keeps)
{
    keeps->tag = lives[0].tag;
    for (size_t i = 0; i < count; i++) {
        if (!lives[i].is_live) {
            keeps->freed_count++;
            continue;
        }
        if (keeps->count == 0) {
            keeps->first_op = lives[i].op;
            keeps->first_cycle = lives[i].cycle;
            keeps->least_bytes = lives[i].bytes;
        }
        keeps->count++;
        keeps->bytes += lives[i].bytes;
        keeps->least_bytes = lives[i].bytes < keeps->least_bytes ? lives[i].bytes
                                                                 : keeps->least_bytes;
        keeps->most_bytes = lives[i].bytes > keeps->most_bytes ? lives[i].bytes : keeps->most_bytes;
    }
}

/* Lives of one kind, by op.  Sets *most where they pile up and have more bytes. */
static void judge_kind(const struct cycles *cycles, const struct long_life *lives, size_t count,
                       size_t *kept, struct keeps *most)
{
    struct keeps keeps = {0};
    sum_lives(lives, count, &keeps);
    keeps.cycle_count = collect_cycles(lives, count, kept);
    if (keeps.cycle_count >= KEEPS_CYCLE_COUNT_MIN &&
        keeps.cycle_count * KEEPS_DIVISOR >= cycles->swings.count - keeps.first_cycle &&
        keeps.bytes > most->bytes && keeps.freed_count * DEATH_DIVISOR <= keeps.count &&
        is_even(cycles, kept, keeps.cycle_count) &&
        is_still_coming(cycles, lives, count, kept, &keeps)) {
        *most = keeps;
    }
}

/* Kinds by tag and size, then by tag alone. */
static void judge_lives(const struct cycles *cycles, struct long_life *lives, size_t count,
                        struct keeps keeps[OP_TAG_COUNT])
{
    size_t *kept = calloc(count + 1, sizeof *kept);
    CHECK(kept != NULL);
    qsort(lives, count, sizeof *lives, compare_lives);
    for (size_t first = 0; first < count;) {
        size_t end_of_tag = first;
        while (end_of_tag < count && lives[end_of_tag].tag == lives[first].tag) {
            const size_t begin = end_of_tag;
            while (end_of_tag < count && lives[end_of_tag].tag == lives[begin].tag &&
                   lives[end_of_tag].bytes == lives[begin].bytes) {
                end_of_tag++;
            }
            judge_kind(cycles, lives + begin, end_of_tag - begin, kept, &keeps[lives[begin].tag]);
        }
        qsort(lives + first, end_of_tag - first, sizeof *lives, compare_ops);
        judge_kind(cycles, lives + first, end_of_tag - first, kept, &keeps[lives[first].tag]);
        first = end_of_tag;
    }
    free(kept);
}

void cycles_find_keeps(const struct cycles *cycles, const struct evidence *evidence,
                       struct keeps keeps[OP_TAG_COUNT])
{
    memset(keeps, 0, OP_TAG_COUNT * sizeof *keeps);
    if (cycles->swings.count < KEEPS_CYCLE_COUNT_MIN) {
        return;
    }
    size_t count = 0;
    struct long_life *lives = collect_lives(cycles, evidence, &count);
    if (count > 0) {
        judge_lives(cycles, lives, count, keeps);
    }
    free(lives);
}

void cycles_count_long_lives(const struct cycles *cycles, const struct evidence *evidence,
                             struct long_lives lives[OP_TAG_COUNT])
{
    memset(lives, 0, OP_TAG_COUNT * sizeof *lives);
    size_t count = 0;
    struct long_life *all = collect_lives(cycles, evidence, &count);
    for (size_t i = 0; i < count; i++) {
        lives[all[i].tag].live_count += all[i].is_live;
        lives[all[i].tag].freed_count += !all[i].is_live;
    }
    free(all);
}
