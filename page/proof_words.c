#include "harness/base/check.h"
#include "harness/base/order.h"
#include "harness/base/size.h"
#include "page/campaign_page.h"
#include "present/page/pictures.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_COUNT_MAX = 1 << 20, MOVE_ROW_COUNT_MAX = 40 };

/* A block of the certificate, and what became of it by the plan. */
struct proof_piece {
    uint64_t from, to; /* before */
    uint64_t now;      /* where it begins after the plan */
    uint64_t op;
    enum strip_state state;
    bool was_on_device, is_on_device, is_gone, is_moved;
};

/* The facts of a certificate, as far as it could be read; numbers are below 2^63. */
struct told_proof {
    const json_t *certificate, *request,
        *plan; /* plan: NULL, or the proof that shows a placement */
    uint64_t capacity, granule, need;
    struct proof_piece *pieces; /* count of them, in the order of the document */
    size_t count;
    uint64_t reserved, bottom; /* the stack now, and after the plan */
};

static uint64_t round_up(uint64_t bytes, uint64_t granule)
{
    return granule == 0 ? bytes : (bytes + granule - 1) / granule * granule;
}

/* -1 stands for never. */
static json_int_t signed_member(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

/* Returns true if a use is still under way after everything due by then was awaited. */
static bool is_used(const json_t *block, uint64_t until)
{
    const json_int_t used = signed_member(block, "used_until");
    return used == -1 || (used > 0 && (uint64_t)used > until);
}

static enum strip_state name_state(const json_t *block)
{
    const char *kind = member_text(block, "kind");
    const bool is_program = strcmp(kind, "program") == 0;
    if (strcmp(kind, "retired") == 0) {
        return STRIP_RETIRED;
    }
    if (strcmp(member_text(block, "state"), "dying") == 0) {
        return STRIP_DYING;
    }
    if (is_program) {
        return is_used(block, 0) ? STRIP_BUSY_PROGRAM : STRIP_IDLE_PROGRAM;
    }
    return is_used(block, 0) || member_number(block, "holds") > 0 ? STRIP_HELD : STRIP_MOVABLE;
}

static void read_piece(struct told_proof *proof, const json_t *block, uint64_t until)
{
    struct proof_piece *piece = &proof->pieces[proof->count++];
    const json_int_t freed = signed_member(block, "freed_at");
    const uint64_t stack = member_number(block, "stack");
    piece->was_on_device = piece->is_on_device = signed_member(block, "address") >= 0;
    piece->from = piece->now = member_number(block, "address");
    piece->to = piece->from + member_number(block, "size");
    piece->op = member_number(block, "op");
    piece->state = name_state(block);
    piece->is_gone = proof->plan != NULL && piece->state == STRIP_DYING && freed >= 0 &&
                     (uint64_t)freed <= until && member_number(block, "holds") == 0;
    if (is_used(block, 0) && stack > proof->reserved) {
        proof->reserved = stack;
    }
    if (is_used(block, until) && stack > proof->bottom) {
        proof->bottom = stack;
    }
}

/* The plan, as far as it names blocks that are there. */
static void read_plan(struct told_proof *proof)
{
    const json_t *entry;
    size_t i;
    json_array_foreach(json_object_get(proof->plan, "evict"), i, entry)
    {
        const uint64_t block = (uint64_t)json_integer_value(entry);
        if (block < proof->count) {
            proof->pieces[block].is_gone = true;
        }
    }
    json_array_foreach(json_object_get(proof->plan, "moves"), i, entry)
    {
        const uint64_t block = (uint64_t)signed_member(entry, "block");
        if (block < proof->count) {
            proof->pieces[block].now = member_number(entry, "to");
            proof->pieces[block].is_moved = true;
            proof->pieces[block].is_on_device = signed_member(entry, "to") >= 0;
        }
    }
}

/* NULL, or what is wrong with it. */
static const char *read_proof(const json_t *certificate, struct told_proof *proof)
{
    const json_t *blocks = json_object_get(certificate, "blocks"), *block;
    const json_t *device = json_object_get(certificate, "device");
    const json_t *told = json_object_get(certificate, "proof");
    size_t i;
    *proof = (struct told_proof){.certificate = certificate,
                                 .request = json_object_get(certificate, "request"),
                                 .capacity = member_number(device, "capacity"),
                                 .granule = member_number(device, "granule")};
    if (strcmp(member_text(certificate, "format"), "hbmstress-certificate") != 0) {
        return "it is no certificate";
    }
    if (proof->capacity == 0 || proof->capacity > UINT64_C(1) << 50 ||
        json_array_size(blocks) > BLOCK_COUNT_MAX) {
        return "its device or its blocks are out of range";
    }
    proof->need = round_up(member_number(proof->request, "bytes"), proof->granule);
    proof->plan = strcmp(member_text(told, "kind"), "plan") == 0 ? told : NULL;
    proof->bottom = member_number(proof->request, "stack");
    proof->pieces = calloc(json_array_size(blocks) + 1, sizeof *proof->pieces);
    CHECK(proof->pieces != NULL);
    json_array_foreach(blocks, i, block)
    {
        read_piece(proof, block, member_number(told, "until"));
    }
    read_plan(proof);
    return NULL;
}

/* --- pictures --- */

static int compare_blocks(const void *a, const void *b)
{
    const struct strip_block *left = a, *right = b;
    return compare_numbers(left->from, right->from);
}

static void add_block(struct strip_block *blocks, size_t *count, uint64_t from, uint64_t to,
                      enum strip_state state)
{
    if (from < to) {
        blocks[(*count)++] = (struct strip_block){from, to, state};
    }
}

/* Lists the blocks that lay there; with is_after, after the plan. */
static size_t list_blocks(const struct told_proof *proof, bool is_after, struct strip_block *blocks)
{
    size_t count = 0;
    add_block(blocks, &count, 0, is_after ? proof->bottom : proof->reserved, STRIP_STACK);
    for (size_t i = 0; i < proof->count; i++) {
        const struct proof_piece *piece = &proof->pieces[i];
        const uint64_t size = piece->to - piece->from;
        if (!is_after && piece->was_on_device) {
            add_block(blocks, &count, piece->from, piece->to, piece->state);
        } else if (is_after && piece->is_on_device && !piece->is_gone) {
            add_block(blocks, &count, piece->now, piece->now + size,
                      piece->is_moved ? STRIP_MOVED : piece->state);
        }
    }
    if (is_after && signed_member(proof->plan, "address") >= 0) {
        const uint64_t address = member_number(proof->plan, "address");
        add_block(blocks, &count, address, address + proof->need, STRIP_REQUEST);
    }
    qsort(blocks, count, sizeof *blocks, compare_blocks);
    return count;
}

/* The free bytes, how many holes, and the largest. */
struct hole_sums {
    uint64_t free_bytes, count, largest;
};

static void add_hole(struct hole_sums *holes, uint64_t from, uint64_t to)
{
    if (to > from) {
        holes->free_bytes += to - from;
        holes->count++;
        holes->largest = to - from > holes->largest ? to - from : holes->largest;
    }
}

static struct hole_sums find_holes(const struct told_proof *proof, const struct strip_block *blocks,
                                   size_t count)
{
    struct hole_sums holes = {0};
    uint64_t end = 0;
    for (size_t i = 0; i < count; i++) {
        add_hole(&holes, end, blocks[i].from);
        end = blocks[i].to > end ? blocks[i].to : end;
    }
    add_hole(&holes, end, proof->capacity);
    return holes;
}

/* --- words --- */

/* Explains what the contract lets a movable block do. */
static const char *explain_contract(const struct told_proof *proof)
{
    const char *defrag = member_text(json_object_get(proof->certificate, "contract"), "defrag");
    if (strcmp(defrag, "slide") == 0) {
        return "Movable blocks slide between the unmovable ones, in their order (defrag=slide).";
    }
    return strcmp(defrag, "repack") == 0
               ? "Movable blocks may go anywhere (defrag=repack)."
               : "No block ever moves, not even those drawn as movable (defrag=none).";
}

static void append_request(struct writing *html, const struct told_proof *proof)
{
    const uint64_t stack = member_number(proof->request, "stack");
    page_print(html,
               "<p>Claim: <strong>%.100s</strong>. The device has %s in granules of %s. Asked for: "
               "a %.100s of %s%s%s. %s</p>\n",
               member_text(proof->certificate, "claim"), page_size(proof->capacity).text,
               page_size(proof->granule).text, member_text(proof->request, "class"),
               page_size(member_number(proof->request, "bytes")).text,
               stack > 0 ? " with a stack of " : "", stack > 0 ? page_size(stack).text : "",
               explain_contract(proof));
}

/* "On the device: 3 movable, 1 held; free 1.00G in 2 holes, the largest 512M." */
static void append_census(struct writing *html, const struct told_proof *proof,
                          const struct hole_sums *holes)
{
    uint64_t counts[STRIP_STATE_COUNT] = {0};
    const char *separator = "";
    for (size_t i = 0; i < proof->count; i++) {
        counts[proof->pieces[i].state]++;
    }
    writing_append(html, "<p>At that moment: ");
    for (unsigned state = 0; state < STRIP_STATE_COUNT; state++) {
        if (counts[state] > 0) {
            page_print(html, "%s%s %s", separator, page_count(counts[state]).text,
                       strip_state_name((enum strip_state)state));
            separator = ", ";
        }
    }
    page_print(html, "%s; free: %s in %s hole%s, the largest %s.</p>\n",
               proof->count == 0 ? "no blocks" : "", size_text_of(holes->free_bytes).text,
               page_count(holes->count).text, plural(holes->count, "", "s"),
               size_text_of(holes->largest).text);
}

static void append_moves(struct writing *html, const struct told_proof *proof)
{
    size_t row_count = 0;
    page_table_begin(html, "The moves that make room", "block of op|#size|#from|#to");
    for (size_t i = 0; i < proof->count; i++) {
        const struct proof_piece *piece = &proof->pieces[i];
        if (piece->is_moved && row_count++ < MOVE_ROW_COUNT_MAX) {
            page_row(html, "%" PRIu64 "|#%s|#0x%" PRIx64 "|#0x%" PRIx64, piece->op,
                     size_text_of(piece->to - piece->from).text, piece->from, piece->now);
        }
    }
    writing_append(html, PAGE_TABLE_END);
    if (row_count > MOVE_ROW_COUNT_MAX) {
        page_note(html, "%zu more moves are left out.", row_count - MOVE_ROW_COUNT_MAX);
    }
}

/* The steps of a plan, in its order. */
enum plan_step { STEP_AWAIT, STEP_EVICT, STEP_MOVE, STEP_COUNT };

static bool is_of_step(const struct proof_piece *piece, enum plan_step step)
{
    switch (step) {
    case STEP_AWAIT:
        return piece->is_gone && piece->state == STRIP_DYING;
    case STEP_EVICT:
        return piece->is_gone && piece->state != STRIP_DYING;
    default:
        return piece->is_moved;
    }
}

/* "await 2 queued frees, 4.00M, of the blocks of ops 3, 7"; false: the plan has no such step. */
static bool append_step(struct writing *html, const struct told_proof *proof, enum plan_step step)
{
    static const char *const words[STEP_COUNT][2] = {
        {"await", "queued free"}, {"unload", "idle program"}, {"move", "block"}};
    enum { SHOWN_COUNT_MAX = 12 };
    struct writing ops = {0};
    uint64_t bytes = 0;
    size_t count = 0;
    for (size_t i = 0; i < proof->count; i++) {
        const struct proof_piece *piece = &proof->pieces[i];
        if (!is_of_step(piece, step)) {
            continue;
        }
        bytes += piece->to - piece->from;
        if (count++ < SHOWN_COUNT_MAX) {
            writing_append_format(&ops, "%s%" PRIu64, count == 1 ? "" : ", ", piece->op);
        }
    }
    if (count > 0) {
        page_print(html, "<li>%s %zu %s%s, %s, of op%s %s%s</li>\n", words[step][0], count,
                   words[step][1], plural(count, "", "s"), size_text_of(bytes).text,
                   plural(count, "", "s"), writing_string(&ops),
                   count > SHOWN_COUNT_MAX ? " and others" : "");
    }
    writing_deinit(&ops);
    return count > 0;
}

/* Appends what the allocator had to do, and where the request is then placed. */
static void append_plan(struct writing *html, const struct told_proof *proof)
{
    struct writing steps = {0};
    bool has_step[STEP_COUNT];
    for (unsigned step = 0; step < STEP_COUNT; step++) {
        has_step[step] = append_step(&steps, proof, (enum plan_step)step);
        if (step == STEP_AWAIT && !has_step[step] && member_number(proof->plan, "until") > 0) {
            writing_append(&steps,
                           "<li>await what is due, so that blocks are no longer in use</li>\n");
        }
    }
    writing_append_format(html,
                          steps.length == 0
                              ? "<p>The request fitted as things were, without any mitigation.%s"
                              : "<p>The request fitted after this:</p>\n<ol>\n%s</ol>\n<p>",
                          writing_string(&steps));
    if (signed_member(proof->plan, "address") >= 0 && proof->need > 0) {
        page_print(html, " It lands at <strong>0x%" PRIx64 "</strong>.",
                   member_number(proof->plan, "address"));
    }
    writing_append(html, "</p>\n");
    if (has_step[STEP_MOVE]) {
        append_moves(html, proof);
    }
    writing_deinit(&steps);
}

/* Explains why nothing fitted, by the kind of the proof. */
static const char *explain_proof(const char *kind)
{
    static const struct {
        const char *kind, *words;
    } kinds[] = {
        {"stack", "The stack does not fit below the blocks that may not move."},
        {"spans", "Between two blocks that may not move there is nowhere room for the request next "
                  "to the blocks that stay there."},
        {"rounding", "Added up, the request and the blocks that may move are more than all spans "
                     "between unmovable blocks can hold."},
        {"search", "Every way to arrange the movable blocks and the request was tried, and none "
                   "has room for all."},
        {"table", "Every order of every choice of blocks was tried, and none has room for all."},
        {"fills", "No choice of blocks fills the shortest spans well enough: they lose more than "
                  "there is to lose."},
        {"patterns", "The spans were filled in every way that loses no more than there is to lose, "
                     "and something is always left over."},
        {"sum", "Added up, the blocks and the request are more than the device has."},
        {"assumed", "The message alone allows two heaps: in one the refusal was justified, in the "
                    "other it was not."},
        {"budget", "The search for a placement ended at its budget: nothing is proved."},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].kind, kind) == 0) {
            return kinds[i].words;
        }
    }
    return "The proof is of a kind that this page does not know.";
}

