#include "page/proof_words.h"

#include "harness/base/check.h"
#include "harness/base/size.h"
#include "page/campaign_lines.h"
#include "present/page/page.h"
#include "present/page/parts.h"
#include "present/page/strip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_COUNT_MAX = 1 << 20, MOVE_ROW_COUNT_MAX = 40, NAME_BYTES_MAX = 100 };

/* A block of the certificate, and what became of it by the plan. */
struct piece {
    uint64_t from, to; /* before */
    uint64_t now;      /* where it begins after the plan */
    uint64_t op;
    enum strip_state state;
    bool was_on_device, is_on_device, is_gone, is_moved;
};

/* The facts of a certificate, as far as it could be read; numbers are below 2^63. */
struct facts {
    const json_t *certificate, *request,
        *plan; /* plan: NULL, or the proof that shows a placement */
    uint64_t capacity, granule, need;
    struct piece *pieces; /* count of them, in the order of the document */
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

static void read_piece(struct facts *facts, const json_t *block, uint64_t until)
{
    struct piece *piece = &facts->pieces[facts->count++];
    const json_int_t freed = signed_member(block, "freed_at");
    const uint64_t stack = member_number(block, "stack");
    piece->was_on_device = piece->is_on_device = signed_member(block, "address") >= 0;
    piece->from = piece->now = member_number(block, "address");
    piece->to = piece->from + member_number(block, "size");
    piece->op = member_number(block, "op");
    piece->state = name_state(block);
    piece->is_gone = facts->plan != NULL && piece->state == STRIP_DYING && freed >= 0 &&
                     (uint64_t)freed <= until && member_number(block, "holds") == 0;
    if (is_used(block, 0) && stack > facts->reserved) {
        facts->reserved = stack;
    }
    if (is_used(block, until) && stack > facts->bottom) {
        facts->bottom = stack;
    }
}

/* The plan, as far as it names blocks that are there. */
static void read_plan(struct facts *facts)
{
    const json_t *entry;
    size_t i;
    json_array_foreach(json_object_get(facts->plan, "evict"), i, entry)
    {
        const uint64_t block = (uint64_t)json_integer_value(entry);
        if (block < facts->count) {
            facts->pieces[block].is_gone = true;
        }
    }
    json_array_foreach(json_object_get(facts->plan, "moves"), i, entry)
    {
        const uint64_t block = (uint64_t)signed_member(entry, "block");
        if (block < facts->count) {
            facts->pieces[block].now = member_number(entry, "to");
            facts->pieces[block].is_moved = true;
            facts->pieces[block].is_on_device = signed_member(entry, "to") >= 0;
        }
    }
}

/* False: *why says what is wrong with it. */
static bool read_facts(const json_t *certificate, struct facts *facts, const char **why)
{
    const json_t *blocks = json_object_get(certificate, "blocks"), *block;
    const json_t *device = json_object_get(certificate, "device");
    const json_t *proof = json_object_get(certificate, "proof");
    size_t i;
    *facts = (struct facts){.certificate = certificate,
                            .request = json_object_get(certificate, "request"),
                            .capacity = member_number(device, "capacity"),
                            .granule = member_number(device, "granule")};
    if (strcmp(member_text(certificate, "format"), "hbmstress-certificate") != 0) {
        *why = "it is no certificate";
        return false;
    }
    if (facts->capacity == 0 || facts->capacity > UINT64_C(1) << 50 ||
        json_array_size(blocks) > BLOCK_COUNT_MAX) {
        *why = "its device or its blocks are out of range";
        return false;
    }
    facts->need = round_up(member_number(facts->request, "bytes"), facts->granule);
    facts->plan = strcmp(member_text(proof, "kind"), "plan") == 0 ? proof : NULL;
    facts->bottom = member_number(facts->request, "stack");
    facts->pieces = calloc(json_array_size(blocks) + 1, sizeof *facts->pieces);
    CHECK(facts->pieces != NULL);
    json_array_foreach(blocks, i, block)
    {
        read_piece(facts, block, member_number(proof, "until"));
    }
    read_plan(facts);
    return true;
}

/* --- pictures --- */

static int compare_blocks(const void *a, const void *b)
{
    const struct strip_block *left = a, *right = b;
    return (left->from > right->from) - (left->from < right->from);
}

static void add_block(struct strip_block *blocks, size_t *count, uint64_t from, uint64_t to,
                      enum strip_state state)
{
    if (from < to) {
        blocks[(*count)++] = (struct strip_block){from, to, state};
    }
}

/* Lists the blocks that lay there; with is_after, after the plan. */
static size_t list_blocks(const struct facts *facts, bool is_after, struct strip_block *blocks)
{
    size_t count = 0;
    add_block(blocks, &count, 0, is_after ? facts->bottom : facts->reserved, STRIP_STACK);
    for (size_t i = 0; i < facts->count; i++) {
        const struct piece *piece = &facts->pieces[i];
        const uint64_t size = piece->to - piece->from;
        if (!is_after && piece->was_on_device) {
            add_block(blocks, &count, piece->from, piece->to, piece->state);
        } else if (is_after && piece->is_on_device && !piece->is_gone) {
            add_block(blocks, &count, piece->now, piece->now + size,
                      piece->is_moved ? STRIP_MOVED : piece->state);
        }
    }
    if (is_after && signed_member(facts->plan, "address") >= 0) {
        const uint64_t address = member_number(facts->plan, "address");
        add_block(blocks, &count, address, address + facts->need, STRIP_REQUEST);
    }
    qsort(blocks, count, sizeof *blocks, compare_blocks);
    return count;
}

/* The free bytes, how many holes, and the largest. */
struct holes {
    uint64_t free_bytes, count, largest;
};

static void add_hole(struct holes *holes, uint64_t from, uint64_t to)
{
    if (to > from) {
        holes->free_bytes += to - from;
        holes->count++;
        holes->largest = to - from > holes->largest ? to - from : holes->largest;
    }
}

static struct holes find_holes(const struct facts *facts, const struct strip_block *blocks,
                               size_t count)
{
    struct holes holes = {0};
    uint64_t end = 0;
    for (size_t i = 0; i < count; i++) {
        add_hole(&holes, end, blocks[i].from);
        end = blocks[i].to > end ? blocks[i].to : end;
    }
    add_hole(&holes, end, facts->capacity);
    return holes;
}

/* --- words --- */

/* Explains what the contract lets a movable block do. */
static const char *explain_contract(const struct facts *facts)
{
    const char *defrag = member_text(json_object_get(facts->certificate, "contract"), "defrag");
    if (strcmp(defrag, "slide") == 0) {
        return "Movable blocks slide between the unmovable ones, in their order (defrag=slide).";
    }
    return strcmp(defrag, "repack") == 0
               ? "Movable blocks may go anywhere (defrag=repack)."
               : "No block ever moves, not even those drawn as movable (defrag=none).";
}

static void append_request(struct writing *html, const struct facts *facts)
{
    const uint64_t stack = member_number(facts->request, "stack");
    writing_append(html, "<p>Claim: <strong>");
    page_append_cut(html, member_text(facts->certificate, "claim"), NAME_BYTES_MAX);
    writing_append(html, "</strong>. The device has ");
    page_append_size(html, facts->capacity);
    writing_append(html, " in granules of ");
    page_append_size(html, facts->granule);
    writing_append(html, ". Asked for: a ");
    page_append_cut(html, member_text(facts->request, "class"), NAME_BYTES_MAX);
    writing_append(html, " of ");
    page_append_size(html, member_number(facts->request, "bytes"));
    if (stack > 0) {
        writing_append(html, " with a stack of ");
        page_append_size(html, stack);
    }
    writing_append(html, ". ");
    page_append_text(html, explain_contract(facts));
    writing_append(html, "</p>\n");
}

/* "On the device: 3 movable, 1 held; free 1.00G in 2 holes, the largest 512M." */
static void append_census(struct writing *html, const struct facts *facts,
                          const struct holes *holes)
{
    uint64_t counts[STRIP_STATE_COUNT] = {0};
    const char *separator = "";
    for (size_t i = 0; i < facts->count; i++) {
        counts[facts->pieces[i].state]++;
    }
    writing_append(html, "<p>At that moment: ");
    for (unsigned state = 0; state < STRIP_STATE_COUNT; state++) {
        if (counts[state] > 0) {
            writing_append(html, separator);
            page_append_count(html, counts[state]);
            writing_append_format(html, " %s", strip_state_name((enum strip_state)state));
            separator = ", ";
        }
    }
    writing_append(html, facts->count == 0 ? "no blocks; free: " : "; free: ");
    writing_append_size(html, holes->free_bytes);
    writing_append(html, " in ");
    page_append_count(html, holes->count);
    writing_append(html, holes->count == 1 ? " hole, the largest " : " holes, the largest ");
    writing_append_size(html, holes->largest);
    writing_append(html, ".</p>\n");
}

static void append_moves(struct writing *html, const struct facts *facts)
{
    size_t row_count = 0;
    page_table_begin(html, "The moves that make room", "block of op|#size|#from|#to");
    for (size_t i = 0; i < facts->count; i++) {
        const struct piece *piece = &facts->pieces[i];
        char text[32];
        if (!piece->is_moved || row_count++ >= MOVE_ROW_COUNT_MAX) {
            continue;
        }
        snprintf(text, sizeof text, "%" PRIu64, piece->op);
        page_row_begin(html, text);
        page_cell_size(html, piece->to - piece->from);
        writing_append_format(
            html, "<td class=\"number\">0x%" PRIx64 "</td><td class=\"number\">0x%" PRIx64 "</td>",
            piece->from, piece->now);
        page_row_end(html);
    }
    page_table_end(html);
    if (row_count > MOVE_ROW_COUNT_MAX) {
        writing_append_format(html, "<p class=\"note\">%zu more moves are left out.</p>\n",
                              row_count - MOVE_ROW_COUNT_MAX);
    }
}

/* The steps of a plan, in its order. */
enum step { STEP_AWAIT, STEP_EVICT, STEP_MOVE, STEP_COUNT };

static bool is_of_step(const struct piece *piece, enum step step)
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
static bool append_step(struct writing *html, const struct facts *facts, enum step step)
{
    static const char *const words[STEP_COUNT][2] = {
        {"await", "queued free"}, {"unload", "idle program"}, {"move", "block"}};
    enum { SHOWN_COUNT_MAX = 12 };
    struct writing ops;
    uint64_t bytes = 0;
    size_t count = 0;
    writing_init(&ops);
    for (size_t i = 0; i < facts->count; i++) {
        const struct piece *piece = &facts->pieces[i];
        if (!is_of_step(piece, step)) {
            continue;
        }
        bytes += piece->to - piece->from;
        if (count++ < SHOWN_COUNT_MAX) {
            writing_append_format(&ops, "%s%" PRIu64, count == 1 ? "" : ", ", piece->op);
        }
    }
    if (count > 0) {
        writing_append_format(html, "<li>%s %zu %s%s, ", words[step][0], count, words[step][1],
                              count == 1 ? "" : "s");
        writing_append_size(html, bytes);
        writing_append_format(html, ", of op%s %s%s</li>\n", count == 1 ? "" : "s",
                              writing_string(&ops), count > SHOWN_COUNT_MAX ? " and others" : "");
    }
    writing_deinit(&ops);
    return count > 0;
}

/* Appends what the allocator had to do, and where the request is then placed. */
static void append_plan(struct writing *html, const struct facts *facts)
{
    const bool has_place = signed_member(facts->plan, "address") >= 0 && facts->need > 0;
    struct writing steps;
    bool has_step[STEP_COUNT];
    writing_init(&steps);
    for (unsigned step = 0; step < STEP_COUNT; step++) {
        has_step[step] = append_step(&steps, facts, (enum step)step);
        if (step == STEP_AWAIT && !has_step[step] && member_number(facts->plan, "until") > 0) {
            writing_append(&steps,
                           "<li>await what is due, so that blocks are no longer in use</li>\n");
        }
    }
    if (steps.length == 0) {
        writing_append(html, "<p>The request fitted as things were, without any mitigation.");
    } else {
        writing_append(html, "<p>The request fitted after this:</p>\n<ol>\n");
        writing_append_bytes(html, steps.bytes, steps.length);
        writing_append(html, "</ol>\n<p>");
    }
    if (has_place) {
        writing_append_format(html, " It lands at <strong>0x%" PRIx64 "</strong>.",
                              member_number(facts->plan, "address"));
    }
    writing_append(html, "</p>\n");
    if (has_step[STEP_MOVE]) {
        append_moves(html, facts);
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

static void append_proof(struct writing *html, const struct facts *facts)
{
    const json_t *proof = json_object_get(facts->certificate, "proof");
    writing_append(html, "<p>");
    page_append_text(html, explain_proof(member_text(proof, "kind")));
    if (member_number(proof, "need") > 0 && member_number(proof, "unit") > 0) {
        writing_append(html, " In units of ");
        page_append_size(html, member_number(proof, "unit"));
        writing_append(html, ": ");
        page_append_count(html, member_number(proof, "need"));
        writing_append(html, " are needed, and there are ");
        page_append_count(html, member_number(proof, "have"));
        writing_append(html, ".");
    }
    writing_append(html, "</p>\n");
}

static void draw(struct writing *html, const struct facts *facts, const char *title,
                 const struct strip_block *blocks, size_t count, const char *measure,
                 unsigned number)
{
    const struct strip strip = {.title = title,
                                .capacity = facts->capacity,
                                .blocks = blocks,
                                .count = count,
                                .measure_bytes = measure == NULL ? 0 : facts->need,
                                .measure = measure};
    writing_append(html, "<figure><figcaption>");
    page_append_text(html, title);
    writing_append(html, "</figcaption>\n");
    strip_draw(html, &strip, number);
    writing_append(html, "</figure>\n");
}

static bool has_addresses(const struct facts *facts)
{
    const char *placement = member_text(json_object_get(facts->certificate, "contract"),
                                        "placement");
    return placement[0] == '\0' || strcmp(placement, "ranges") == 0;
}

static void append_all(struct writing *html, const struct facts *facts, struct strip_block *blocks,
                       unsigned number)
{
    char measure[96];
    size_t count = list_blocks(facts, false, blocks);
    const struct holes holes = find_holes(facts, blocks, count);
    snprintf(measure, sizeof measure, "the request, %s", size_text_of(facts->need).text);
    append_request(html, facts);
    append_census(html, facts, &holes);
    if (has_addresses(facts)) {
        draw(html, facts, "The address space when the request was refused", blocks, count, measure,
             number);
    }
    if (facts->plan == NULL) {
        append_proof(html, facts);
        return;
    }
    append_plan(html, facts);
    if (has_addresses(facts) && signed_member(facts->plan, "address") >= 0) {
        count = list_blocks(facts, true, blocks);
        draw(html, facts, "The same space with the request in its place", blocks, count, NULL,
             number + 1);
    }
}

void proof_words(struct writing *html, const json_t *certificate, unsigned number)
{
    struct facts facts;
    const char *why = NULL;
    if (!read_facts(certificate, &facts, &why)) {
        writing_append_format(html, "<p class=\"note\">The certificate cannot be shown: %s.</p>\n",
                              why);
        return;
    }
    struct strip_block *blocks = calloc(facts.count + 2, sizeof *blocks);
    CHECK(blocks != NULL);
    append_all(html, &facts, blocks, number);
    free(blocks);
    free(facts.pieces);
}
