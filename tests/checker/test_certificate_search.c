/* The proofs that nothing can be packed, against every placement of small cases: what is accepted
 * is true, and the log of a walk that tried everything is accepted. */
#include "checker/certificate_check.h"
#include "checker/private/within.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPAN_MAX = 5, ITEM_MAX = 9, LOG_BYTES = 1 << 14, TEXT_BYTES = 1 << 21, ROUND_COUNT = 600 };

/* Spans with a held block of one byte behind each, blocks inside them, and a request.  Item 0 is
 * the request. */
struct packing {
    int span_count, item_count;
    int start[SPAN_MAX], length[SPAN_MAX];
    int size[ITEM_MAX], align[ITEM_MAX], address[ITEM_MAX];
    int slack;
};

static uint64_t random_state;

static int random_below(int bound)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((random_state >> 33) % (uint64_t)bound);
}

/* --- The cases --- */

static int round_up(int value, int unit)
{
    return (value + unit - 1) / unit * unit;
}

/* Blocks are laid into the spans from the left with chance gaps; the request takes most of what is
 * left. */
static struct packing make_packing(bool is_aligned, int item_max, int length_max)
{
    struct packing packing = {.span_count = 1 + random_below(SPAN_MAX - 1), .item_count = 1};
    const int alike = 1 + random_below(3);
    for (int span = 0, at = 0; span < packing.span_count; span++) {
        packing.start[span] = at;
        packing.length[span] = alike == 1 && span > 0 ? packing.length[0]
                                                      : 2 + random_below(length_max - 1);
        at += packing.length[span] + 1;
        int place = packing.start[span];
        packing.slack += packing.length[span];
        while (packing.item_count < item_max && random_below(6) > 0) {
            const int item = packing.item_count;
            packing.align[item] = is_aligned ? 1 << random_below(4) : 1;
            packing.size[item] = alike * (1 + random_below(length_max / 2 / alike + 1));
            packing.address[item] = round_up(place + random_below(3), packing.align[item]);
            place = packing.address[item] + packing.size[item];
            if (place > packing.start[span] + packing.length[span]) {
                break;
            }
            packing.slack -= packing.size[item];
            packing.item_count++;
        }
    }
    const int spare = random_below(random_below(4) > 0 ? 3 : 12);
    packing.size[0] = packing.slack > spare ? packing.slack - spare : 1;
    packing.align[0] = is_aligned ? 1 << random_below(4) : 1;
    packing.slack -= packing.size[0];
    return packing;
}

static bool can_pack_from(const struct packing *packing, int item, uint64_t taken)
{
    if (item == packing->item_count) {
        return true;
    }
    const uint64_t bits = (UINT64_C(1) << packing->size[item]) - 1;
    for (int span = 0; span < packing->span_count; span++) {
        const int end = packing->start[span] + packing->length[span] - packing->size[item];
        for (int at = round_up(packing->start[span], packing->align[item]); at <= end;
             at += packing->align[item]) {
            if ((taken & bits << at) == 0 && can_pack_from(packing, item + 1, taken | bits << at)) {
                return true;
            }
        }
    }
    return false;
}

/* Brute force over all addresses: 64 of them at most. */
static bool can_pack(const struct packing *packing)
{
    return packing->slack >= 0 && can_pack_from(packing, 0, 0);
}

static char text[TEXT_BYTES], reason[CERTIFICATE_REASON_BYTES];
static size_t text_length;

__attribute__((format(printf, 1, 2))) static void append(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text_length += (size_t)vsnprintf(text + text_length, sizeof text - text_length, format,
                                     arguments);
    va_end(arguments);
    ck_assert_uint_lt(text_length, sizeof text);
}

static void append_block(int op, int address, int size, int align, int holds)
{
    append(
        "%s{\"op\": %d, \"kind\": \"buffer\", \"state\": \"live\", \"address\": %d, \"size\": %d, \"align\": %d,"
        " \"stack\": 0, \"holds\": %d, \"used_until\": 0, \"freed_at\": 0}",
        op == 0 ? "" : ",\n", op, address, size, align, holds);
}

