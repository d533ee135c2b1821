/* Certificates of the harness and the independent checker: what is right is valid, and whatever is
 * changed in a certificate is either noticed or leaves it right. */
#include "checker/certificate_check.h"
#include "fuzz/certificate_text.h"
#include "harness/oracle/certificate.h"
#include "harness/oracle/oracle.h"
#include "harness/oracle/reach.h"
#include "tests/harness/oracle/plan_simulator.h"
#include "tests/harness/oracle/random_oom.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SMALL_COUNT = 6000,     /* draws of small heaps, */
    UNPLACED_COUNT = 1500,  /* of blocks without addresses, or with headers, */
    TIGHT_COUNT = 4000,     /* of tight packings, */
    ALIGNED_COUNT = 1000,   /* and of small lists with alignments */
    BASE_PART = 3,          /* of so many the third part is enough to have some to corrupt */
    KEPT_MAX = 60,          /* certificates of one kind that are kept to be corrupted */
    KEPT_BYTES_MAX = 30000, /* longer ones only cost time */
    CORRUPTED_COUNT = 10000,
    FORGED_COUNT = 200, /* out-of-memories for which proofs are forged */
    FORGED_LETTERS_MAX = 60,
    FORGED_SETS_MAX = 200,
    FORGED_SPANS_MAX = 4,
    BUDGET_SMALL = 40,    /* nodes: so that some searches end early */
    BUDGET_TABLES = 1000, /* so that some end where a table does not */
    BUDGET = 20000,
    BUDGET_STATISTICS = 5000, /* of what was refuted already */
};

/* All that stand in logs, those that end a branch before the others. */
static const char letters[] = "fcb";

/* --- printing and checking --- */

static char *print_certificate(const struct oom *oom, const struct proof *proof,
                               const struct verdict *verdict, size_t *length)
{
    struct writing text;
    writing_init(&text);
    certificate_print(oom, proof, verdict, NULL, &text);
    *length = text.length;
    return text.bytes;
}

/* Certificates by kind of proof. */
static struct collection {
    json_t *kept[PROOF_KIND_COUNT][KEPT_MAX];
    size_t kept_count[PROOF_KIND_COUNT];
    uint64_t count[PROOF_KIND_COUNT];
} collection;

static struct oracle *oracle;

static void begin_oracle(void)
{
    oracle = oracle_create();
}

static void end_oracle(void)
{
    for (unsigned kind = 0; kind < PROOF_KIND_COUNT; kind++) {
        for (size_t i = 0; i < collection.kept_count[kind]; i++) {
            json_decref(collection.kept[kind][i]);
        }
    }
    oracle_destroy(oracle);
}

static void check_valid(const struct oom *oom, uint64_t nodes_max)
{
    char reason[CERTIFICATE_REASON_BYTES] = "";
    struct verdict verdict = {.op = 1};
    const struct proof *proof = oracle_prove(oracle, oom, nodes_max, &verdict);
    size_t length = 0;
    if (verdict.kind == VERDICT_NONE) { /* open: it depends on hidden places */
        ck_assert_int_eq(oom->placement, PLACEMENT_HIDDEN);
        return;
    }
    char *text = print_certificate(oom, proof, &verdict, &length);
    const enum certificate_result result = certificate_check(text, length, reason);
    ck_assert_msg(result == CERTIFICATE_VALID, "%s by %s: %s\n%s", verdict_name(proof->claim),
                  proof_kind_name(proof->kind), reason, text);
    collection.count[proof->kind]++;
    size_t *kept_count = &collection.kept_count[proof->kind];
    /* Of the plans, most of them should have steps to corrupt. */
    const bool is_plain = proof->kind == PROOF_PLAN && proof->plan.move_count < 2 &&
                          *kept_count >= KEPT_MAX / 4;
    if (*kept_count < KEPT_MAX && length <= KEPT_BYTES_MAX && !is_plain) {
        json_t *root = json_loadb(text, length, 0, NULL);
        ck_assert_ptr_nonnull(root);
        collection.kept[proof->kind][(*kept_count)++] = root;
    }
    free(text);
}

