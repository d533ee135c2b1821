#include "harness/oracle/certificate.h"

#include "harness/base/check.h"
#include "harness/base/json.h"

#include <stddef.h>

/* Larger sizes are printed as this one: it is larger than any device, too. */
#define SIZE_BYTES_MAX (UINT64_C(1) << 62)
/* Later times keep their order alone, so that every number of a document has 63 bits. */
#define TIME_NS_MAX (UINT64_C(1) << 62)

const char *proof_kind_name(enum proof_kind kind)
{
    static const char *const names[PROOF_KIND_COUNT] = {
        [PROOF_NONE] = "none",         [PROOF_STACK] = "stack",   [PROOF_SPANS] = "spans",
        [PROOF_ROUNDING] = "rounding", [PROOF_SEARCH] = "search", [PROOF_TABLE] = "table",
        [PROOF_SUM] = "sum",           [PROOF_FILLS] = "fills",   [PROOF_PATTERNS] = "patterns",
        [PROOF_PLAN] = "plan",         [PROOF_BUDGET] = "budget", [PROOF_ASSUMED] = "assumed",
    };
    CHECK(kind < PROOF_KIND_COUNT);
    return names[kind];
}

static void append_size(struct writing *text, const char *name, uint64_t bytes)
{
    json_add_number(text, name, bytes < SIZE_BYTES_MAX ? bytes : SIZE_BYTES_MAX);
}

/* -1 stands for `none`. */
static void append_or_none(struct writing *text, const char *name, uint64_t value, uint64_t none)
{
    if (value == none) {
        json_add_no_number(text, name);
    } else {
        append_size(text, name, value);
    }
}

/* Counts the document's late times that are earlier than this one: equal ones stay equal. */
static uint64_t late_rank(const struct oom *oom, uint64_t time_ns)
{
    uint64_t rank = 0;
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        rank += block->used_until_ns > TIME_NS_MAX && block->used_until_ns < time_ns;
        rank += block->freed_at_ns > TIME_NS_MAX && block->freed_at_ns < time_ns;
    }
    return rank;
}

static void append_time(struct writing *text, const struct oom *oom, const char *name,
                        uint64_t time_ns)
{
    if (time_ns == DELAY_NEVER) {
        json_add_no_number(text, name);
    } else {
        json_add_number(text, name,
                        time_ns <= TIME_NS_MAX ? time_ns
                                               : TIME_NS_MAX + 1 + late_rank(oom, time_ns));
    }
}

static void append_list(struct writing *text, const struct certificate_list *list)
{
    json_nest(text, "list", '{');
    json_add_string(text, "sha256", list->hash);
    json_add_number(text, "op", list->op);
    json_add_number(text, "host", list->host);
    setup_add_target_json(list->setup, text);
    json_unnest(text, '}');
}

/* True if blocks are ranges without headers, and nothing is kept, natural or in regions: then the
 * contract needs no words about where blocks lie. */
static bool is_plain(const struct oom *oom)
{
    bool is_so = oom->placement == PLACEMENT_RANGES && oom->header_bytes == 0 &&
                 !oom->promised.grows && !oom->aligns_naturally;
    for (size_t i = 0; i < oom->block_count; i++) {
        is_so = is_so && !oom->blocks[i].is_kept;
    }
    return is_so;
}

static void append_contract(struct writing *text, const struct oom *oom)
{
    json_break(text, 1);
    json_nest(text, "contract", '{');
    json_add_string(text, "defrag", defrag_contract_name(oom->defrag));
    json_add_boolean(text, "drains", oom->drains);
    json_add_boolean(text, "evicts", oom->evicts);
    json_add_boolean(text, "program_evicts_program", oom->program_evicts_program);
    if (!is_plain(oom)) {
        json_add_string(text, "placement", placement_name(oom->placement));
        json_add_number(text, "header", oom->header_bytes);
    }
    if (oom->aligns_naturally) {
        json_add_boolean(text, "aligns_naturally", true);
    }
    if (oom->promised.grows) {
        json_add_boolean(text, "grows", true);
        json_add_boolean(text, "trims", oom->promised.trims);
        append_size(text, "step", oom->promised.step_bytes);
    }
    json_unnest(text, '}');
    json_break(text, 1);
    json_nest(text, "refused", '{');
    for (unsigned i = 0; i < FAULT_CALL_COUNT; i++) {
        json_add_boolean(text, fault_info((enum fault_kind)i)->name,
                         (oom->faults_fired >> i & 1) != 0);
    }
    if (oom->promised.grows) {
        json_add_boolean(text, fault_info(FAULT_REGION)->name,
                         (oom->faults_fired >> FAULT_REGION & 1) != 0);
    }
    json_unnest(text, '}');
}

static void append_range(struct writing *text, const char *name, uint64_t low, uint64_t high)
{
    json_nest(text, name, '[');
    append_size(text, NULL, low);
    append_size(text, NULL, high);
    json_unnest(text, ']');
}