static void append_blocks(const struct packing *packing)
{
    int op = 0, item = 1;
    for (int span = 0; span < packing->span_count; span++) {
        const int end = packing->start[span] + packing->length[span];
        for (; item < packing->item_count && packing->address[item] < end; item++) {
            append_block(op++, packing->address[item], packing->size[item], packing->align[item],
                         0);
        }
        append_block(op++, end, 1, 1, 1);
    }
}

/* All before the blocks: of a device with granules of one byte, on which all may be done. */
static void begin_document(int capacity, int bytes, int align)
{
    text_length = 0;
    append(
        "{\"format\": \"hbmstress-certificate\", \"version\": 1, \"list\": null, \"claim\": \"justified\",\n"
        "\"device\": {\"capacity\": %d, \"granule\": 1},\n"
        "\"contract\": {\"defrag\": \"repack\", \"drains\": true, \"evicts\": true, \"program_evicts_program\": "
        "true},\n"
        "\"refused\": {\"copy\": false, \"wait\": false, \"unload\": false, \"host_memory\": false},\n"
        "\"request\": {\"class\": \"buffer\", \"bytes\": %d, \"align\": %d, \"stack\": 0, \"program\": -1},\n"
        "\"blocks\": [",
        capacity, bytes, align);
}

static enum certificate_result check_proof(const struct packing *packing, const char *proof)
{
    const int last = packing->span_count - 1;
    begin_document(packing->start[last] + packing->length[last] + 1, packing->size[0],
                   packing->align[0]);
    append_blocks(packing);
    append("],\n\"proof\": %s}", proof);
    return certificate_check(text, text_length, reason);
}

/* --- The walk: it writes the letters of the whole tree, as docs/certificate.md has it --- */

struct type {
    int size, align, count;
};

/* Where `f` is true the walk tosses a coin for going on. */
struct walk {
    bool is_plain, has_found;
    int span_count, type_count, left;
    int start[SPAN_MAX], end[SPAN_MAX]; /* in the order of the walk */
    struct type types[ITEM_MAX];
    char log[LOG_BYTES];
    int length;
};
struct node {
    int span, t, first, at, slack, passed, spare;
};

static void write_letter(struct walk *walk, char letter)
{
    walk->log[walk->length] = letter;
    walk->length += walk->length < LOG_BYTES - 1;
}

static int choose_least(int a, int b)
{
    return a < b ? a : b;
}

static bool may_come(const struct walk *walk, const struct node *node)
{
    const struct type *type = &walk->types[node->t];
    const int start = round_up(node->at, type->align);
    return type->count > 0 && (type->align > 1 || node->t >= node->first) &&
           start + type->size <= walk->end[node->span] && start - node->at <= node->slack;
}

static void walk_node(struct walk *walk, struct node node);

static void walk_children(struct walk *walk, struct node node)
{
    struct type *type = &walk->types[node.t];
    const int start = round_up(node.at, type->align), size = type->size;
    struct node placed = {.span = node.span, .at = start + size, .passed = node.passed};
    placed.first = type->align == 1 ? node.t : 0;
    placed.slack = placed.spare = node.slack - (start - node.at);
    if (walk->is_plain) {
        placed.spare = node.passed > 0 ? choose_least(node.spare, node.passed - size - 1)
                                       : node.spare;
    }
    type->count--;
    walk->left--;
    walk_node(walk, placed);
    type->count++;
    walk->left++;
    node.t++;
    node.passed = size;
    node.spare = walk->is_plain ? choose_least(node.spare, size - 1) : node.spare;
    walk_node(walk, node);
}

/* Where nothing is left to try although no letter is true, the log cannot be completed: only next
 * to a packing. */
static void walk_node(struct walk *walk, struct node node)
{
    while (node.t < walk->type_count && !may_come(walk, &node)) {
        node.t++;
    }
    const bool has_type = node.t < walk->type_count;
    const int room = walk->end[node.span] - node.at;
    int sum = 0;
    for (int t = node.t; t < walk->type_count; t++) {
        sum += walk->types[t].size * walk->types[t].count;
    }
    const bool may_end = room > node.spare && room - node.spare > sum &&
                         (walk->is_plain || !has_type);
    if (walk->left == 0) {
        walk->has_found = true;
    } else if (may_end && (!has_type || random_below(4) > 0)) {
        write_letter(walk, 'f');
    } else if (has_type) {
        write_letter(walk, 'b');
        walk_children(walk, node);
    } else {
        ck_assert(room <= node.spare && node.span + 1 < walk->span_count);
        write_letter(walk, 'c');
        const int slack = node.slack - room;
        walk_node(walk, (struct node){.span = node.span + 1,
                                      .at = walk->start[node.span + 1],
                                      .slack = slack,
                                      .spare = slack});
    }
}

