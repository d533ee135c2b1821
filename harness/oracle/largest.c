#include "harness/oracle/largest.h"

#include "harness/base/align.h"
#include "harness/base/check.h"

/* No size may take more of the budget than this part of what is left: the sizes around a hard one
 * are mostly easy. */
enum { NODES_DIVISOR = 4 };

struct halving {
    struct oracle *oracle;
    const struct oom *oom;
    uint64_t fits, fails; /* granules: the first fits or is 0, the second does not or may not */
    uint64_t nodes_left;
    bool is_exact;     /* the second is proved */
    bool varies_stack; /* not the block or the image */
};

/* Aligns the request to a multiple of the next size class, if blocks align naturally. */
static void align_naturally(struct oom_request *request, uint64_t capacity_bytes)
{
    uint64_t size = request->size_bytes;
    if ((size & (size - 1)) != 0) {
        size = UINT64_C(2) << (63 - __builtin_clzll(size));
    }
    request->size_bytes = size;
    request->align_bytes = size > request->asked_align_bytes && size <= capacity_bytes
                               ? size
                               : request->asked_align_bytes;
}

static enum verdict_kind judge_size(struct halving *halving, uint64_t granules)
{
    struct oom other = *halving->oom; /* the blocks are shared, and nobody changes them */
    struct verdict verdict = {.kind = VERDICT_NONE};
    const uint64_t share = halving->nodes_left / NODES_DIVISOR;
    uint64_t *size = halving->varies_stack ? &other.request.stack_bytes : &other.request.size_bytes;
    *size = granules * other.granule_bytes;
    if (other.aligns_naturally) {
        align_naturally(&other.request, other.capacity_bytes);
    }
    oracle_judge(halving->oracle, &other, share > 0 ? share : 1, &verdict);
    halving->nodes_left -= verdict.nodes < halving->nodes_left ? verdict.nodes
                                                               : halving->nodes_left;
    return verdict.kind;
}

/* Begins with what the verdict says. */
static void begin_halving(struct halving *halving, enum verdict_kind known)
{
    const struct oom *oom = halving->oom;
    const uint64_t size = halving->varies_stack ? oom->request.stack_bytes
                                                : oom->request.size_bytes;
    const uint64_t capacity = oom->capacity_bytes / oom->granule_bytes;
    halving->fails = capacity + 1;
    halving->is_exact = true;
    if (size > oom->capacity_bytes) {
        CHECK(known != VERDICT_PREMATURE);
        return;
    }
    const uint64_t asked = align_up(size, oom->granule_bytes) / oom->granule_bytes;
    halving->fits = known == VERDICT_PREMATURE ? asked : 0;
    halving->fails = known == VERDICT_JUSTIFIED ? asked : capacity + 1;
}

static struct oracle_largest halve(struct oracle *oracle, const struct oom *oom,
                                   enum verdict_kind known, uint64_t nodes_max, bool varies_stack)
{
    const uint64_t nodes = nodes_max == 0 ? ORACLE_NODES_DEFAULT : nodes_max;
    struct halving halving = {
        .oracle = oracle, .oom = oom, .nodes_left = nodes, .varies_stack = varies_stack};
    begin_halving(&halving, known);
    while (halving.fails - halving.fits > 1) {
        const uint64_t middle = halving.fits + (halving.fails - halving.fits) / 2;
        const enum verdict_kind kind = judge_size(&halving, middle);
        if (kind == VERDICT_PREMATURE) {
            halving.fits = middle;
            continue;
        }
        halving.fails = middle;
        halving.is_exact = kind == VERDICT_JUSTIFIED;
    }
    return (struct oracle_largest){.bytes = halving.fits * oom->granule_bytes,
                                   .nodes = nodes - halving.nodes_left,
                                   .is_exact = halving.is_exact};
}

struct oracle_largest oracle_find_largest(struct oracle *oracle, const struct oom *oom,
                                          enum verdict_kind known, uint64_t nodes_max)
{
    /* A stack without an image: the program is there already. */
    const bool is_stack_alone = oom->request.class == REQUEST_PROGRAM &&
                                oom->request.size_bytes == 0;
    struct oracle_largest largest = halve(oracle, oom, known, nodes_max, is_stack_alone);
    largest.bytes += largest.bytes == 0 || is_stack_alone ? 0 : oom->request.stack_bytes;
    return largest;
}

struct oracle_largest oracle_find_largest_stack(struct oracle *oracle, const struct oom *oom,
                                                enum verdict_kind known, uint64_t nodes_max)
{
    CHECK(oom->request.class == REQUEST_PROGRAM);
    CHECK(oom->request.stack_bytes > 0);
    return halve(oracle, oom, known, nodes_max, true);
}
