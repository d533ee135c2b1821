/* Release: the blocks of a tag that pile up are freed at the age at which their like are, or after
 * a step. */
#include "diagnosis/private/variant.h"

#include "harness/base/check.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A tag piles up when blocks that are never freed come in each of so many equal parts of the list,
 * and at least so many in all. */
enum { PART_COUNT = 4, PILED_COUNT_MIN = 4 };

static bool is_never_freed(const struct remedy_case *given, uint32_t i)
{
    const struct remedy_life *life = &given->lives.lives[i];
    return life->root == i && life->end == OP_NONE && !life->is_donated &&
           given->ops->ops[i].kind != OP_LOAD;
}

/* The blocks that one tag leaves behind. */
struct pile {
    uint64_t bytes, count;
    uint64_t part_counts[PART_COUNT];
};

static bool is_pile(const struct pile *pile)
{
    bool is_everywhere = pile->count >= PILED_COUNT_MIN;
    for (int part = 0; part < PART_COUNT; part++) {
        is_everywhere = is_everywhere && pile->part_counts[part] > 0;
    }
    return is_everywhere;
}

/* By tag; the caller frees it.  Where a list frees next to nothing, it only fills the device. */
static struct pile *find_piles(const struct remedy_case *given)
{
    const size_t count = given->ops->count;
    struct pile *piles = calloc(OP_TAG_COUNT, sizeof *piles);
    CHECK(piles != NULL);
    for (uint32_t i = 0; i < count; i++) {
        if (is_never_freed(given, i)) {
            struct pile *pile = &piles[given->ops->ops[i].tag];
            pile->bytes += given->lives.lives[i].bytes;
            pile->count++;
            pile->part_counts[(uint64_t)i * PART_COUNT / count]++;
        }
    }
    return piles;
}

static bool frees_much(const struct remedy_case *given, uint64_t piled_count)
{
    uint64_t freed_count = 0;
    for (uint32_t i = 0; i < given->ops->count; i++) {
        freed_count += given->lives.lives[i].root == i && given->lives.lives[i].end != OP_NONE;
    }
    return 2 * freed_count >= piled_count;
}

static bool release_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                              char note[REMEDY_NOTE_BYTES])
{
    enum { TAGS_TRIED = 4 };
    uint64_t scores[OP_TAG_COUNT];
    struct pile *piles = find_piles(given);
    for (unsigned tag = 0; tag < OP_TAG_COUNT; tag++) {
        const bool counts = is_pile(&piles[tag]) && frees_much(given, piles[tag].count);
        scores[tag] = counts ? piles[tag].bytes : 0;
    }
    free(piles);
    snprintf(note, REMEDY_NOTE_BYTES, "no tag leaves blocks behind all the time");
    return index < TAGS_TRIED && remedy_tag_ranked(given, scores, index, parameter);
}

/* The plan for one tag: which block is freed after which op. */
struct release {
    const struct remedy_case *given;
    uint8_t tag;
    uint32_t
        freed_age;   /* the most ops that a block of the tag lived which was freed; 0: none was */
    uint32_t *first; /* by op: the block that is freed after it; OP_NONE: none is */
    uint32_t *next;  /* by block: another one that is freed there */
    uint64_t count, bytes;
};

static void find_freed_age(struct release *release)
{
    for (uint32_t i = 0; i < release->given->ops->count; i++) {
        const struct remedy_life *life = &release->given->lives.lives[i];
        const bool is_freed = life->root == i && life->end != OP_NONE;
        if (is_freed && release->given->ops->ops[i].tag == release->tag &&
            life->end - i > release->freed_age) {
            release->freed_age = life->end - i;
        }
    }
}

/* Returns how many ops a block may live that was never freed: as long as those that were, otherwise
 * a step, otherwise until the tag asks for another one. */
static uint32_t choose_age(const struct release *release, uint32_t distance)
{
    if (release->freed_age > 0) {
        return release->freed_age;
    }
    return release->given->steps.count > 0 ? release->given->steps.length : distance;
}

/* Walks backwards, so that the next block of the tag is known. */
static void plan_releases(struct release *release)
{
    const uint32_t count = (uint32_t)release->given->ops->count;
    uint32_t newer = count;
    for (uint32_t i = count; i-- > 0;) {
        if (release->given->ops->ops[i].tag != release->tag || !is_never_freed(release->given, i)) {
            continue;
        }
        const struct remedy_life *life = &release->given->lives.lives[i];
        const uint32_t age = choose_age(release, newer - i);
        const uint32_t wished = age < count - i ? i + age : count;
        const uint32_t at = wished > life->last_named ? wished : life->last_named;
        newer = i;
        if (at + 1 < count) {
            release->next[i] = release->first[at];
            release->first[at] = i;
            release->count++;
            release->bytes += life->bytes;
        }
    }
}

static void write_releases(const struct release *release, struct op_list *to)
{
    const struct remedy_case *given = release->given;
    struct rewrite rewrite;
    rewrite_init(&rewrite, given->ops, to);
    for (uint32_t i = 0; i < given->ops->count; i++) {
        rewrite_keep(&rewrite, i);
        for (uint32_t k = release->first[i]; k != OP_NONE; k = release->next[k]) {
            rewrite_free_held(&rewrite, &given->lives, k);
        }
    }
    rewrite_deinit(&rewrite);
}

static bool release_apply(const struct remedy_case *given, uint64_t parameter,
                          struct remedy_result *result)
{
    struct release release = {.given = given, .tag = (uint8_t)parameter};
    const size_t room = given->ops->count + 1;
    release.first = malloc(room * sizeof *release.first);
    release.next = malloc(room * sizeof *release.next);
    CHECK(release.first != NULL && release.next != NULL);
    for (size_t i = 0; i < room; i++) {
        release.first[i] = release.next[i] = OP_NONE;
    }
    find_freed_age(&release);
    plan_releases(&release);
    write_releases(&release, &result->ops);
    free(release.first);
    free(release.next);
    return remedy_note(result, release.count, "no block of the tag is left behind before the end",
                       "blocks freed: %" PRIu64 ", %s", release.count,
                       size_text_of(release.bytes).text);
}

const struct remedy remedy_release = {
    .name = "release",
    .summary =
        "blocks of a tag that pile up are freed, each as old as its like when they are freed, "
        "or a step",
    .parameter_name = "tag",
    .assumes = "Nothing needs these blocks any more: no later op names them.",
    .search = REMEDY_EACH,
    .parameter = release_parameter,
    .label = remedy_tag_parameter_label,
    .apply = release_apply,
};