/* By size descending, then align ascending. */
static void add_item(struct walk *walk, int size, int align)
{
    int t = 0;
    while (t < walk->type_count && (walk->types[t].size > size || (walk->types[t].size == size &&
                                                                   walk->types[t].align < align))) {
        t++;
    }
    if (t == walk->type_count || walk->types[t].size != size || walk->types[t].align != align) {
        memmove(&walk->types[t + 1], &walk->types[t],
                (size_t)(walk->type_count++ - t) * sizeof *walk->types);
        walk->types[t] = (struct type){.size = size, .align = align};
    }
    walk->types[t].count++;
    walk->left++;
}

/* By length ascending, of equal ones the higher address first: spans come by address ascending. */
static void add_span(struct walk *walk, int start, int length)
{
    int i = walk->span_count++;
    for (; i > 0 && walk->end[i - 1] - walk->start[i - 1] >= length; i--) {
        walk->start[i] = walk->start[i - 1];
        walk->end[i] = walk->end[i - 1];
    }
    walk->start[i] = start;
    walk->end[i] = start + length;
}

/* How many sets its items have. */
static int begin_walk(struct walk *walk, const struct packing *packing, bool is_plain)
{
    int code_count = 1;
    *walk = (struct walk){.is_plain = is_plain};
    for (int item = 0; item < packing->item_count; item++) {
        add_item(walk, packing->size[item], is_plain ? 1 : packing->align[item]);
    }
    for (int span = 0; span < packing->span_count; span++) {
        add_span(walk, packing->start[span], packing->length[span]);
    }
    for (int t = 0; t < walk->type_count; t++) {
        code_count *= walk->types[t].count + 1;
    }
    return code_count;
}

static void write_log(struct walk *walk, const struct packing *packing, bool is_plain)
{
    begin_walk(walk, packing, is_plain);
    walk_node(walk, (struct node){
                        .at = walk->start[0], .slack = packing->slack, .spare = packing->slack});
}

/* --- The tests --- */

static enum certificate_result check_log(const struct packing *packing, bool is_plain,
                                         const char *log)
{
    static char proof[LOG_BYTES + 64];
    snprintf(proof, sizeof proof,
             "{\"kind\": \"search\", \"least\": 0, \"plain\": %s, \"log\": \"%s\"}",
             is_plain ? "true" : "false", log);
    return check_proof(packing, proof);
}

/* What the search is about: without alignments when it is plain. */
static bool is_packable(const struct packing *packing, bool is_plain)
{
    struct packing asked = *packing;
    for (int item = 0; is_plain && item < packing->item_count; item++) {
        asked.align[item] = 1;
    }
    return can_pack(&asked);
}

/* One letter is changed, added or left out. */
static void spoil_log(struct walk *walk)
{
    const int at = random_below(walk->length), way = random_below(3);
    if (way == 0) {
        memmove(walk->log + at, walk->log + at + 1, (size_t)(walk->length - at));
    } else if (way == 1) {
        memmove(walk->log + at + 1, walk->log + at, (size_t)(walk->length - at) + 1);
    }
    if (way > 0) {
        walk->log[at] = "bcf"[random_below(3)];
    }
}

EVERY_TEST(.timeout_s = 60);