static void append_proof(struct writing *html, const struct told_proof *proof)
{
    const json_t *told = json_object_get(proof->certificate, "proof");
    page_print(html, "<p>%s", explain_proof(member_text(told, "kind")));
    if (member_number(told, "need") > 0 && member_number(told, "unit") > 0) {
        page_print(html, " In units of %s: %s are needed, and there are %s.",
                   page_size(member_number(told, "unit")).text, member_count(told, "need").text,
                   member_count(told, "have").text);
    }
    writing_append(html, "</p>\n");
}

static void draw(struct writing *html, const struct told_proof *proof, const char *title,
                 const struct strip_block *blocks, size_t count, const char *measure,
                 unsigned number)
{
    const struct strip strip = {.title = title,
                                .capacity = proof->capacity,
                                .blocks = blocks,
                                .count = count,
                                .measure_bytes = measure == NULL ? 0 : proof->need,
                                .measure = measure};
    page_print(html, "<figure><figcaption>%s</figcaption>\n", title);
    strip_draw(html, &strip, number);
    writing_append(html, "</figure>\n");
}

static bool has_addresses(const struct told_proof *proof)
{
    const char *placement = member_text(json_object_get(proof->certificate, "contract"),
                                        "placement");
    return placement[0] == '\0' || strcmp(placement, "ranges") == 0;
}

