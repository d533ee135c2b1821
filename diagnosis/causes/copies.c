#include "diagnosis/cause.h"

#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

enum {
    CONFIDENCE = 84,
    CONFIDENCE_BEGUN = 60,
    BEGUN_DIVISOR = 4,
    COUNT_MIN = 2,
    GAP_MIN = 4,
    GAP_FACTOR = 3
};

/* Live buffers of one tag, or of all, by the op that made them. */
struct set {
    const struct evidence_block **blocks; /* count of them */
    size_t count;
    int tag; /* -1: all */
};
/* The older blocks [0, split) of a set and the newer ones, which are a copy of some of them. */
struct copy {
    size_t split;
    uint64_t old_bytes, new_bytes; /* new_bytes with the request, when that belongs to the copy */
    bool has_request;
};

static int compare_tags_and_ops(const void *a, const void *b)
{
    const struct evidence_block *x = *(const struct evidence_block *const *)a;
    const struct evidence_block *y = *(const struct evidence_block *const *)b;
    if (x->tag != y->tag) {
        return x->tag < y->tag ? -1 : 1;
    }
    return (x->op > y->op) - (x->op < y->op);
}

static int compare_ops(const void *a, const void *b)
{
    const struct evidence_block *x = *(const struct evidence_block *const *)a;
    const struct evidence_block *y = *(const struct evidence_block *const *)b;
    return (x->op > y->op) - (x->op < y->op);
}