/* The state by a contract whose blocks have no addresses, or a header of a granule. */
static void make_unplaced(struct oom *oom, enum placement placement)
{
    size_t count = 0;
    bool has_programs = oom->request.class == REQUEST_PROGRAM;
    for (size_t i = 0; i < oom->block_count; i++) {
        if (!oom_block_is_absent(&oom->blocks[i])) {
            oom->blocks[count++] = oom->blocks[i];
            has_programs = has_programs || oom->blocks[i].kind == BLOCK_PROGRAM;
        }
    }
    oom->block_count = count;
    oom->placement = has_programs && placement == PLACEMENT_HIDDEN ? PLACEMENT_PAGES : placement;
    oom->header_bytes = oom->placement == PLACEMENT_RANGES ? oom->granule_bytes : 0;
    for (size_t i = 0; i < count; i++) {
        oom->blocks[i].align_bytes = oom->granule_bytes;
        oom->blocks[i].address = oom->placement == PLACEMENT_RANGES ? oom->blocks[i].address : 0;
    }
}

static void collect_certificates(uint64_t seed, uint64_t part)
{
    static const struct random_oom_wish wishes[] = {
        {.granules_max = 40, .block_count_max = 14, .has_alignments = true},
        {.granules_max = 60, .block_count_max = 14, .has_alignments = false},
    };
    struct oom oom = {0};
    struct random random;
    random_init(&random, seed);
    for (uint64_t i = 0; i < SMALL_COUNT / part; i++) {
        random_oom_draw(&random, &wishes[i % 2], &oom);
        check_valid(&oom, BUDGET);
    }
    for (uint64_t i = 0; i < UNPLACED_COUNT / part; i++) {
        random_oom_draw(&random, &wishes[i % 2], &oom);
        oom.defrag = DEFRAG_NONE;
        make_unplaced(&oom, (enum placement)(i % 3));
        check_valid(&oom, BUDGET);
        oom.placement = PLACEMENT_RANGES;
        oom.header_bytes = 0;
    }
    for (uint64_t i = 0; i < TIGHT_COUNT / part; i++) {
        random_oom_draw_tight(&random, i % 3 == 0, &oom);
        check_valid(&oom, i % 8 == 0 ? BUDGET_SMALL : BUDGET);
    }
    for (uint64_t i = 0; i < ALIGNED_COUNT / part; i++) {
        random_oom_draw_aligned(&random, 8, &oom);
        check_valid(&oom, i % 2 == 0 ? BUDGET_TABLES : BUDGET);
    }
    oom_deinit(&oom);
}

EVERY_TEST(.timeout_s = 1800, .setup = begin_oracle, .teardown = end_oracle);

TEST(every_kind_of_proof_occurs_and_is_valid)
{
    collect_certificates(1, draws_period());
    for (unsigned kind = PROOF_NONE + 1; kind < PROOF_KIND_COUNT; kind++) {
        const char *name = proof_kind_name((enum proof_kind)kind);
        if (kind == PROOF_ASSUMED) { /* of messages: test_assumed.c */
            continue;
        }
        printf("certificate: %6" PRIu64 " valid, by %s\n", collection.count[kind], name);
        ck_assert_msg(collection.count[kind] >= draws_count(10, 1), "%s occurred %" PRIu64 " times",
                      name, collection.count[kind]);
    }
}

/* --- reading --- */

/* A document as the harness's own data: fuzz/certificate_text.h reads the state, and here is the
 * plan. */
struct document {
    struct certificate_claim claim;
    bool is_plan;
    struct proof_plan plan; /* evicted and moves are the document's own */
    uint32_t *evicted;
    struct proof_move *moves;
};

static void document_deinit(struct document *document)
{
    oom_deinit(&document->claim.oom);
    free(document->evicted);
    free(document->moves);
}

/* Where there may be none, -1 says so.  False: it is no number. */
static bool read_member(const json_t *object, const char *name, uint64_t none, uint64_t *value)
{
    const json_t *json = json_object_get(object, name);
    const json_int_t number = json_integer_value(json);
    *value = number == -1 ? none : (uint64_t)number;
    return json_is_integer(json) && (number >= 0 || (number == -1 && none != 0));
}

static bool read_moves(const json_t *moves, struct document *document)
{
    document->plan.move_count = json_array_size(moves);
    document->moves = calloc(document->plan.move_count + 1, sizeof *document->moves);
    ck_assert_ptr_nonnull(document->moves);
    bool is_good = json_is_array(moves);
    for (size_t i = 0; i < document->plan.move_count && is_good; i++) {
        const json_t *json = json_array_get(moves, i);
        struct proof_move *move = &document->moves[i];
        uint64_t block = 0;
        is_good = read_member(json, "block", 0, &block) && block < OP_NONE &&
                  read_member(json, "from", PROOF_IN_HOST_MEMORY, &move->from) &&
                  read_member(json, "to", PROOF_IN_HOST_MEMORY, &move->to) &&
                  read_member(json, "bytes", 0, &move->size_bytes);
        move->block = (uint32_t)block;
    }
    document->plan.moves = document->moves;
    return is_good;
}