TEST(a_whole_log_is_accepted_and_no_log_when_there_is_a_packing, .to = 4)
{
    static struct walk walk, spoiled;
    const bool is_plain = _i % 2 == 1, is_aligned = _i / 2 == 1;
    int accepted = 0, packable = 0;
    random_state = (uint64_t)_i + 1;
    for (uint64_t round = 0; round < draws_count(ROUND_COUNT, 1); round++) {
        const struct packing packing = make_packing(is_aligned, is_aligned ? 6 : ITEM_MAX,
                                                    is_aligned ? 13 : 14);
        if (packing.slack < 0) {
            continue;
        }
        write_log(&walk, &packing, is_plain);
        if (walk.length > LOG_BYTES - 8) {
            continue;
        }
        const bool has_packing = is_packable(&packing, is_plain);
        ck_assert_int_eq(walk.has_found, has_packing);
        const enum certificate_result result = check_log(&packing, is_plain, walk.log);
        ck_assert_msg(result == (has_packing ? CERTIFICATE_REFUTED : CERTIFICATE_VALID),
                      "%s\n%.2000s", reason, text);
        packable += has_packing;
        accepted += !has_packing;
        for (int i = 0; i < 6 && walk.length > 0; i++) {
            spoiled = walk;
            spoil_log(&spoiled);
            const bool is_accepted = check_log(&packing, is_plain, spoiled.log) ==
                                     CERTIFICATE_VALID;
            ck_assert_msg(!is_accepted || !has_packing, "%s\n%.2000s", reason, text);
            /* A log without its end is not accepted, whatever there is. */
            spoiled = walk;
            spoiled.log[random_below(walk.length)] = '\0';
            ck_assert_int_eq(check_log(&packing, is_plain, spoiled.log), CERTIFICATE_REFUTED);
        }
    }
    ck_assert_int_gt(accepted, 10);
    ck_assert_int_gt(packable, 10);
}

/* All strings of five letters and less. */
TEST(no_short_log_at_all_is_accepted_when_there_is_a_packing, .to = 2)
{
    random_state = 5;
    for (int round = 0, tried = 0; tried < 12 && round < 1000; round++) {
        const struct packing packing = make_packing(_i == 0, 4, 8);
        if (!is_packable(&packing, _i == 1)) {
            continue;
        }
        tried++;
        for (int code = 0; code < 4 * 4 * 4 * 4 * 4; code++) {
            char log[8] = "";
            for (int rest = code, length = 0; rest > 0; rest /= 4) {
                if (rest % 4 > 0) {
                    log[length++] = "bcf"[rest % 4 - 1];
                }
            }
            ck_assert_int_eq(check_log(&packing, _i == 1, log), CERTIFICATE_REFUTED);
        }
    }
}

/* Spans of 5 and 7 and three items of 4: by hand. */
static const struct packing three_fours = {.span_count = 2,
                                           .item_count = 3,
                                           .start = {0, 8},
                                           .length = {7, 5},
                                           .size = {4, 4, 4},
                                           .align = {1, 1, 1},
                                           .address = {0, 0, 8}};

/* Blocks of two bytes, which fill the device but for the request's two: the walk goes down to the
 * last item. */
TEST(a_walk_of_8192_items_is_no_deeper_than_the_stack)
{
    static char log[8192 + 2];
    for (int extra = 0; extra < 2; extra++) {
        memset(log, 'b', 8192);
        begin_document(2 * (8192 + extra), 2, 1);
        for (int i = 0; i < 8191 + extra; i++) {
            append_block(i, 2 * i, 2, 1, 0);
        }
        append(
            "],\n\"proof\": {\"kind\": \"search\", \"least\": 0, \"plain\": true, \"log\": \"%s\"}}",
            log);
        ck_assert_int_eq(certificate_check(text, text_length, reason), CERTIFICATE_REFUTED);
        ck_assert_ptr_nonnull(
            strstr(reason, extra == 0 ? "log[8192]: the log ends" : "too many items"));
    }
}

/* --- Tables --- */

/* All sets of at most ITEM_MAX items, by code: the least lost, or NOT_REACHED. */
enum { CODE_MAX = 1 << ITEM_MAX, NOT_REACHED = -1 };
static int lost_by_code[CODE_MAX];

static void reach_code(int code, int lost)
{
    if (lost_by_code[code] == NOT_REACHED || lost < lost_by_code[code]) {
        lost_by_code[code] = lost;
    }
}