static void append_regions(struct writing *text, const struct oom *oom)
{
    append_size(text, "region_align", oom->region_align_bytes);
    json_nest(text, "regions", '[');
    for (size_t i = 0; i < oom->region_count; i++) {
        const struct device_region *region = &oom->regions[i];
        append_range(text, NULL, region->address, region->address + region->size_bytes);
    }
    json_unnest(text, ']');
}

static void append_device(struct writing *text, const struct oom *oom)
{
    json_break(text, 1);
    json_nest(text, "device", '{');
    append_size(text, "capacity", oom->capacity_bytes);
    append_size(text, "granule", oom->granule_bytes);
    if (oom->promised.grows) {
        append_regions(text, oom);
    }
    json_unnest(text, '}');
}

/* The index of the program that is executed or loaded again; block_count when it is not among the
 * blocks. */
static size_t own_block(const struct oom *oom)
{
    size_t i = 0;
    while (i < oom->block_count && oom->blocks[i].op != oom->request.own_op) {
        i++;
    }
    return i;
}

static void append_request(struct writing *text, const struct oom *oom)
{
    const struct oom_request *request = &oom->request;
    json_break(text, 1);
    json_nest(text, "request", '{');
    json_add_string(text, "class", request->class == REQUEST_BUFFER ? "buffer" : "program");
    append_size(text, "bytes", request->size_bytes);
    append_size(text, "align", request->align_bytes);
    append_size(text, "stack", request->stack_bytes);
    append_or_none(text, "program", own_block(oom), oom->block_count);
    json_unnest(text, '}');
}

static void append_block(struct writing *text, const struct oom *oom, const struct oom_block *block)
{
    static const char *const kinds[] = {"buffer", "output", "program", "retired"};
    CHECK(block->kind <= BLOCK_RETIRED);
    json_break(text, 2);
    json_nest(text, NULL, '{');
    json_add_number(text, "op", block->op);
    json_add_string(text, "kind", kinds[block->kind]);
    json_add_string(text, "state",
                    block->is_kept               ? "kept"
                    : block->state == BLOCK_LIVE ? "live"
                                                 : "dying");
    append_or_none(text, "address", block->address, OOM_IN_HOST_MEMORY);
    append_size(text, "size", block->size_bytes);
    append_size(text, "align", block->align_bytes);
    append_size(text, "stack", block->stack_bytes);
    append_size(text, "holds", block->hold_count);
    append_time(text, oom, "used_until", block->used_until_ns);
    append_time(text, oom, "freed_at", block->freed_at_ns);
    json_unnest(text, '}');
}

static void append_blocks(struct writing *text, const struct oom *oom)
{
    json_break(text, 1);
    json_nest(text, "blocks", '[');
    for (size_t i = 0; i < oom->block_count; i++) {
        append_block(text, oom, &oom->blocks[i]);
    }
    json_unnest(text, ']');
}

static void append_moves(struct writing *text, const struct proof_plan *plan)
{
    json_break(text, 2);
    json_nest(text, "moves", '[');
    for (size_t i = 0; i < plan->move_count; i++) {
        const struct proof_move *move = &plan->moves[i];
        json_break(text, 3);
        json_nest(text, NULL, '{');
        json_add_number(text, "block", move->block);
        append_or_none(text, "from", move->from, PROOF_IN_HOST_MEMORY);
        append_or_none(text, "to", move->to, PROOF_IN_HOST_MEMORY);
        append_size(text, "bytes", move->size_bytes);
        json_unnest(text, '}');
    }
    json_unnest(text, ']');
}

static void append_plan(struct writing *text, const struct oom *oom, const struct proof_plan *plan)
{
    append_time(text, oom, "until", plan->until_ns);
    append_or_none(text, "address", plan->address, UINT64_MAX);
    json_nest(text, "evict", '[');
    for (size_t i = 0; i < plan->evicted_count; i++) {
        json_add_number(text, NULL, plan->evicted[i]);
    }
    json_unnest(text, ']');
    append_moves(text, plan);
}

/* The members of each kind of proof, beside its log and its plan: which numbers there are, under
 * which names. */
struct proof_member {
    enum proof_kind kind;
    const char *name;
    size_t offset;
};
static const struct proof_member proof_members[] = {
    {PROOF_SUM, "need", offsetof(struct proof, need)},
    {PROOF_SUM, "have", offsetof(struct proof, have)},
    {PROOF_ROUNDING, "unit", offsetof(struct proof, unit)},
    {PROOF_ROUNDING, "need", offsetof(struct proof, need)},
    {PROOF_ROUNDING, "have", offsetof(struct proof, have)},
    {PROOF_SEARCH, "least", offsetof(struct proof, least)},
    {PROOF_TABLE, "sets", offsetof(struct proof, sets)},
    {PROOF_FILLS, "spans", offsetof(struct proof, spans)},
    {PROOF_FILLS, "unit", offsetof(struct proof, unit)},
    {PROOF_FILLS, "lost", offsetof(struct proof, lost)},
    {PROOF_PATTERNS, "sets", offsetof(struct proof, sets)},
    {PROOF_BUDGET, "nodes", offsetof(struct proof, nodes)},
    {PROOF_BUDGET, "need", offsetof(struct proof, need)},
    {PROOF_BUDGET, "have", offsetof(struct proof, have)},
};