static bool read_plan(const json_t *proof, struct document *document)
{
    const json_t *evicted = json_object_get(proof, "evict");
    document->plan.evicted_count = json_array_size(evicted);
    document->evicted = calloc(document->plan.evicted_count + 1, sizeof *document->evicted);
    ck_assert_ptr_nonnull(document->evicted);
    bool is_good = json_is_array(evicted) &&
                   read_member(proof, "until", 0, &document->plan.until_ns) &&
                   read_member(proof, "address", UINT64_MAX, &document->plan.address);
    for (size_t i = 0; i < document->plan.evicted_count && is_good; i++) {
        const json_t *block = json_array_get(evicted, i);
        is_good = json_is_integer(block) && json_integer_value(block) >= 0 &&
                  json_integer_value(block) < OP_NONE;
        document->evicted[i] = (uint32_t)json_integer_value(block);
    }
    document->plan.evicted = document->evicted;
    return is_good && read_moves(json_object_get(proof, "moves"), document);
}

/* False: it is no certificate. */
static bool document_read(const json_t *root, const char *text, struct document *document)
{
    const json_t *proof = json_object_get(root, "proof");
    *document = (struct document){.is_plan = false};
    document->is_plan = strcmp(json_string_value(json_object_get(proof, "kind")), "plan") == 0;
    return certificate_read(text, strlen(text), &document->claim) &&
           (!document->is_plan || read_plan(proof, document));
}

/* --- corruption --- */

/* Where a number of the document stands: in an object by name, or in an array by index. */
struct slot {
    json_t *parent;
    const char *key;
    size_t index;
};
struct slots {
    struct slot *slots; /* count of them */
    size_t count, capacity;
};

static void add_slot(struct slots *slots, const struct slot *slot)
{
    if (slots->count == slots->capacity) {
        slots->capacity = slots->capacity == 0 ? 64 : slots->capacity * 2;
        slots->slots = realloc(slots->slots, slots->capacity * sizeof *slots->slots);
        ck_assert_ptr_nonnull(slots->slots);
    }
    slots->slots[slots->count++] = *slot;
}

/* All integers below json; documents are four levels deep. */
static void find_numbers(struct slots *slots, json_t *json)
{
    const char *key = NULL;
    json_t *value = NULL;
    size_t index = 0;
    json_object_foreach(json, key, value)
    {
        if (json_is_integer(value)) {
            add_slot(slots, &(struct slot){.parent = json, .key = key});
        } else if (strcmp(key, "about") != 0) {
            find_numbers(slots, value);
        }
    }
    json_array_foreach(json, index, value)
    {
        if (json_is_integer(value)) {
            add_slot(slots, &(struct slot){.parent = json, .index = index});
        } else {
            find_numbers(slots, value);
        }
    }
}

static json_int_t changed_number(struct random *random, json_int_t value, json_int_t granule)
{
    switch (random_below(random, 7)) {
    case 0:
        return value + granule;
    case 1:
        return value < granule ? 0 : value - granule;
    case 2:
        return value + 1;
    case 3:
        return value == 0 ? 1 : value - 1;
    case 4:
        return (json_int_t)random_log_uniform(random, 1, UINT64_C(1) << 53) - 1;
    case 5:
        return value * 2;
    default:
        return value / granule > 0
                   ? (json_int_t)random_below(random, (uint64_t)(value / granule) + 1) * granule
                   : 0;
    }
}

static bool change_number(struct random *random, json_t *root)
{
    struct slots slots = {0};
    find_numbers(&slots, root);
    const struct slot *slot = &slots.slots[random_below(random, slots.count)];
    const json_int_t granule = json_integer_value(
        json_object_get(json_object_get(root, "device"), "granule"));
    json_t *number = slot->key != NULL ? json_object_get(slot->parent, slot->key)
                                       : json_array_get(slot->parent, slot->index);
    json_integer_set(number, changed_number(random, json_integer_value(number), granule));
    free(slots.slots);
    return true;
}