static void follow_code(const struct walk *walk, int code, int slack)
{
    int lost = lost_by_code[code], place = lost, span = 0, rest = code;
    for (int t = 0; t < walk->type_count; t++) {
        place += walk->types[t].size * (rest % (walk->types[t].count + 1));
        rest /= walk->types[t].count + 1;
    }
    while (span + 1 < walk->span_count && place >= walk->end[span] - walk->start[span]) {
        place -= walk->end[span] - walk->start[span];
        span++;
    }
    for (int at = walk->start[span] + place; lost <= slack && span < walk->span_count;
         lost += walk->end[span] - at, span++, at = walk->start[span]) {
        bool has_fitting = false;
        for (int t = 0, weight = 1; t < walk->type_count; weight *= walk->types[t].count + 1, t++) {
            const struct type *type = &walk->types[t];
            const int start = round_up(at, type->align);
            if (code / weight % (type->count + 1) < type->count &&
                start + type->size <= walk->end[span]) {
                has_fitting = true;
                if (lost + start - at <= slack) {
                    reach_code(code + weight, lost + start - at);
                }
            }
        }
        if (has_fitting || span + 1 == walk->span_count) {
            return;
        }
    }
}

/* How many sets are reached; sets has_found when that of all items is. */
static int count_sets(const struct packing *packing, bool *has_found)
{
    static struct walk walk;
    const int code_count = begin_walk(&walk, packing, false);
    int count = 0;
    for (int code = 0; code < code_count; code++) {
        lost_by_code[code] = NOT_REACHED;
    }
    lost_by_code[0] = 0;
    for (int code = 0; code < code_count; code++) {
        if (lost_by_code[code] != NOT_REACHED) {
            count++;
            follow_code(&walk, code, packing->slack);
        }
    }
    *has_found = lost_by_code[code_count - 1] != NOT_REACHED;
    return count;
}

static enum certificate_result check_sets(const struct packing *packing, const char *kind,
                                          int64_t sets)
{
    char proof[64];
    snprintf(proof, sizeof proof, "{\"kind\": \"%s\", \"sets\": %" PRId64 "}", kind, sets);
    return check_proof(packing, proof);
}

/* A proof that is a number of sets. */
struct counted {
    const char *kind;
    int (*count)(const struct packing *packing, bool *has_found);
    int item_max;     /* without alignments; with them 6 */
    bool sees_aligns; /* else a packing may be found where there is none */
};

/* The right number is accepted, and no other one; no number is where there is a packing. */
static void expect_right_count_alone(const struct counted *proof, bool is_aligned)
{
    int accepted = 0, packable = 0;
    for (uint64_t round = 0; round < draws_count(ROUND_COUNT, 1); round++) {
        const struct packing packing = make_packing(is_aligned, is_aligned ? 6 : proof->item_max,
                                                    13);
        bool has_found = false;
        if (packing.slack < 0) {
            continue;
        }
        const bool has_packing = can_pack(&packing);
        const int count = proof->count(&packing, &has_found);
        ck_assert(is_aligned && !proof->sees_aligns ? has_found || !has_packing
                                                    : has_found == has_packing);
        for (int more = -1; more <= 1; more++) {
            const enum certificate_result result = check_sets(&packing, proof->kind, count + more);
            ck_assert_msg(result ==
                              (has_found || more != 0 ? CERTIFICATE_REFUTED : CERTIFICATE_VALID),
                          "%d of %d sets: %s\n%.2000s", count + more, count, reason, text);
        }
        for (int sets = 0; has_packing && sets < 40; sets++) {
            ck_assert_int_eq(check_sets(&packing, proof->kind, sets), CERTIFICATE_REFUTED);
        }
        packable += has_packing;
        accepted += !has_found;
    }
    ck_assert_int_gt(accepted, 10);
    ck_assert_int_gt(packable, 10);
}

TEST(a_table_is_accepted_with_its_number_of_sets_and_never_when_there_is_a_packing, .to = 2)
{
    static const struct counted table = {"table", count_sets, 7, true};
    random_state = 17 + (uint64_t)_i;
    expect_right_count_alone(&table, _i == 0);
}

