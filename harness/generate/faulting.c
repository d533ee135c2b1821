#include "harness/generate/faulting.h"

#include "harness/base/check.h"
#include "harness/model/model.h"

/* "faulting", as a number that no other part of a seed uses. */
#define FAULTING_STREAM UINT64_C(0x6661756C74696E67)
/* The stream for what was added later: with it, too, a seed means the same as before. */
#define REGIONS_STREAM UINT64_C(0x726567696F6E73)
#define DELAY_MIN_NS UINT64_C(1000)
#define DELAY_MAX_NS UINT64_C(10000000000)
enum { FOR_EVER_PERCENT = 10, RETIRE_PARTS = 256 };
static_assert(FAULTING_KIND_COUNT < 32, "fault options have a bit for each kind");

/* Memory that goes bad is drawn before the kinds that came later, so that a seed means the same. */
static unsigned kind_drawn_at(unsigned i)
{
    if (i < FAULT_POLL_JUMP) {
        return i;
    }
    return i == FAULT_POLL_JUMP ? FAULTING_RETIRE : i - 1;
}

void faulting_init(struct faulting *faulting, const struct fault_options *options, uint64_t seed)
{
    CHECK((options->kinds & ~FAULTING_ALL) == 0);
    *faulting = (struct faulting){0};
    random_init(&faulting->random, random_derive(seed, FAULTING_STREAM));
    struct random later;
    random_init(&later, random_derive(seed, REGIONS_STREAM));
    for (unsigned i = 0; i < FAULTING_KIND_COUNT; i++) {
        const unsigned kind = kind_drawn_at(i);
        const bool is_later = kind != FAULTING_RETIRE && fault_is_of_regions((enum fault_kind)kind);
        struct random *random = is_later ? &later : &faulting->random;
        /* Drawn whether wished for or not: allowing one kind does not change what the others do. */
        const bool is_on = random_chance(random, FAULTING_ON_PERCENT, 100);
        const uint64_t period = random_log_uniform(random, FAULTING_PERIOD_MIN,
                                                   FAULTING_PERIOD_MAX);
        const bool is_wished = (options->kinds >> kind & 1) != 0;
        faulting->kinds[kind].period = is_on && is_wished ? (uint32_t)period : 0;
        faulting->on |= is_on && is_wished ? UINT32_C(1) << kind : 0;
    }
    faulting->kinds[FAULTING_RETIRE].period *= FAULTING_RETIRE_PERIOD_FACTOR;
}

/* Draws which call is struck. */
static uint64_t draw_nth(struct faulting *faulting, enum fault_kind kind)
{
    if (kind == FAULT_POLL_JUMP) {
        return random_log_uniform(&faulting->random, 1, FAULTING_NTH_POLL_MAX);
    }
    return 1 +
           random_below(&faulting->random, 1 + random_below(&faulting->random, FAULTING_NTH_MAX));
}

static struct op make_fault(struct faulting *faulting, enum fault_kind kind, uint8_t host,
                            uint32_t op_number)
{
    struct op op = op_make(OP_FAULT);
    op.host = host;
    op.tag = (uint8_t)kind;
    op.size_bytes = draw_nth(faulting, kind);
    if (fault_info(kind)->has_delay) {
        op.delay_ns = random_log_uniform(&faulting->random, DELAY_MIN_NS, DELAY_MAX_NS);
    }
    if (random_chance(&faulting->random, FOR_EVER_PERCENT, 100)) {
        op.flags = OP_FOR_EVER;
        faulting->kinds[kind].host = host;
        faulting->kinds[kind].disarm_at = op_number + (uint32_t)random_between(
                                                          &faulting->random, FAULTING_LAST_OPS_MIN,
                                                          FAULTING_LAST_OPS_MAX);
    }
    return op;
}

static struct op make_disarm(struct faulting *faulting, enum fault_kind kind)
{
    struct op op = op_make(OP_FAULT);
    op.host = faulting->kinds[kind].host;
    op.tag = (uint8_t)kind;
    faulting->kinds[kind].disarm_at = 0;
    return op;
}

/* A few granules, at most one part of RETIRE_PARTS of the device: in what is free then, or, where
 * blocks may be moved to any span, at the end of the device, if it is free.  Each bad range in the
 * middle would make a span of its own there, and a full device a bin packing that no search
 * decides. */
static struct op make_retire(struct faulting *faulting, const struct model *model, uint8_t host)
{
    const uint64_t granule = model_granule_bytes(model);
    const uint64_t granules = model_capacity_bytes(model) / granule;
    const uint64_t most = granules / RETIRE_PARTS;
    struct op op = op_make(OP_RETIRE);
    op.host = host;
    op.size_bytes = granule * random_log_uniform(&faulting->random, 1, most == 0 ? 1 : most);
    op.address = granule * random_below(&faulting->random, granules == 0 ? 1 : granules);
    if (model_contract(model)->defrag != DEFRAG_REPACK) {
        op.flags = OP_RELATIVE;
    } else if (model_retired_bytes(model) + op.size_bytes <= model_capacity_bytes(model)) {
        op.address = model_capacity_bytes(model) - model_retired_bytes(model) - op.size_bytes;
    }
    faulting->retire_count++;
    return op;
}

static bool may_strike(const struct faulting *faulting, unsigned kind,
                       const struct scenario_view *view)
{
    const uint32_t op_number = view->op_number;
    if (kind < FAULT_KIND_COUNT && fault_is_of_regions((enum fault_kind)kind) &&
        !model_contract(view->hosts[0])->regions.grows) {
        return false;
    }
    if (faulting->kinds[kind].disarm_at != 0) {
        return false;
    }
    if (kind == FAULTING_RETIRE && faulting->retire_count == FAULTING_RETIRE_COUNT_MAX) {
        return false;
    }
    return (uint64_t)faulting->fault_count * FAULTING_OPS_PER_FAULT <= op_number;
}

static bool find_disarm(struct faulting *faulting, uint32_t op_number, struct op *op)
{
    for (unsigned i = 0; i < FAULT_KIND_COUNT; i++) {
        if (faulting->kinds[i].disarm_at != 0 && faulting->kinds[i].disarm_at <= op_number) {
            *op = make_disarm(faulting, (enum fault_kind)i);
            return true;
        }
    }
    return false;
}

bool faulting_next(struct faulting *faulting, const struct scenario_view *view, struct op *op)
{
    CHECK(view->host_count >= 1);
    if (faulting->on != 0 && find_disarm(faulting, view->op_number, op)) {
        return true;
    }
    for (uint32_t left = faulting->on; left != 0; left &= left - 1) {
        const unsigned i = (unsigned)__builtin_ctz(left);
        if (!may_strike(faulting, i, view) ||
            !random_chance(&faulting->random, 1, faulting->kinds[i].period)) {
            continue;
        }
        const uint8_t host = (uint8_t)random_below(&faulting->random, view->host_count);
        *op = i == FAULTING_RETIRE
                  ? make_retire(faulting, view->hosts[host], host)
                  : make_fault(faulting, (enum fault_kind)i, host, view->op_number);
        faulting->fault_count++;
        return true;
    }
    return false;
}