static json_t *any_of(struct random *random, const json_t *array)
{
    const size_t count = json_array_size(array);
    return count == 0 ? NULL : json_array_get(array, (size_t)random_below(random, count));
}

static void set_word(struct random *random, json_t *object, const char *name,
                     const char *const *words, uint64_t count)
{
    json_object_set_new(object, name, json_string(words[random_below(random, count)]));
}

static void set_time(struct random *random, json_t *object, const char *name)
{
    const bool is_never = random_chance(random, 1, 3);
    json_object_set_new(object, name,
                        json_integer(is_never ? -1 : (json_int_t)random_below(random, 8)));
}

static bool change_block(struct random *random, json_t *root)
{
    static const char *const kinds[] = {"buffer", "output", "program", "retired"};
    json_t *block = any_of(random, json_object_get(root, "blocks"));
    if (block == NULL) {
        return false;
    }
    const bool is_live = strcmp(json_string_value(json_object_get(block, "state")), "live") == 0;
    switch (random_below(random, 5)) {
    case 0:
        set_word(random, block, "kind", kinds, 4);
        break;
    case 1:
        json_object_set_new(block, "state", json_string(is_live ? "dying" : "live"));
        json_object_set_new(block, "freed_at", json_integer(is_live ? 3 : 0));
        break;
    case 2:
        json_object_set_new(block, "holds", json_integer((json_int_t)random_below(random, 2)));
        break;
    case 3:
        set_time(random, block, "used_until");
        break;
    default:
        set_time(random, block, "freed_at");
        break;
    }
    return true;
}

static bool change_state(struct random *random, json_t *root)
{
    static const char *const defrags[] = {"none", "slide", "repack"};
    static const char *const flags[] = {"drains", "evicts", "program_evicts_program"};
    static const char *const classes[] = {"buffer", "program"};
    static const char *const claims[] = {"justified", "premature", "unknown"};
    json_t *contract = json_object_get(root, "contract");
    json_t *blocks = json_object_get(root, "blocks");
    const char *fault = fault_info((enum fault_kind)random_below(random, FAULT_CALL_COUNT))->name;
    switch (random_below(random, 6)) {
    case 0:
        set_word(random, contract, "defrag", defrags, 3);
        break;
    case 1:
        json_object_set_new(contract, flags[random_below(random, 3)],
                            json_boolean(random_chance(random, 1, 2)));
        break;
    case 2:
        json_object_set_new(json_object_get(root, "refused"), fault, json_true());
        break;
    case 3:
        set_word(random, json_object_get(root, "request"), "class", classes, 2);
        break;
    case 4:
        set_word(random, root, "claim", claims, 3);
        break;
    default:
        json_array_remove(blocks, (size_t)random_below(random, json_array_size(blocks) + 1));
        break;
    }
    return true;
}

/* A place of the plan shifts by a granule or two. */
static bool shift_place(struct random *random, json_t *root)
{
    json_t *proof = json_object_get(root, "proof");
    json_t *move = any_of(random, json_object_get(proof, "moves"));
    const bool shifts_move = move != NULL && random_chance(random, 1, 2);
    json_t *place = shifts_move ? json_object_get(move, "to") : json_object_get(proof, "address");
    const json_int_t granule = json_integer_value(
        json_object_get(json_object_get(root, "device"), "granule"));
    const json_int_t sign = random_chance(random, 1, 2) ? 1 : -1;
    const json_int_t shift = (json_int_t)random_between(random, 1, 2) * granule * sign;
    if (!json_is_integer(place) || json_integer_value(place) + shift < 0) {
        return false;
    }
    json_integer_set(place, json_integer_value(place) + shift);
    return true;
}

/* Moves and evictions: one is left out, comes twice, or two change places; or something goes to
 * another place. */
static bool change_plan(struct random *random, json_t *root)
{
    json_t *proof = json_object_get(root, "proof");
    if (random_chance(random, 1, 3)) {
        return shift_place(random, root);
    }
    json_t *steps = json_object_get(proof, random_chance(random, 3, 4) ? "moves" : "evict");
    const size_t count = json_array_size(steps);
    if (count == 0) {
        return false;
    }
    const size_t first = (size_t)random_below(random, count);
    const size_t second = (size_t)random_below(random, count);
    json_t *step = json_incref(json_array_get(steps, first));
    switch (random_below(random, 3)) {
    case 0:
        json_array_remove(steps, first);
        break;
    case 1:
        json_array_insert(steps, second, step);
        break;
    default:
        json_array_set(steps, first, json_array_get(steps, second));
        json_array_set(steps, second, step);
        break;
    }
    json_decref(step);
    return true;
}