/* Blocks of 64 sizes have 2^64 sets, more than there are numbers for. */
TEST(too_many_sets_are_refused, .to = 2)
{
    int at = 0;
    begin_document(4000, 1900, 1);
    for (int i = 0; i < 63; at += i + 1, i++) {
        append_block(i, at, i + 1, 1, 0);
    }
    append("],\n\"proof\": {\"kind\": \"%s\", \"sets\": 100}}", _i == 0 ? "table" : "patterns");
    ck_assert_int_eq(certificate_check(text, text_length, reason), CERTIFICATE_REFUTED);
    ck_assert_str_eq(reason, "proof: there are too many sets to number them");
}

/* --- Patterns --- */

/* How many sets are reached when the spans are filled, the shortest first, and all spans are not;
 * has_found: they are. */
static int count_pattern_sets(const struct packing *packing, bool *has_found)
{
    static struct walk walk;
    static bool is_reached[2][CODE_MAX];
    const int code_count = begin_walk(&walk, packing, true);
    int count = 1, filled = 0;
    memset(is_reached, 0, sizeof is_reached);
    is_reached[0][0] = *has_found = true;
    for (int span = 0; span < walk.span_count; span++) {
        const bool *before = is_reached[span % 2];
        bool *reached = is_reached[1 - span % 2];
        const int length = walk.end[span] - walk.start[span];
        filled += length;
        *has_found = false;
        for (int then = 0; then < code_count; then++) {
            reached[then] = false;
            for (int code = 0; code < code_count && !reached[then]; code++) {
                int placed = 0, sum = 0, weight = 1;
                bool has_all = before[code];
                for (int t = 0; t < walk.type_count; weight *= walk.types[t++].count + 1) {
                    const int had = code / weight % (walk.types[t].count + 1);
                    const int has = then / weight % (walk.types[t].count + 1);
                    has_all = has_all && has >= had;
                    placed += (has - had) * walk.types[t].size;
                    sum += has * walk.types[t].size;
                }
                reached[then] = has_all && placed <= length && filled - sum <= packing->slack;
            }
            count += reached[then];
            *has_found = *has_found || reached[then];
        }
    }
    return count;
}

TEST(patterns_are_accepted_with_their_number_of_sets_and_never_when_there_is_a_packing, .to = 2)
{
    static const struct counted patterns = {"patterns", count_pattern_sets, 6, false};
    random_state = 31 + (uint64_t)_i;
    expect_right_count_alone(&patterns, _i == 0);
}

/* The last step that is allowed is taken, and no other one. */
TEST(patterns_take_steps_up_to_a_limit)
{
    enum certificate_result result = CERTIFICATE_REFUTED;
    uint64_t steps_max = 0;
    struct packing packing = three_fours;
    bool has_found = true;
    int sets = 0;
    random_state = 31;
    while (has_found || packing.slack < 0 || sets < 3) {
        packing = make_packing(false, 6, 13);
        sets = count_pattern_sets(&packing, &has_found);
    }
    ck_assert_int_eq(check_sets(&packing, "patterns", sets), CERTIFICATE_VALID);
    while (result != CERTIFICATE_VALID) {
        ck_assert_uint_lt(steps_max, 10000);
        result = certificate_check_within(text, text_length, NULL, ++steps_max, reason);
        ck_assert_str_eq(reason, result == CERTIFICATE_VALID ? "justified, patterns"
                                                             : "proof: it takes too many steps");
    }
    ck_assert_uint_gt(steps_max, 2);
    ck_assert_int_eq(PATTERN_STEPS_MAX, 1 << 27); /* docs/certificate.md */
}

/* --- Fills --- */

static enum certificate_result check_fills(const struct packing *packing, int spans, int unit,
                                           int lost)
{
    char proof[128];
    snprintf(proof, sizeof proof,
             "{\"kind\": \"fills\", \"spans\": %d, \"unit\": %d, \"lost\": %d}", spans, unit, lost);
    return check_proof(packing, proof);
}

/* Bit i: some items have the sum i.  Only those of at most `longest`, which is less than 64. */
static uint64_t find_sums(const struct packing *packing, int longest)
{
    uint64_t sums = 1;
    for (int item = 0; item < packing->item_count; item++) {
        sums |= packing->size[item] <= longest ? sums << packing->size[item] : 0;
    }
    return sums;
}