static void append_all(struct writing *html, const struct told_proof *proof,
                       struct strip_block *blocks, unsigned number)
{
    char measure[96];
    size_t count = list_blocks(proof, false, blocks);
    const struct hole_sums holes = find_holes(proof, blocks, count);
    snprintf(measure, sizeof measure, "the request, %s", size_text_of(proof->need).text);
    append_request(html, proof);
    append_census(html, proof, &holes);
    if (has_addresses(proof)) {
        draw(html, proof, "The address space when the request was refused", blocks, count, measure,
             number);
    }
    if (proof->plan == NULL) {
        append_proof(html, proof);
        return;
    }
    append_plan(html, proof);
    if (has_addresses(proof) && signed_member(proof->plan, "address") >= 0) {
        count = list_blocks(proof, true, blocks);
        draw(html, proof, "The same space with the request in its place", blocks, count, NULL,
             number + 1);
    }
}

void proof_words(struct writing *html, const json_t *certificate, unsigned number)
{
    struct told_proof proof;
    const char *why = read_proof(certificate, &proof);
    if (why != NULL) {
        page_note(html, "The certificate cannot be shown: %s.", why);
        return;
    }
    struct strip_block *blocks = calloc(proof.count + 2, sizeof *blocks);
    CHECK(blocks != NULL);
    append_all(html, &proof, blocks, number);
    free(blocks);
    free(proof.pieces);
}