static bool change_log(struct random *random, json_t *root)
{
    json_t *proof = json_object_get(root, "proof");
    const char *log = json_string_value(json_object_get(proof, "log"));
    if (log == NULL) {
        return false;
    }
    const size_t length = strlen(log);
    char *changed = malloc(length + 2);
    ck_assert_ptr_nonnull(changed);
    size_t at = (size_t)random_below(random, length);
    const char letter = letters[random_below(random, sizeof letters - 1)];
    memcpy(changed, log, length + 1);
    switch (random_below(random, 4)) {
    case 0:
        changed[at] = letter;
        break;
    case 1:
        memmove(changed + at, changed + at + 1, length - at);
        break;
    case 2:
        at = random_chance(random, 1, 4) ? length : at;
        memmove(changed + at + 1, changed + at, length + 1 - at);
        changed[at] = letter;
        break;
    default:
        changed[at] = '\0'; /* the rest is missing */
        break;
    }
    json_object_set_new(proof, "log", json_string(changed));
    free(changed);
    return true;
}

/* The proof of another certificate, and half of the time its claim, too. */
static bool splice_proof(struct random *random, json_t *root, const json_t *other)
{
    json_object_set_new(root, "proof", json_deep_copy(json_object_get(other, "proof")));
    if (random_chance(random, 1, 2)) {
        json_object_set_new(root, "claim", json_deep_copy(json_object_get(other, "claim")));
    }
    return true;
}

enum way { WAY_NUMBER, WAY_BLOCK, WAY_STATE, WAY_PLAN, WAY_LOG, WAY_SPLICE, WAY_COUNT };
static const char *const way_names[WAY_COUNT] = {"a number", "a block", "the state",
                                                 "a step",   "the log", "the proof"};

/* False: the document has nothing of the kind. */
static bool corrupt_document(struct random *random, enum way way, json_t *root, const json_t *other)
{
    switch (way) {
    case WAY_NUMBER:
        return change_number(random, root);
    case WAY_BLOCK:
        return change_block(random, root);
    case WAY_STATE:
        return change_state(random, root);
    case WAY_PLAN:
        return change_plan(random, root);
    case WAY_LOG:
        return change_log(random, root);
    default:
        return splice_proof(random, root, other);
    }
}

/* --- what the checker says to it --- */

/* What became of the certificates that were corrupted in one way. */
struct tally {
    uint64_t malformed; /* no certificate any more, or of a state that cannot be */
    uint64_t refuted_wrong, refuted_right; /* the claim is wrong now, or still right */
    uint64_t refuted_undecided; /* the oracle did not decide again within a small budget */
    uint64_t valid;             /* and right */
};

static enum verdict_kind judge_oom(const struct oom *oom, uint64_t nodes_max)
{
    struct verdict verdict = {0};
    oracle_judge(oracle, oom, nodes_max, &verdict);
    return verdict.kind;
}

/* Whether the claim is right, and the plan, when there is one, can be carried out. */
static bool is_right(const struct document *document, const char *text)
{
    char reason[PLAN_SIMULATOR_REASON_BYTES] = "";
    if (document->claim.kind == VERDICT_UNKNOWN) {
        /* That a search ended early is nothing that a state could contradict, as long as there is a
         * search. */
        return plan_defrag(&document->claim.oom) == DEFRAG_REPACK;
    }
    if (document->claim.kind == VERDICT_PREMATURE) {
        const bool is_good = document->is_plan &&
                             (document->claim.oom.placement != PLACEMENT_RANGES ||
                              plan_simulate(&document->claim.oom, &document->plan, reason));
        ck_assert_msg(!is_good || judge_oom(&document->claim.oom, 0) == VERDICT_PREMATURE,
                      "the plan can be carried out, the oracle says no:\n%s", text);
        return is_good;
    }
    return judge_oom(&document->claim.oom, 0) == VERDICT_JUSTIFIED;
}