static int compare_sizes(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* --- one set --- */

/* Between two generations is the longest pause, which stands out among the others; 0: none does. */
static size_t find_split(const struct set *set)
{
    size_t split = 0;
    uint32_t longest = GAP_MIN - 1;
    uint32_t second = 0;
    for (size_t i = 1; i < set->count; i++) {
        const uint32_t pause = set->blocks[i]->op - set->blocks[i - 1]->op;
        if (pause > longest) {
            second = split > 0 ? longest : second;
            longest = pause;
            split = i;
        } else if (pause > second) {
            second = pause;
        }
    }
    return longest / GAP_FACTOR >= second ? split : 0;
}

/* Whether each of few[few_count] is one of many[many_count], one for one; both are sorted here. */
static bool is_part_of(uint64_t *few, size_t few_count, uint64_t *many, size_t many_count)
{
    size_t found = 0;
    qsort(few, few_count, sizeof *few, compare_sizes);
    qsort(many, many_count, sizeof *many, compare_sizes);
    for (size_t i = 0; i < many_count && found < few_count; i++) {
        found += many[i] == few[found];
    }
    return found == few_count;
}

/* The sizes of the newer blocks, and of the request behind them if it is of the set, are sizes of
 * older ones. */
static bool is_copy(const struct evidence *evidence, const struct set *set, struct copy *copy)
{
    const struct op *op = evidence->op;
    copy->has_request = op != NULL && (op->kind == OP_ALLOC || op->kind == OP_OUTPUT) &&
                        (set->tag < 0 || op->tag == set->tag);
    uint64_t *sizes = malloc((set->count + 1) * sizeof *sizes);
    CHECK(sizes != NULL);
    for (size_t i = 0; i < set->count; i++) {
        sizes[i] = set->blocks[i]->requested_bytes;
        *(i < copy->split ? &copy->old_bytes : &copy->new_bytes) += sizes[i];
    }
    sizes[set->count] = copy->has_request ? op->size_bytes : 0;
    const size_t new_count = set->count - copy->split + copy->has_request;
    copy->new_bytes += sizes[set->count];
    const bool is_part = new_count >= COUNT_MIN &&
                         is_part_of(&sizes[copy->split], new_count, sizes, copy->split);
    free(sizes);
    return is_part;
}

/* In earlier steps there never were two at a time. */
static bool is_first_time(const struct evidence *evidence, const struct set *set,
                          const struct copy *copy)
{
    const struct history_host *host = &evidence->history->hosts[evidence->host];
    const uint32_t begun = set->blocks[copy->split]->op;
    for (uint32_t i = 0; i + 1 < host->count && host->samples[i + 1].first_op <= begun; i++) {
        const struct history_sample *sample = &host->samples[i];
        const uint64_t top = set->tag < 0 ? sample->top_in_use_bytes : sample->top_bytes[set->tag];
        if (top > copy->old_bytes + copy->new_bytes / 2) {
            return false;
        }
    }
    return true;
}

static void describe_copy(const struct evidence *evidence, const struct set *set,
                          const struct copy *copy, struct diagnosis *diagnosis)
{
    char name[SETUP_NAME_BYTES];
    diagnosis->op = set->blocks[copy->split]->op;
    diagnosis->confidence = copy->new_bytes >= copy->old_bytes / 2 ? CONFIDENCE : CONFIDENCE_BEGUN;
    diagnosis_number(diagnosis, "old_bytes", copy->old_bytes);
    diagnosis_number(diagnosis, "new_bytes", copy->new_bytes);
    if (set->tag >= 0) {
        diagnosis->has_tag = true;
        diagnosis->tag = (uint8_t)set->tag;
        diagnosis_describe(diagnosis, "'%s' is allocated a second time",
                           evidence_tag_name(evidence, (uint8_t)set->tag, name));
    } else {
        diagnosis_describe(diagnosis, "The live buffers are allocated a second time");
    }
    diagnosis_describe(
        diagnosis,
        ". Since op %u, %s of the same sizes were allocated%s while the first %zu blocks (%s, up to op %u) are still live. Freeing or donating them before would have left that much more free.",
        diagnosis->op, diagnosis_size(copy->new_bytes).text,
        copy->has_request ? " or requested" : "", copy->split, diagnosis_size(copy->old_bytes).text,
        set->blocks[copy->split - 1]->op);
}

/* True: it is said. */
static bool examine_set(const struct evidence *evidence, const struct set *set,
                        struct diagnosis *diagnosis)
{
    struct copy copy = {.split = find_split(set)};
    if (copy.split < COUNT_MIN || !is_copy(evidence, set, &copy) ||
        copy.new_bytes < copy.old_bytes / BEGUN_DIVISOR ||
        copy.old_bytes < evidence->missing_bytes || !is_first_time(evidence, set, &copy)) {
        return false;
    }
    describe_copy(evidence, set, &copy, diagnosis);
    return true;
}

/* --- all sets --- */

static void collect_blocks(const struct evidence *evidence, struct set *all)
{
    all->blocks = calloc(evidence->block_count + 1, sizeof *all->blocks);
    CHECK(all->blocks != NULL);
    for (size_t i = 0; i < evidence->block_count; i++) {
        const struct evidence_block *block = &evidence->blocks[i];
        if (block->state == BLOCK_LIVE &&
            (block->kind == BLOCK_BUFFER || block->kind == BLOCK_OUTPUT)) {
            all->blocks[all->count++] = block;
        }
    }
}

/* The tag whose copy is largest wins. */
static void examine_tags(const struct evidence *evidence, const struct set *all,
                         struct diagnosis *diagnosis)
{
    uint64_t most = 0;
    for (size_t i = 0; i < all->count;) {
        struct set set = {.blocks = &all->blocks[i], .tag = all->blocks[i]->tag};
        struct diagnosis found;
        while (i < all->count && all->blocks[i]->tag == set.tag) {
            set.count++;
            i++;
        }
        diagnosis_init(&found, diagnosis->cause);
        if (examine_set(evidence, &set, &found) && found.numbers[1].value > most) {
            most = found.numbers[1].value;
            *diagnosis = found;
        }
    }
}

static void find_copies(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    struct set all = {.tag = -1};
    collect_blocks(evidence, &all);
    qsort(all.blocks, all.count, sizeof *all.blocks, compare_tags_and_ops);
    examine_tags(evidence, &all, diagnosis);
    if (diagnosis->confidence == 0) {
        qsort(all.blocks, all.count, sizeof *all.blocks, compare_ops);
        examine_set(evidence, &all, diagnosis);
    }
    free(all.blocks);
}

const struct cause cause_copies = {
    .name = "copies",
    .summary = "a set of buffers is allocated again while the first is still live",
    .claim = CLAIM_TIGHT,
    .find = find_copies,
};