static void append_effort(struct writing *text, const struct oom *oom,
                          const struct proof_effort *effort)
{
    append_size(text, "limit", effort->nodes_max);
    append_time(text, oom, "until", effort->until_ns);
    json_add_string(text, "class", oom_class_name(effort->oom_class));
    json_nest(text, "tried", '{');
    for (unsigned i = 0; i < PACKING_EFFORT_COUNT; i++) {
        json_add_number(text, packing_effort_name((enum packing_effort)i), effort->nodes[i]);
    }
    json_unnest(text, '}');
}

static void append_reported(struct writing *text, const struct setup_reported *reported)
{
    if (!reported->is_there) {
        json_add_null(text, "reported");
        return;
    }
    json_nest(text, "reported", '{');
    append_range(text, "requested", reported->requested_low, reported->requested_high);
    append_range(text, "free", reported->free_low, reported->free_high);
    append_size(text, "image", reported->image_least);
    json_unnest(text, '}');
}

static void append_assumed(struct writing *text, const struct oom *oom)
{
    json_nest(text, "assumed", '[');
    for (size_t i = 0; i < oom->block_count; i++) {
        if (oom->blocks[i].is_assumed) {
            json_add_number(text, NULL, i);
        }
    }
    json_unnest(text, ']');
    json_nest(text, "placed", '[');
    for (size_t i = 0; i < oom->block_count; i++) {
        if (oom->blocks[i].is_placed) {
            json_add_number(text, NULL, i);
        }
    }
    json_unnest(text, ']');
    append_size(text, "bytes", oom->request.other_bytes);
}

static void append_proof(struct writing *text, const char *name, const struct oom *oom,
                         const struct proof *proof);

/* Appends what is reported, what is assumed beyond it, and a proof for each of the two heaps. */
static void append_heaps(struct writing *text, const struct oom *oom, const struct proof *proof)
{
    append_reported(text, &oom->reported);
    append_assumed(text, oom);
    if (proof->premature_unless.bytes == 0) {
        json_add_null(text, "premature_unless");
    }
    premature_unless_add_json(&proof->premature_unless, text);
    append_proof(text, "as_it_is", oom, proof->as_it_is);
    append_proof(text, "other", oom, proof->other);
}

static void append_proof(struct writing *text, const char *name, const struct oom *oom,
                         const struct proof *proof)
{
    json_break(text, 1);
    json_nest(text, name, '{');
    json_add_string(text, "kind", proof_kind_name(proof->kind));
    for (size_t i = 0; i < sizeof proof_members / sizeof proof_members[0]; i++) {
        const struct proof_member *member = &proof_members[i];
        if (member->kind == proof->kind) {
            append_size(text, member->name,
                        *(const uint64_t *)((const char *)proof + member->offset));
        }
    }
    if (proof->kind == PROOF_BUDGET) {
        append_effort(text, oom, &proof->effort);
    }
    if (proof->log != NULL) {
        json_add_boolean(text, "plain", proof->is_plain);
        json_add_string(text, "log", proof->log);
    }
    if (proof->kind == PROOF_PLAN) {
        append_plan(text, oom, &proof->plan);
    }
    if (proof->kind == PROOF_ASSUMED) {
        append_heaps(text, oom, proof);
    }
    json_unnest(text, '}');
}

/* Appends our own reason.  It drops all but plain characters, so that the document stays ASCII. */
static void append_about(struct writing *text, const struct verdict *verdict)
{
    char reason[VERDICT_REASON_BYTES];
    size_t length = 0;
    for (const char *letter = verdict->reason; *letter != '\0'; letter++) {
        if (*letter >= ' ' && *letter <= '~' && *letter != '"' && *letter != '\\') {
            reason[length++] = *letter;
        }
    }
    reason[length] = '\0';
    json_break(text, 1);
    json_nest(text, "about", '{');
    json_add_number(text, "op", verdict->op);
    json_add_string(text, "reason", reason);
    json_unnest(text, '}');
}

void certificate_print(const struct oom *oom, const struct proof *proof,
                       const struct verdict *verdict, const struct certificate_list *list,
                       struct writing *text)
{
    const bool was_spaced = text->is_spaced;
    CHECK(proof->kind != PROOF_NONE);
    text->is_spaced = true;
    writing_append(text, "{");
    json_add_string(text, "format", "hbmstress-certificate");
    json_add_number(text, "version", CERTIFICATE_VERSION);
    json_break(text, 1);
    if (list == NULL) {
        json_add_null(text, "list");
    } else {
        append_list(text, list);
    }
    json_break(text, 1);
    json_add_string(text, "claim", verdict_name(proof->claim));
    append_device(text, oom);
    append_contract(text, oom);
    append_request(text, oom);
    append_blocks(text, oom);
    append_proof(text, "proof", oom, proof);
    append_about(text, verdict);
    json_close(text);
    text->is_spaced = was_spaced;
}