/* A plan that the simulator accepts is valid: the checker is not stricter than the document. */
static void check_refuted(const struct document *document, const char *text, const char *said,
                          struct tally *tally)
{
    char reason[PLAN_SIMULATOR_REASON_BYTES] = "";
    if (document->claim.kind == VERDICT_PREMATURE && document->is_plan &&
        document->claim.oom.placement == PLACEMENT_RANGES) {
        ck_assert_msg(!plan_simulate(&document->claim.oom, &document->plan, reason),
                      "refuted (%s), but the plan is good:\n%s", said, text);
    }
    const enum verdict_kind kind = judge_oom(&document->claim.oom, BUDGET_STATISTICS);
    tally->refuted_right += kind == document->claim.kind;
    tally->refuted_undecided += kind != document->claim.kind && kind == VERDICT_UNKNOWN;
    tally->refuted_wrong += kind != document->claim.kind && kind != VERDICT_UNKNOWN;
}

static void check_corrupted(const json_t *root, struct tally *tally)
{
    char reason[CERTIFICATE_REASON_BYTES] = "";
    struct document document;
    char *text = json_dumps(root, JSON_COMPACT);
    ck_assert_ptr_nonnull(text);
    const enum certificate_result result = certificate_check(text, strlen(text), reason);
    const bool is_readable = document_read(root, text, &document);
    if (result == CERTIFICATE_VALID) {
        ck_assert_msg(is_readable, "valid, and not well formed:\n%s", text);
        ck_assert_msg(is_right(&document, text), "valid, and wrong:\n%s", text);
        tally->valid++;
    } else if (result == CERTIFICATE_REFUTED && is_readable) {
        check_refuted(&document, text, reason, tally);
    } else {
        tally->malformed++;
    }
    document_deinit(&document);
    free(text);
}

static json_t *any_certificate(struct random *random)
{
    unsigned kind = 0;
    do {
        kind = (unsigned)random_between(random, PROOF_NONE + 1, PROOF_KIND_COUNT - 1);
    } while (collection.kept_count[kind] == 0);
    return collection.kept[kind][random_below(random, collection.kept_count[kind])];
}

/* Draws certificates until one can be corrupted that way. */
static void corrupt_one(struct random *random, enum way way, struct tally *tally)
{
    bool is_changed = false;
    while (!is_changed) {
        const json_t *before = any_certificate(random);
        json_t *changed = json_deep_copy(before);
        ck_assert_ptr_nonnull(changed);
        is_changed = corrupt_document(random, way, changed, any_certificate(random)) &&
                     !json_equal(changed, before);
        if (is_changed) {
            check_corrupted(changed, tally);
        }
        json_decref(changed);
    }
}

static void print_tally(const char *name, const struct tally *tally)
{
    printf("certificate: %-9s changed: refuted %5" PRIu64 " (claim wrong now), %5" PRIu64
           " (claim still right), %3" PRIu64 " (not decided again); %5" PRIu64
           " malformed; %5" PRIu64 " valid, and right\n",
           name, tally->refuted_wrong, tally->refuted_right, tally->refuted_undecided,
           tally->malformed, tally->valid);
}

/* HBMSTRESS_EXHAUSTIVE=1 corrupts twenty times as many, for nightly runs. */
static uint64_t corrupted_count(void)
{
    return getenv("HBMSTRESS_EXHAUSTIVE") != NULL ? 20 * CORRUPTED_COUNT
                                                  : draws_count(CORRUPTED_COUNT, 1);
}

TEST(a_corrupted_certificate_is_noticed_or_still_right)
{
    struct tally tallies[WAY_COUNT] = {{0}};
    struct random random;
    random_init(&random, 3);
    collect_certificates(2, BASE_PART);
    const uint64_t count = corrupted_count();
    for (uint64_t i = 0; i < count; i++) {
        const enum way way = (enum way)(i % WAY_COUNT);
        corrupt_one(&random, way, &tallies[way]);
    }
    for (unsigned way = 0; way < WAY_COUNT; way++) {
        const struct tally *tally = &tallies[way];
        print_tally(way_names[way], tally);
        /* Neither did all changes matter nor none; of a log every letter matters, and a proof is of
         * its own state. */
        ck_assert(tally->valid > 0 || way == WAY_LOG || way == WAY_SPLICE);
        ck_assert_uint_gt(tally->refuted_wrong + tally->refuted_right + tally->malformed,
                          draws_count(300, 1));
    }
}

/* --- exact proofs --- */

static void check_not_valid(const json_t *root)
{
    char reason[CERTIFICATE_REASON_BYTES];
    char *text = json_dumps(root, JSON_COMPACT);
    ck_assert_ptr_nonnull(text);
    ck_assert_msg(certificate_check(text, strlen(text), reason) != CERTIFICATE_VALID,
                  "still valid:\n%s", text);
    free(text);
}

