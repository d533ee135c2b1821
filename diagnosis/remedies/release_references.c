/* Release the references: what is freed, and held by references that nobody ever releases, is
 * released where it is freed. */
#include "diagnosis/private/variant.h"
#include "diagnosis/remedy.h"

#include "harness/base/size.h"

#include <inttypes.h>
#include <string.h>

/* Whose hold is the importer's: nobody could release it. */
static bool is_stand_in(const struct remedy_case *given, uint32_t root)
{
    const char *name = given->setup->tags[given->ops->ops[root].tag];
    return strcmp(name, SETUP_RESERVED_NAME) == 0 || strcmp(name, SETUP_BEFORE_NAME) == 0;
}

/* Counts the references that hold the life whose end is op i, and are never released. */
static uint32_t count_kept(const struct remedy_case *given, uint32_t i)
{
    const uint32_t root = given->lives.lives[i].root;
    if (root == OP_NONE || given->lives.lives[root].end != i || is_stand_in(given, root)) {
        return 0;
    }
    return given->lives.lives[given->lives.lives[root].last_named].hold_count;
}

static bool release_references_apply(const struct remedy_case *given, uint64_t parameter,
                                     struct remedy_result *result)
{
    struct rewrite rewrite;
    uint64_t count = 0;
    uint64_t bytes = 0;
    (void)parameter;
    rewrite_init(&rewrite, given->ops, &result->ops);
    for (uint32_t i = 0; i < given->ops->count; i++) {
        const uint32_t kept_count = count_kept(given, i);
        for (uint32_t k = 0; k < kept_count; k++) {
            rewrite_add_on(&rewrite, OP_RELEASE, given->ops->ops[i].ref);
        }
        count += kept_count;
        bytes += kept_count > 0 ? given->lives.lives[given->lives.lives[i].root].bytes : 0;
        rewrite_keep(&rewrite, i);
    }
    rewrite_deinit(&rewrite);
    return remedy_note(result, count, "no reference that stays holds a block that is freed",
                       "references released: %" PRIu64 ", to %s", count, size_text_of(bytes).text);
}

const struct remedy remedy_release_references = {
    .name = "release-references",
    .summary = "references that outlive the free of their block are released there",
    .assumes = "Whoever holds the reference does not need the block after it was freed.",
    .search = REMEDY_EACH,
    .apply = release_references_apply,
};