/* What the shortest spans lose, so many of them; -1: an item that may be in one is no multiple of
 * the unit. */
static int find_lost(const struct packing *packing, int spans, int unit)
{
    static struct walk walk;
    int lost = 0;
    begin_walk(&walk, packing, true);
    const int longest = walk.end[spans - 1] - walk.start[spans - 1];
    for (int item = 0; item < packing->item_count; item++) {
        if (packing->size[item] <= longest && packing->size[item] % unit != 0) {
            return -1;
        }
    }
    for (int span = 0; span < spans; span++) {
        int sum = walk.end[span] - walk.start[span];
        for (; (find_sums(packing, longest) >> sum & 1) == 0; sum--) {
            lost++;
        }
    }
    return lost;
}

TEST(fills_are_accepted_with_what_they_lose_and_never_when_there_is_a_packing, .to = 2)
{
    int accepted = 0, packable = 0;
    random_state = 29 + (uint64_t)_i;
    for (uint64_t round = 0; round < draws_count(ROUND_COUNT, 1); round++) {
        const struct packing packing = make_packing(_i == 0, _i == 0 ? 6 : ITEM_MAX, 13);
        const bool has_packing = can_pack(&packing);
        packable += has_packing;
        for (int spans = 1; spans <= packing.span_count; spans++) {
            for (int unit = 1; unit < 6; unit++) {
                const int lost = find_lost(&packing, spans, unit);
                for (int stated = 0; stated < lost + 3; stated++) {
                    const bool holds = stated == lost && lost > packing.slack;
                    const enum certificate_result result = check_fills(&packing, spans, unit,
                                                                       stated);
                    ck_assert_msg(result == (holds ? CERTIFICATE_VALID : CERTIFICATE_REFUTED),
                                  "%d spans, unit %d, %d of %d: %s\n%.2000s", spans, unit, stated,
                                  lost, reason, text);
                    ck_assert(!holds || !has_packing);
                    accepted += holds;
                }
            }
        }
    }
    ck_assert_int_gt(accepted, 100);
    ck_assert_int_gt(packable, 10);
}

/* Blocks of 1, 2, 3, ... bytes and the request, and the end of a device of 2^27 bytes: one pass for
 * each. */
TEST(sums_are_gone_through_up_to_a_limit)
{
    enum { PASSES_MAX = 1 << 8 };
    for (int extra = 0; extra < 2; extra++) {
        int at = 0;
        begin_document((1 << 27) - 1, 1000, 1);
        for (int i = 1; i < PASSES_MAX + extra; at += i, i++) {
            append_block(i - 1, at, i, 1, 0);
        }
        append("],\n\"proof\": {\"kind\": \"fills\", \"spans\": 1, \"unit\": 1, \"lost\": 0}}");
        ck_assert_int_eq(certificate_check(text, text_length, reason), CERTIFICATE_REFUTED);
        ck_assert_ptr_nonnull(
            strstr(reason, extra == 0 ? "the spans lose" : "there are too many sums"));
    }
}

TEST(rounding_is_never_accepted_when_there_is_a_packing)
{
    int accepted = 0;
    random_state = 13;
    for (uint64_t round = 0; round < draws_count(ROUND_COUNT, 1); round++) {
        const struct packing packing = make_packing(false, ITEM_MAX, 14);
        for (int unit = 1; unit < 9; unit++) {
            int need = 0, have = 0;
            char proof[128];
            for (int item = 0; item < packing.item_count; item++) {
                need += packing.size[item] / unit;
            }
            for (int span = 0; span < packing.span_count; span++) {
                have += packing.length[span] / unit;
            }
            snprintf(proof, sizeof proof,
                     "{\"kind\": \"rounding\", \"unit\": %d, \"need\": %d, \"have\": %d}", unit,
                     need, have);
            const enum certificate_result result = check_proof(&packing, proof);
            ck_assert_int_eq(result, need > have ? CERTIFICATE_VALID : CERTIFICATE_REFUTED);
            ck_assert(result == CERTIFICATE_REFUTED || !can_pack(&packing));
            accepted += result == CERTIFICATE_VALID;
        }
    }
    ck_assert_int_gt(accepted, 10);
}