/* Numbers that say what the state is; the others are the prover's own choice. */
static bool is_of_state(const char *name)
{
    static const char *const chosen[] = {"unit", "spans", "nodes", "least", "until", "address"};
    bool is_chosen = false;
    for (size_t i = 0; i < sizeof chosen / sizeof chosen[0]; i++) {
        is_chosen = is_chosen || strcmp(name, chosen[i]) == 0;
    }
    return !is_chosen;
}

static uint64_t check_numbers_exact(json_t *root)
{
    const char *name = NULL;
    json_t *number = NULL;
    uint64_t count = 0;
    json_object_foreach(json_object_get(root, "proof"), name, number)
    {
        if (json_is_integer(number) && is_of_state(name)) {
            json_integer_set(number, json_integer_value(number) + 1);
            check_not_valid(root);
            json_integer_set(number, json_integer_value(number) - 1);
            count++;
        }
    }
    return count;
}

static uint64_t check_log_exact(json_t *root)
{
    json_t *log = json_object_get(json_object_get(root, "proof"), "log");
    if (log == NULL) {
        return 0;
    }
    char *longer = NULL;
    char *before = strdup(json_string_value(log));
    for (const char *letter = letters; *letter != '\0'; letter++) {
        ck_assert_int_gt(asprintf(&longer, "%s%c", before, *letter), 0);
        json_string_set(log, longer);
        check_not_valid(root);
        free(longer);
    }
    json_string_set(log, before);
    free(before);
    return 1;
}

TEST(a_number_that_is_not_right_and_a_log_that_goes_on_are_noticed)
{
    uint64_t number_count = 0;
    uint64_t log_count = 0;
    collect_certificates(5, BASE_PART);
    for (unsigned kind = 0; kind < PROOF_KIND_COUNT; kind++) {
        for (size_t i = 0; i < collection.kept_count[kind]; i++) {
            number_count += check_numbers_exact(collection.kept[kind][i]);
            log_count += check_log_exact(collection.kept[kind][i]);
        }
    }
    ck_assert_uint_gt(number_count, 50);
    ck_assert_uint_gt(log_count, 20);
}

/* --- forged proofs --- */

/* Out-of-memories that are premature, and for each the proofs that somebody might try who claims
 * that they are justified: every number that could be right, and logs that are made letter by
 * letter from what the checker lets pass. */
struct forgery {
    struct random random;
    struct oom oom;
    struct reach reach;
    json_t *root; /* the certificate that it is premature; then the forged one */
    uint64_t attempt_count, letter_count, fills_count;
};

/* Sets reason to what is wrong with the proof, which becomes the certificate's. */
static void try_proof(struct forgery *forgery, json_t *proof, char reason[CERTIFICATE_REASON_BYTES])
{
    ck_assert_ptr_nonnull(proof);
    json_object_set_new(forgery->root, "claim", json_string("justified"));
    json_object_set_new(forgery->root, "proof", proof);
    char *text = json_dumps(forgery->root, JSON_COMPACT);
    ck_assert_ptr_nonnull(text);
    ck_assert_msg(certificate_check(text, strlen(text), reason) != CERTIFICATE_VALID, "forged:\n%s",
                  text);
    forgery->attempt_count++;
    free(text);
}

static void draw_premature(struct forgery *forgery, bool is_tight)
{
    static const struct random_oom_wish wanted = {
        .granules_max = 30, .block_count_max = 14, .has_alignments = true};
    struct verdict verdict = {.kind = VERDICT_NONE};
    const struct proof *proof = NULL;
    while (verdict.kind != VERDICT_PREMATURE) {
        if (is_tight) {
            random_oom_draw_tight(&forgery->random, false, &forgery->oom);
        } else {
            random_oom_draw(&forgery->random, &wanted, &forgery->oom);
        }
        proof = oracle_prove(oracle, &forgery->oom, BUDGET, &verdict);
    }
    size_t length = 0;
    char *text = print_certificate(&forgery->oom, proof, &verdict, &length);
    json_decref(forgery->root);
    forgery->root = json_loadb(text, length, 0, NULL);
    ck_assert_ptr_nonnull(forgery->root);
    free(text);
    reach_decide_fully(&forgery->reach, &forgery->oom);
}

static void forge_numbers(struct forgery *forgery)
{
    char reason[CERTIFICATE_REASON_BYTES];
    try_proof(forgery, json_pack("{s:s}", "kind", "stack"), reason);
    try_proof(forgery, json_pack("{s:s}", "kind", "spans"), reason);
}

/* With the right sums for the unit. */
static void forge_rounding(struct forgery *forgery, uint64_t unit)
{
    const struct reach *reach = &forgery->reach;
    char reason[CERTIFICATE_REASON_BYTES];
    struct reach_gap gap = reach_before_all;
    uint64_t need = reach->need / unit;
    uint64_t have = 0;
    while (reach_next_gap(reach, &gap)) {
        have += (gap.end - gap.start) / unit;
        for (size_t i = gap.first; i < gap.last; i++) {
            need += reach->ranges[i].size_bytes / unit;
        }
    }
    try_proof(forgery,
              json_pack("{s:s,s:I,s:I,s:I}", "kind", "rounding", "unit", (json_int_t)unit, "need",
                        (json_int_t)need, "have", (json_int_t)have),
              reason);
}

/* With what the spans really lose, which the first attempt is told. */
static void forge_fills(struct forgery *forgery, int spans, uint64_t unit)
{
    static const char told[] = "the spans lose ";
    char reason[CERTIFICATE_REASON_BYTES];
    json_int_t lost = 0;
    for (int i = 0; i < 2; i++) {
        try_proof(forgery,
                  json_pack("{s:s,s:i,s:I,s:I}", "kind", "fills", "spans", spans, "unit",
                            (json_int_t)unit, "lost", lost),
                  reason);
        const char *found = strstr(reason, told);
        if (found == NULL) {
            return;
        }
        lost = (json_int_t)strtoll(found + strlen(told), NULL, 10);
        forgery->fills_count++;
    }
}

/* The letter that the reason names; 0 when it names none. */
static size_t letter_named(const char *reason)
{
    const char *found = strstr(reason, "log[");
    return found == NULL ? 0 : (size_t)strtoull(found + strlen("log["), NULL, 10);
}

/* Leaves before branches: a leaf that is not true would cut a packing off. */
static void forge_log(struct forgery *forgery, bool is_plain)
{
    char reason[CERTIFICATE_REASON_BYTES];
    char log[FORGED_LETTERS_MAX + 1] = "";
    for (size_t length = 0; length < FORGED_LETTERS_MAX; length++) {
        size_t passed = 0;
        for (size_t i = 0; i < sizeof letters - 1 && passed <= length; i++) {
            log[length] = letters[i];
            json_t *proof = json_pack("{s:s,s:i,s:b,s:s}", "kind", "search", "least", 0, "plain",
                                      is_plain, "log", log);
            try_proof(forgery, proof, reason);
            passed = letter_named(reason);
        }
        if (passed <= length) {
            return;
        }
        forgery->letter_count++;
    }
}

TEST(no_proof_can_be_forged_for_a_premature_out_of_memory)
{
    struct forgery forgery = {.attempt_count = 0};
    char reason[CERTIFICATE_REASON_BYTES];
    const uint64_t count = draws_count(FORGED_COUNT, 1);
    random_init(&forgery.random, 4);
    for (uint64_t i = 0; i < count; i++) {
        draw_premature(&forgery, i % 8 == 0);
        forge_numbers(&forgery);
        for (uint64_t granules = 1; granules <= 30; granules++) {
            forge_rounding(&forgery, granules * forgery.oom.granule_bytes);
        }
        for (int spans = 1; spans <= FORGED_SPANS_MAX; spans++) {
            for (uint64_t granules = 1; granules <= 4; granules++) {
                forge_fills(&forgery, spans, granules * forgery.oom.granule_bytes);
            }
        }
        for (int sets = 1; sets <= FORGED_SETS_MAX; sets++) {
            try_proof(&forgery, json_pack("{s:s,s:i}", "kind", "table", "sets", sets), reason);
            try_proof(&forgery, json_pack("{s:s,s:i}", "kind", "patterns", "sets", sets), reason);
        }
        forge_log(&forgery, false);
        forge_log(&forgery, true);
    }
    ck_assert_uint_gt(forgery.fills_count, count / 10);
    printf("certificate: %" PRIu64 " forged proofs are refused, whose logs had %" PRIu64
           " letters that passed\n",
           forgery.attempt_count, forgery.letter_count);
    ck_assert_uint_gt(forgery.letter_count, count);
    oom_deinit(&forgery.oom);
    reach_deinit(&forgery.reach);
    json_decref(forgery.root);
}
