/* The independent checker: each rule of docs/certificate.md accepts what it allows and names what
 * breaks it. */
#include "tests/checker/document.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char changed[DOCUMENT_BYTES];

/* --- The document --- */

/* Three blocks of 4 for spans of 5 and 7. */
#define FOURS(proof_text)                                             \
    .device = "{'capacity': 13, 'granule': 1}", .request = BUFFER(4), \
    .blocks = LIVE(0, 4) "," HELD(7, 1) "," LIVE(8, 4), .proof = proof_text

/* One good document for each kind of proof, to be spoiled. */
static const struct document good[] = {
    {.contract = CONTRACT(none),
     .request = BUFFER(40),
     .blocks = LIVE(0, 10) "," HELD(20, 20) "," DYING(60, 10, 1, 0) "," IMAGE(90, 10, 0, -1),
     .proof = SPANS},
    {.claim = "premature",
     .request = BUFFER(60),
     .blocks = LIVE(0, 10) "," DYING(20, 10, 0, 5) "," LIVE(50, 20) "," IMAGE(80, 10, 0, 0),
     .proof = PLAN(5, "3", MOVE(2, 50, -1, 20) "," MOVE(0, 0, 80, 10) "," MOVE(2, -1, 60, 20), 0)},
    {.request = PROGRAM(10, 20), .blocks = HELD(19, 1), .proof = STACK},
    {.request = BUFFER(101), .proof = ROUNDING(1, 101, 100)},
    {FOURS(SEARCH(true, "bff"))},
    {OPEN_QUESTION(BUDGET(9, 20, 20))},
};
enum { GOOD_COUNT = sizeof good / sizeof *good };

TEST(a_good_document_is_valid_and_its_claim_is_named)
{
    document_expect(good[0], CERTIFICATE_VALID, "justified, spans");
    document_expect(good[1], CERTIFICATE_VALID, "premature, plan");
    document_expect(good[2], CERTIFICATE_VALID, "justified, stack");
    document_expect(good[3], CERTIFICATE_VALID, "justified, rounding");
    document_expect(good[4], CERTIFICATE_VALID, "justified, search");
    document_expect(good[5], CERTIFICATE_VALID, "unknown, budget");
    accepts(.request = BUFFER(101), .proof = ROUNDING(1, 101, 100),
            .more = ", 'about': {'op': 31, 'reason': [1.5, null, {'x': -3}]}");
}

/* Puts new where the length letters at `at` were. */
static void replace_part(char *at, size_t length, const char *new)
{
    const int length_after = snprintf(changed, sizeof changed, "%.*s%s%s",
                                      (int)(at - document_text), document_text, new, at + length);
    ck_assert_int_lt(length_after, (int)sizeof changed);
    memcpy(document_text, changed, strlen(changed) + 1);
    document_quote(document_text);
}

static size_t member_length(const char *at)
{
    const size_t name = *at == '"' ? 1 + strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_") : 0;
    return name > 0 && strncmp(at + name, "\": ", 3) == 0 ? name + 3 : 0;
}

TEST(every_member_is_required_and_of_one_type_and_no_other_is_allowed, .to = GOOD_COUNT)
{
    static const char *const others[] = {"null", "1.5", "[]", "{}", "1e99", "99999999999999999999"};
    document_write(good[_i]);
    const size_t length = strlen(document_text);
    for (size_t at = 0; at < length; at++, document_write(good[_i])) {
        const size_t name = member_length(document_text + at);
        if (name == 0) {
            continue;
        }
        replace_part(document_text + at + name - 3, 0, "x");
        document_expect_text(CERTIFICATE_UNREADABLE, "a member is missing");
        document_write(good[_i]);
        replace_part(document_text + at, 0, "'more': 0, ");
        document_expect_text(CERTIFICATE_UNREADABLE, "unknown");
        document_write(good[_i]);
        const bool is_scalar = strchr("{[", document_text[at + name]) == NULL;
        const bool is_null = document_text[at + name] == 'n'; /* the list, which may be so */
        for (size_t i = is_null ? 1 : 0; is_scalar && i < sizeof others / sizeof *others;
             i++, document_write(good[_i])) {
            replace_part(document_text + at + name, strcspn(document_text + at + name, ",}"),
                         others[i]);
            document_expect_text(CERTIFICATE_UNREADABLE, "");
        }
    }
}

TEST(extreme_numbers_do_no_harm, .to = GOOD_COUNT)
{
    static const char *const numbers[] = {"-9223372036854775808",
                                          "-9223372036854775807",
                                          "-2",
                                          "-1",
                                          "0",
                                          "1",
                                          "5",
                                          "1073741824",
                                          "2147483648",
                                          "1125899906842624",
                                          "1125899906842625",
                                          "4611686018427387904",
                                          "4611686018427387905",
                                          "9223372036854775806",
                                          "9223372036854775807"};
    enum { NUMBER_COUNT = sizeof numbers / sizeof *numbers };
    document_write(good[_i]);
    for (size_t at = 0, length = strlen(document_text); at < length; at++) {
        const size_t name = member_length(document_text + at);
        if (name == 0 || strchr("-0123456789", document_text[at + name]) == NULL) {
            continue;
        }
        for (size_t i = 0; i < NUMBER_COUNT; i++, document_write(good[_i])) {
            replace_part(document_text + at + name,
                         strspn(document_text + at + name, "-0123456789"),
                         numbers[i % NUMBER_COUNT]);
            ck_assert_int_ne(document_check(), CERTIFICATE_UNREADABLE);
        }
    }
}

/* Replaces the first `old` in the first good document. */
static void expect_spoilt_refuted(const char *old, const char *new, const char *part_of_reason)
{
    char from[128];
    snprintf(from, sizeof from, "%s", old);
    document_quote(from);
    document_write(good[0]);
    char *found = strstr(document_text, from);
    ck_assert_msg(found != NULL, "%s is not in %s", from, document_text);
    replace_part(found, strlen(from), new);
    document_expect_text(CERTIFICATE_REFUTED, part_of_reason);
}

TEST(what_is_out_of_its_range_is_refuted)
{
    expect_spoilt_refuted("'hbmstress-certificate'", "'other'", "format");
    expect_spoilt_refuted("'version': 1", "'version': 4", "version");
    expect_spoilt_refuted("'claim': 'justified'", "'claim': 'JUSTIFIED'", "claim");
    expect_spoilt_refuted("'claim': 'justified'", "'claim': 'unknown'", "not prove this claim");
    expect_spoilt_refuted("'claim': 'justified'", "'claim': 'premature'", "not prove this claim");
    expect_spoilt_refuted("'defrag': 'none'", "'defrag': 'any'", "contract.defrag");
    expect_spoilt_refuted("'class': 'buffer'", "'class': 'output'", "request.class");
    expect_spoilt_refuted("'kind': 'output'", "'kind': 'outputs'", "blocks[1]");
    expect_spoilt_refuted("'state': 'dying'", "'state': 'dead'", "blocks[2]");
    expect_spoilt_refuted("'kind': 'spans'", "'kind': 'span'", "proof.kind");
    expect_spoilt_refuted("'kind': 'spans'", "'kind': 'spans|'", "proof.kind");
    expect_spoilt_refuted("'capacity': 100", "'capacity': 0", "device");
    expect_spoilt_refuted("'capacity': 100", "'capacity': 1125899906842625", "device");
    expect_spoilt_refuted("'granule': 1", "'granule': 0", "device");
    expect_spoilt_refuted("'granule': 1", "'granule': -1", "device");
    expect_spoilt_refuted("'granule': 1", "'granule': 3", "device");
    expect_spoilt_refuted("'granule': 1", "'granule': 8", "device");
    expect_spoilt_refuted("'granule': 1", "'granule': 2147483648", "device");
    expect_spoilt_refuted("'bytes': 40", "'bytes': 0", "request");
    expect_spoilt_refuted("'bytes': 40", "'bytes': 4611686018427387905", "request");
    expect_spoilt_refuted("'align': 1, 'stack': 0, 'program'", "'align': 3, 'stack': 0, 'program'",
                          "request");
    expect_spoilt_refuted("'align': 1, 'stack': 0, 'program'",
                          "'align': 2147483648, 'stack': 0, 'program'", "request");
    expect_spoilt_refuted("'align': 1, 'stack': 0, 'program'", "'align': 1, 'stack': 1, 'program'",
                          "request");
    expect_spoilt_refuted("'program': -1", "'program': -2", "request");
    expect_spoilt_refuted("'program': -1", "'program': 4", "request");
    expect_spoilt_refuted("'address': 20", "'address': 9", "blocks[1]");
    expect_spoilt_refuted("'address': 0, 'size': 10, 'align': 1",
                          "'address': 6, 'size': 4, 'align': 4", "blocks[0]");
    expect_spoilt_refuted("'address': 20, 'size': 20, 'align': 1",
                          "'address': 18, 'size': 18, 'align': 6", "blocks[1]");
    expect_spoilt_refuted("'address': 90, 'size': 10", "'address': 90, 'size': 11", "blocks[3]");
    expect_spoilt_refuted("'size': 10", "'size': 0", "blocks[0]");
    expect_spoilt_refuted("'align': 1, 'stack': 0, 'holds': 0",
                          "'align': 0, 'stack': 0, 'holds': 0", "blocks[0]");
    expect_spoilt_refuted("'align': 1, 'stack': 0, 'holds': 0",
                          "'align': 1, 'stack': 1, 'holds': 0", "blocks[0]");
    expect_spoilt_refuted("'holds': 0", "'holds': -1", "blocks[0]");
    expect_spoilt_refuted("'used_until': 0", "'used_until': -2", "blocks[0]");
    expect_spoilt_refuted("'freed_at': 0", "'freed_at': 1", "blocks[0]");
    expect_spoilt_refuted("'freed_at': 0", "'freed_at': -1", "blocks[0]");
    const char *granules = "{'capacity': 1024, 'granule': 512}",
               *request = REQUEST(program, 1, 512, 512, -1);
    refutes("request", .device = granules, .request = REQUEST(buffer, 9, 256, 0, -1),
            .proof = SPANS);
    refutes("request", .device = granules, .request = REQUEST(program, 0, 512, 511, -1),
            .proof = SPANS);
    refutes("blocks[0]", .device = granules, .request = request, .blocks = LIVE(0, 512),
            .proof = SPANS);
    refutes("blocks[0]", .device = granules, .request = request,
            .blocks = LIVE_ALIGNED(0, 513, 512), .proof = SPANS);
    refutes("blocks[0]", .device = granules, .request = request,
            .blocks = BLOCK(program, live, 0, 512, 512, 511, 0, 0, 0), .proof = SPANS);
}

TEST(what_is_cut_off_is_unreadable, .to = GOOD_COUNT)
{
    document_write(good[_i]);
    const size_t length = strlen(document_text) - 1; /* all but the last end of line */
    for (size_t i = 0; i < length; i++) {
        char *copy = malloc(i + 1);
        memcpy(copy, document_text, i);
        ck_assert_int_eq(certificate_check(copy, i, document_reason), CERTIFICATE_UNREADABLE);
        free(copy);
    }
    ck_assert_int_eq(certificate_check(document_text, length, document_reason), CERTIFICATE_VALID);
}

static uint64_t random_below(uint64_t bound)
{
    static uint64_t random_state = 1;
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (random_state >> 33) % bound;
}

TEST(changed_bytes_never_crash_and_leave_one_printable_line, .to = GOOD_COUNT)
{
    for (int round = 0; round < 2000; round++) {
        document_write(good[_i]);
        const size_t length = strlen(document_text);
        for (uint64_t count = 1 + random_below(3); count > 0; count--) {
            document_text[random_below(length)] = (char)(1 + random_below(255));
        }
        document_check();
    }
}

TEST(a_document_with_a_nul_is_unreadable, .to = GOOD_COUNT)
{
    document_write(good[_i]);
    const size_t length = strlen(document_text);
    for (char *at = document_text; at < document_text + length; at++) {
        char *copy = malloc(length + 1);
        const size_t before = (size_t)(at - document_text);
        memcpy(copy, document_text, before);
        copy[before] = '\0';
        memcpy(copy + before + 1, at, length - before);
        ck_assert_int_eq(certificate_check(copy, length + 1, document_reason),
                         CERTIFICATE_UNREADABLE);
        free(copy);
    }
}

TEST(what_is_no_document_is_unreadable)
{
    static const char *const texts[] = {
        "", " ", "null", "[]", "{}", "7", "\"x\"", "[[[[", "{\"format\": 1}", "\xff\xfe", "{}\n{}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ck_assert_int_eq(certificate_check(texts[i], strlen(texts[i]), document_reason),
                         CERTIFICATE_UNREADABLE);
    }
    ck_assert_int_eq(certificate_check("\0", 1, document_reason), CERTIFICATE_UNREADABLE);
    ck_assert_int_eq(certificate_check("{\n \"a\": 1\0}", 11, document_reason),
                     CERTIFICATE_UNREADABLE);
    ck_assert_str_eq(document_reason, "line 2, column 7: this is not JSON");
    memset(document_text, '[', sizeof document_text);
    ck_assert_int_eq(certificate_check(document_text, sizeof document_text, document_reason),
                     CERTIFICATE_UNREADABLE);
    rejects("blocks[0]", .blocks = "[]", .proof = SPANS);
    rejects("blocks[0]", .blocks = "{'line\\n\\u001bbreak': 1}", .proof = SPANS);
    rejects("proof", .proof = "[]");
    rejects("proof", .proof = "null");
    rejects("certificate", .device = "[]", .proof = SPANS);
    rejects("line 1", .claim = "justified', 'claim': 'justified", .proof = SPANS);
    rejects("line 7", .request = BUFFER(101), .proof = SPANS,
            .more = ", 'about': {'x': 1, 'x': 1}");
}

TEST(a_search_needs_a_span_and_slack)
{
    static const char table[] = "{'kind': 'table', 'sets': 1}";
    refutes("no span, no slack", .request = RUN(1, 0),
            .blocks = HELD(0, 90) "," IMAGE(90, 10, 0, -1), .proof = SEARCH(true, "f"));
    refutes("no span, no slack", .request = RUN(1, 0),
            .blocks = HELD(0, 90) "," IMAGE(90, 10, 0, -1), .proof = table);
    refutes("no span, no slack", .request = BUFFER(101), .proof = SEARCH(true, "f"));
    refutes("no span, no slack", .request = BUFFER(101), .proof = table);
}

TEST(only_items_below_the_least_are_left_out)
{
    accepts(FOURS("{'kind': 'search', 'least': 4, 'plain': true, 'log': 'bff'}"));
    refutes("log[0]", FOURS("{'kind': 'search', 'least': 5, 'plain': true, 'log': 'bff'}"));
}

TEST(blocks_are_an_array)
{
    document_write(good[3]);
    replace_part(strstr(document_text, "[]"), 2, "{}");
    document_expect_text(CERTIFICATE_UNREADABLE, "blocks: this is not an array");
}

TEST(a_proof_has_the_members_of_its_own_kind_alone)
{
    rejects("proof", .request = BUFFER(101),
            .proof = "{'kind': 'rounding', 'nodes': 1, 'need': 101, 'have': 100}");
    rejects("proof", .request = BUFFER(101),
            .proof = "{'kind': 'rounding', 'unit': 1, 'need': 101, 'have': 100, 'log': ''}");
    rejects("proof", .claim = "unknown",
            .proof = "{'kind': 'budget', 'unit': 7, 'need': 1, 'have': 14}");
    rejects("proof", .request = PROGRAM(1, 101), .proof = "{'kind': 'stack', 'log': 'f'}");
    rejects("proof", FOURS("{'kind': 'search', 'log': 'bff'}"));
    rejects("proof", .claim = "premature", .request = PROGRAM(1, 0),
            .proof = "{'kind': 'plan', 'until': 0, 'evict': [], 'moves': []}");
}

/* --- The state that decides: under `none` the largest span shows it --- */

/* What the heap takes is exactly that many bytes. */
static void expect_bytes_taken(struct document document, const char *class, int stack, int program,
                               int bytes)
{
    for (int more = 0; more < 2; more++) {
        char request[128];
        snprintf(request, sizeof request,
                 "{'class': '%s', 'bytes': %d, 'align': 1, 'stack': %d, 'program': %d}", class,
                 bytes + more, stack, program);
        document.request = request;
        document.contract = document.contract == NULL ? CONTRACT(none) : document.contract;
        document.proof = SPANS;
        document_expect(document, more == 1 ? CERTIFICATE_VALID : CERTIFICATE_REFUTED,
                        more == 1 ? "" : "the request fits");
    }
}
#define heap_takes(bytes, ...) \
    expect_bytes_taken((struct document){__VA_ARGS__}, "buffer", 0, -1, bytes)
#define program_takes(bytes, stack, program, ...) \
    expect_bytes_taken((struct document){__VA_ARGS__}, "program", stack, program, bytes)

TEST(queued_frees_without_references_go_when_the_contract_drains)
{
    const char *blocks = DYING(0, 30, 0, 7) "," HELD(40, 60);
    heap_takes(40, .blocks = blocks);
    heap_takes(10, .blocks = blocks, .refused = NO_WAIT);
    heap_takes(10, .blocks = blocks, .refused = NO_HOST_MEMORY);
    heap_takes(40, .blocks = blocks, .refused = REFUSED(true, false, true, false));
    heap_takes(10, .blocks = blocks, .contract = PROMISE(none, false, true, true));
    heap_takes(10, .blocks = DYING(0, 30, 1, 7) "," HELD(40, 60));
    heap_takes(10, .blocks = DYING(0, 30, 0, -1) "," HELD(40, 60));
    /* The latest time that a document can name is a time all the same. */
    heap_takes(40, .blocks = DYING(0, 30, 0, 9223372036854775807) "," HELD(40, 60));
}

/* Two programs that execute until 7 and 8 go when a queued free ends then or later. */
#define TWO_USES(dying) \
    IMAGE(0, 10, 0, 7) "," IMAGE(10, 10, 0, 8) "," HELD(20, 50) "," dying "," HELD(72, 28)

TEST(uses_end_by_the_time_of_the_last_queued_free)
{
    heap_takes(2, .blocks = TWO_USES(DYING(70, 1, 0, 6)));
    heap_takes(10, .blocks = TWO_USES(DYING(70, 1, 0, 7)));
    heap_takes(20, .blocks = TWO_USES(DYING(70, 1, 0, 8)));
    heap_takes(1, .blocks = TWO_USES(DYING(70, 1, 1, 8)));
    heap_takes(1, .blocks = TWO_USES(DYING(70, 1, 0, -1)));
    heap_takes(11, .blocks = IMAGE(0, 10, 0, -1) "," IMAGE(10, 10, 0, 8) "," DYING(
                       20, 1, 0, 8) "," HELD(21, 79));
}

TEST(idle_programs_go_for_buffers_and_only_as_promised_for_programs)
{
    const char *blocks = IMAGE(0, 30, 5, 0) "," HELD(40, 60),
               *programs_too = PROMISE(none, true, false, true);
    heap_takes(40, .blocks = blocks);
    heap_takes(10, .blocks = blocks, .contract = programs_too);
    heap_takes(10, .blocks = blocks, .refused = NO_UNLOAD);
    heap_takes(10, .blocks = blocks, .refused = NO_HOST_MEMORY);
    program_takes(10, 0, -1, .blocks = blocks);
    program_takes(40, 0, -1, .blocks = blocks, .contract = programs_too);
    /* A program that is executed stays where it is, in the way of its own stack; one that is loaded
     * is no block yet. */
    accepts(.blocks = blocks, .contract = programs_too, .request = REQUEST(program, 0, 1, 5, 0),
            .proof = STACK);
    refutes("the stack fits", .blocks = blocks, .contract = programs_too,
            .request = REQUEST(program, 1, 1, 5, -1), .proof = STACK);
    refutes("request", .blocks = blocks, .contract = programs_too,
            .request = REQUEST(program, 41, 1, 0, 0), .proof = SPANS);
    refutes("request", .blocks = blocks, .request = REQUEST(buffer, 41, 1, 0, 0), .proof = SPANS);
    heap_takes(5, .blocks = IMAGE(10, 30, 5, 3) "," HELD(
                      40, 60)); /* busy: it stays, and its stack is reserved */
    heap_takes(10, .blocks = BLOCK(program, dying, 10, 30, 1, 0, 0, -1, -1) "," HELD(40, 60));
}

TEST(bottom_is_the_larger_of_the_stacks_of_the_request_and_of_busy_programs)
{
    const char *dying = BLOCK(program, dying, 90, 10, 1, 30, 0, -1, -1);
    heap_takes(60, .blocks = dying);
    program_takes(60, 20, -1, .blocks = dying);
    program_takes(40, 50, -1, .blocks = dying);
    heap_takes(40, .blocks = IMAGE(80, 10, 40, -1) "," HELD(90, 10));
    heap_takes(80, .blocks = IMAGE(80, 10, 40, 0) "," HELD(90, 10),
               .refused = NO_UNLOAD); /* idle */
}

TEST(defrag_is_none_when_copies_or_host_memory_were_refused)
{
    const char *blocks = LIVE(10, 10), *repack = CONTRACT(repack);
    heap_takes(80, .blocks = blocks, .contract = repack, .refused = NO_COPY);
    heap_takes(80, .blocks = blocks, .contract = repack, .refused = NO_HOST_MEMORY);
    heap_takes(90, .blocks = blocks, .contract = CONTRACT(slide),
               .refused = REFUSED(false, true, true, false));
    refutes("not match the contract", .blocks = blocks, .request = BUFFER(91), .proof = SPANS);
    refutes("not match the contract", .blocks = blocks, .request = BUFFER(91), .refused = NO_COPY,
            .proof = ROUNDING(1, 101, 100));
}

/* --- Justified --- */

TEST(stack_is_a_fixed_block_or_the_end_of_the_device_below_bottom)
{
    const char *request = PROGRAM(10, 20);
    accepts(.request = request, .blocks = HELD(19, 1), .proof = STACK);
    refutes("the stack fits", .request = request, .blocks = HELD(20, 1), .proof = STACK);
    refutes("the stack fits", .request = request, .blocks = LIVE(19, 1), .proof = STACK);
    accepts(.contract = CONTRACT(none), .request = request, .blocks = LIVE(19, 1), .proof = STACK);
    refutes("the stack fits", .request = request, .blocks = DYING(19, 1, 0, 3), .proof = STACK);
    accepts(.request = PROGRAM(1, 101), .proof = STACK);
    accepts(.request = PROGRAM(1, 4611686018427387904), .proof = STACK);
    refutes("the stack fits", .request = PROGRAM(1, 100), .proof = STACK);
    refutes("the stack fits", .request = request, .blocks = HELD(19, 1),
            .proof = ROUNDING(1, 10, 80));
    refutes("the stack fits", .request = request, .blocks = HELD(19, 1),
            .proof = SEARCH(true, "f"));
    refutes("the stack fits", .contract = CONTRACT(none), .request = request, .blocks = HELD(19, 1),
            .proof = SPANS);
    refutes("the stack fits", .claim = "unknown", .request = request, .blocks = HELD(19, 1),
            .proof = BUDGET(1, 10, 80));
    refutes("not prove this claim", .claim = "premature", .request = request, .blocks = HELD(19, 1),
            .proof = STACK);
}

#define SLIDES(capacity) \
    .device = "{'capacity': " #capacity ", 'granule': 1}", .contract = CONTRACT(slide)

TEST(spans_under_slide_count_what_their_blocks_leave)
{
    heap_takes(35, .contract = CONTRACT(slide),
               .blocks = LIVE(10, 10) "," LIVE(30, 10) "," HELD(50, 10) "," LIVE(70, 5));
    /* At a multiple of 8 there is only [8, 16). */
    accepts(SLIDES(16), .request = REQUEST(buffer, 9, 8, 0, -1),
            .blocks = HELD(0, 1) "," LIVE(1, 2), .proof = SPANS);
    refutes("fits before", SLIDES(16), .request = REQUEST(buffer, 8, 8, 0, -1),
            .blocks = HELD(0, 1) "," LIVE(1, 2), .proof = SPANS);
    heap_takes(12, SLIDES(24), .blocks = LIVE_ALIGNED(0, 4, 8) "," LIVE_ALIGNED(8, 4, 8));
    accepts(.contract = CONTRACT(none), .request = BUFFER(1), .blocks = HELD(0, 100),
            .proof = SPANS);
}

/* A loaded program, the last of the blocks, needs its stack. */
#define EXECUTES(index, stack, blocks_text) \
    .request = RUN(index, stack), .blocks = blocks_text IMAGE(90, 10, stack, 0)

TEST(spans_show_blocks_that_cannot_be_pushed_up_above_bottom)
{
#define TO_PUSH LIVE(0, 20) "," HELD(40, 10) ","
#define TO_PUSH_ALIGNED LIVE_ALIGNED(0, 20, 16) "," HELD(40, 10) ","
    accepts(SLIDES(100), EXECUTES(2, 21, TO_PUSH), .proof = SPANS);
    refutes("fits before", SLIDES(100), EXECUTES(2, 20, TO_PUSH), .proof = SPANS);
    accepts(SLIDES(100), EXECUTES(2, 40, TO_PUSH), .proof = SPANS);
    accepts(SLIDES(100), EXECUTES(2, 17, TO_PUSH_ALIGNED), .proof = SPANS);
    refutes("fits before", SLIDES(100), EXECUTES(2, 16, TO_PUSH_ALIGNED), .proof = SPANS);
    refutes("fits before", .contract = CONTRACT(none), EXECUTES(0, 90, ""), .proof = SPANS);
}

/* Spans of 50, 30; blocks of 20, 20, 20 and a request of 20: rounded to 20 they are 4 in 2 + 1. */
#define FOUR_TWENTIES LIVE(0, 20) "," LIVE(20, 20) "," HELD(50, 20) "," LIVE(70, 20)
#define TWENTIES(proof_text) .request = BUFFER(20), .blocks = FOUR_TWENTIES, .proof = proof_text

TEST(rounding_compares_all_items_with_all_spans_in_units)
{
    accepts(TWENTIES(ROUNDING(20, 4, 3)));
    accepts(TWENTIES(ROUNDING(17, 4, 3)));
    accepts(.request = BUFFER(20),
            .proof = ROUNDING(20, 4, 3), /* memory that went bad is held like a buffer */
            .blocks = LIVE(0, 20) "," LIVE(20, 20) "," BLOCK(retired, live, 50, 20, 1, 0, 1, 0,
                                                             0) "," LIVE(70, 20));
    refutes("need and have", TWENTIES(ROUNDING(10, 8, 8)));
    refutes("need and have", TWENTIES(ROUNDING(20, 5, 3)));
    refutes("need and have", TWENTIES(ROUNDING(20, 4, 2)));
    refutes("unit", TWENTIES(ROUNDING(0, 4, 3)));
    refutes("unit", TWENTIES(ROUNDING(-1, 4, 3)));
    refutes("unit", .device = "{'capacity': 4096, 'granule': 512}",
            .request = REQUEST(buffer, 1024, 512, 0, -1),
            .blocks = BLOCK(output, live, 512, 3072, 512, 0, 1, 0, 0),
            .proof = ROUNDING(1000, 1, 0));
    accepts(.device = "{'capacity': 1024, 'granule': 512}",
            .request = REQUEST(buffer, 513, 512, 0, -1),
            .blocks = BLOCK(output, live, 512, 512, 512, 0, 2, 0, 0), .proof = ROUNDING(512, 2, 1));
    refutes("need and have", EXECUTES(0, 10, ""), .proof = ROUNDING(1, 10, 90));
    /* What is larger than the device needs one granule more. */
    accepts(.request = BUFFER(4611686018427387904), .blocks = LIVE(0, 10),
            .proof = ROUNDING(1, 111, 100));
}

/* --- Premature --- */

#define HOLES LIVE(0, 10) "," HELD(20, 10) "," LIVE(50, 20)
#define PLANS(bytes, blocks_text, ...)                                     \
    .claim = "premature", .request = BUFFER(bytes), .blocks = blocks_text, \
    .proof = PLAN(__VA_ARGS__)

TEST(a_plan_puts_the_request_into_a_hole)
{
    const char *aligned = REQUEST(buffer, 10, 8, 0, -1);
    accepts(PLANS(10, HOLES, 0, "", "", 10));
    refutes("address: blocks[1]", PLANS(10, HOLES, 0, "", "", 11));
    refutes("address: blocks[0]", PLANS(10, HOLES, 0, "", "", 9));
    refutes("address: it is", PLANS(10, HOLES, 0, "", "", 91));
    refutes("address: it is", PLANS(10, HOLES, 0, "", "", -2));
    refutes("address: it is", PLANS(10, HOLES, 0, "", "", 9223372036854775807));
    refutes("address: ", PLANS(10, HOLES, 0, "", "", -1));
    refutes("address: it is", PLANS(101, "", 0, "", "", 0));
    refutes("address: it is", .claim = "premature", .request = aligned, .blocks = HOLES,
            .proof = PLAN(0, "", "", 73));
    accepts(.claim = "premature", .request = aligned, .blocks = HOLES,
            .proof = PLAN(0, "", "", 72));
    refutes("address: it is", .claim = "premature", .request = PROGRAM(10, 71),
            .blocks = HELD(90, 10), .proof = PLAN(0, "", "", 70));
    refutes("not prove this claim", .blocks = HOLES, .proof = PLAN(0, "", "", 10));
    rejects("evict: this is not an array", .claim = "premature",
            .proof = "{'kind': 'plan', 'until': 0, 'address': 0, 'evict': {}, 'moves': []}");
    rejects("moves: this is not an array", .claim = "premature",
            .proof = "{'kind': 'plan', 'until': 0, 'address': 0, 'evict': [], 'moves': null}");
}

TEST(a_plan_awaits_queued_frees)
{
#define TWO_FREES DYING(0, 50, 0, 5) "," DYING(50, 50, 0, 9)
    accepts(PLANS(50, TWO_FREES, 5, "", "", 0));
    accepts(PLANS(100, TWO_FREES, 9, "", "", 0));
    refutes("blocks[0]", PLANS(50, TWO_FREES, 4, "", "", 0));
    refutes("blocks[1]", PLANS(50, TWO_FREES, 8, "", "", 50));
    refutes("until is", PLANS(50, TWO_FREES, 10, "", "", 0));
    refutes("until is", PLANS(50, TWO_FREES, -1, "", "", 0));
    refutes("until is", PLANS(50, TWO_FREES, 5, "", "", 0), .refused = NO_WAIT);
    refutes("until is", PLANS(50, TWO_FREES, 5, "", "", 0),
            .contract = PROMISE(repack, false, true, true));
    refutes("blocks[0]", PLANS(50, DYING(0, 50, 1, 5) "," DYING(50, 50, 0, 9), 9, "", "", 0));
    refutes("blocks[0]", PLANS(50, DYING(0, 50, 0, -1) "," DYING(50, 50, 0, 9), 9, "", "", 0));
}

TEST(a_plan_evicts_idle_programs_that_may_go)
{
#define TWO_PROGRAMS IMAGE(0, 40, 0, 0) "," IMAGE(40, 30, 0, 7) "," DYING(70, 30, 0, 7)
    const char *idle = IMAGE(0, 40, 0, 0) "," HELD(40, 60),
               *programs_too = PROMISE(repack, true, false, true);
    accepts(PLANS(40, idle, 0, "0", "", 0));
    accepts(PLANS(100, TWO_PROGRAMS, 7, "1, 0", "", 0));
    refutes("evict[0]", PLANS(100, TWO_PROGRAMS, 6, "1, 0", "", 0));
    refutes("evict[1]", PLANS(100, TWO_PROGRAMS, 7, "0, 0", "", 0));
    refutes("evict[0]", PLANS(100, TWO_PROGRAMS, 7, "2", "", 0));
    refutes("evict[0]", PLANS(100, TWO_PROGRAMS, 7, "3", "", 0));
    refutes("evict[0]", PLANS(100, TWO_PROGRAMS, 7, "-1", "", 0));
    refutes("evict[0]", PLANS(10, LIVE(0, 40), 0, "0", "", 0));
    refutes("evict[0]", PLANS(40, idle, 0, "0", "", 0), .refused = NO_UNLOAD);
    refutes("evict[0]", PLANS(40, idle, 0, "0", "", 0), .contract = programs_too);
    refutes("evict[0]", PLANS(10, BLOCK(program, dying, 0, 9, 1, 0, 0, -1, -1), 0, "0", "", 9));
    refutes("evict[0]", .claim = "premature", .request = PROGRAM(40, 0), .blocks = idle,
            .proof = PLAN(0, "0", "", 0));
    accepts(.claim = "premature", .contract = programs_too, .request = PROGRAM(40, 0),
            .blocks = idle, .proof = PLAN(0, "0", "", 0));
    refutes("evict[0]", .claim = "premature", .contract = programs_too, .request = RUN(0, 0),
            .blocks = idle, .proof = PLAN(0, "0", "", -1));
    /* What is no integer names no block, not the first one. */
    rejects("evict", PLANS(40, idle, 0, "'0'", "", 0));
    rejects("evict", PLANS(40, idle, 0, "null", "", 0));
    rejects("evict", PLANS(40, idle, 0, "0.5", "", 0));
}

TEST(a_plan_moves_blocks_to_free_aligned_places)
{
    accepts(PLANS(40, HOLES, 0, "", MOVE(2, 50, 80, 20), 30));
    accepts(PLANS(40, HOLES, 0, "", MOVE(2, 50, 60, 20) "," MOVE(2, 60, 80, 20),
                  30)); /* ranges overlap */
    accepts(PLANS(40, HOLES, 0, "", MOVE(0, 0, 10, 10) "," MOVE(2, 50, 30, 20), 50));
    refutes("moves[0]: blocks[1]", PLANS(40, HOLES, 0, "", MOVE(2, 50, 29, 20), 30));
    refutes("moves[0]: it is", PLANS(40, HOLES, 0, "", MOVE(2, 50, 81, 20), 30));
    refutes("moves[0]: it is", PLANS(40, HOLES, 0, "", MOVE(2, 50, 9223372036854775807, 20), 30));
    refutes("moves[0]: it is", PLANS(40, HOLES, 0, "", MOVE(2, 50, -2, 20), 30));
    refutes("moves[0]: the block has another", PLANS(40, HOLES, 0, "", MOVE(2, 50, 80, 19), 30));
    refutes("moves[0]: the block has another", PLANS(40, HOLES, 0, "", MOVE(2, 51, 80, 20), 30));
    refutes("moves[0]: the block has another", PLANS(40, HOLES, 0, "", MOVE(2, -1, 80, 20), 30));
    refutes("moves[1]: the block has another",
            PLANS(40, HOLES, 0, "", MOVE(2, 50, 80, 20) "," MOVE(2, 50, 80, 20), 30));
    refutes("moves[0]: the block may not move", PLANS(10, HOLES, 0, "", MOVE(1, 20, 90, 10), 10));
    refutes("moves[0]: there is no", PLANS(10, HOLES, 0, "", MOVE(3, 20, 90, 10), 10));
    refutes("moves[0]: there is no", PLANS(10, HOLES, 0, "", MOVE(-1, 20, 90, 10), 10));
    refutes("may not move", PLANS(40, HOLES, 0, "", MOVE(2, 50, 80, 20), 30),
            .contract = CONTRACT(none));
    refutes("may not move", PLANS(40, HOLES, 0, "", MOVE(2, 50, 80, 20), 30), .refused = NO_COPY);
#define IN_USE USED(0, 10, 5) "," DYING(20, 5, 0, 9)
    refutes("may not move", PLANS(10, IN_USE, 4, "", MOVE(0, 0, 10, 10), 0));
    accepts(PLANS(10, IN_USE, 5, "", MOVE(0, 0, 10, 10), 0));
    refutes("may not move", PLANS(10, DYING(0, 10, 0, 5), 0, "", MOVE(0, 0, 10, 10), 0));
    refutes("may not move", PLANS(10, IMAGE(0, 10, 0, 0), 0, "0", MOVE(0, 0, 10, 10), 0));
    refutes("moves[0]: it is", PLANS(10, LIVE_ALIGNED(0, 10, 8), 0, "", MOVE(0, 0, 20, 10), 0));
    refutes("moves[0]: it is", .claim = "premature", .request = PROGRAM(10, 30),
            .blocks = LIVE(0, 10), .proof = PLAN(0, "", MOVE(0, 0, 20, 10), 50));
    rejects("moves[1]", PLANS(40, HOLES, 0, "", MOVE(2, 50, 80, 20) ", 7", 30));
}

/* Two blocks change places by way of host memory. */
#define SWAP(size) MOVE(0, 0, -1, size) "," MOVE(1, 50, 0, size) "," MOVE(0, -1, size, size)
#define TWO(size) LIVE(0, size) "," LIVE(50, size)

TEST(a_plan_stages_blocks_in_host_memory_and_brings_them_back)
{
    accepts(PLANS(20, TWO(40), 0, "", SWAP(40), 80));
    refutes("blocks[0] ends in", PLANS(20, TWO(40), 0, "", MOVE(0, 0, -1, 40), 0));
    refutes("moves[1]: the block has another",
            PLANS(20, TWO(40), 0, "", MOVE(0, 0, -1, 40) "," MOVE(0, 0, 40, 40), 0));
    refutes("moves[2]: blocks[1]",
            PLANS(20, TWO(40), 0, "",
                  MOVE(0, 0, -1, 40) "," MOVE(1, 50, 0, 40) "," MOVE(0, -1, 39, 40), 80));
}

TEST(a_plan_under_slide_keeps_the_order)
{
    accepts(PLANS(40, TWO(30), 0, "", SWAP(30), 60));
    refutes("moves[2]: blocks[1]", PLANS(40, TWO(30), 0, "", SWAP(30), 60),
            .contract = CONTRACT(slide));
    accepts(PLANS(40, TWO(30), 0, "",
                  MOVE(0, 0, -1, 30) "," MOVE(1, 50, 70, 30) "," MOVE(0, -1, 40, 30), 0),
            .contract = CONTRACT(slide));
    refutes("moves[0]: blocks[0]",
            PLANS(20, LIVE(40, 10) "," LIVE(60, 10), 0, "", MOVE(1, 60, 0, 10), 80),
            .contract = CONTRACT(slide));
    refutes("moves[0]: blocks[0]",
            PLANS(20, HELD(40, 10) "," LIVE(60, 10), 0, "", MOVE(1, 60, 0, 10), 80),
            .contract = CONTRACT(slide));
    /* The request itself goes anywhere, and blocks that are gone are in nobody's way. */
    accepts(PLANS(20, LIVE(40, 10) "," LIVE(80, 10), 0, "", "", 50), .contract = CONTRACT(slide));
    accepts(PLANS(20, DYING(40, 10, 0, 3) "," LIVE(80, 10), 3, "", MOVE(1, 80, 0, 10), 50),
            .contract = CONTRACT(slide));
}

#define LOADED(stack, blocks_text, ...) \
    .claim = "premature", EXECUTES(2, stack, blocks_text), .proof = PLAN(__VA_ARGS__)

TEST(a_plan_makes_room_for_the_stack)
{
#define TO_MOVE LIVE(10, 10) "," HELD(60, 10) ","
    accepts(LOADED(30, TO_MOVE, 0, "", MOVE(0, 10, 30, 10), -1));
    refutes("blocks[0] ends in", LOADED(30, TO_MOVE, 0, "", "", -1));
    refutes("blocks[1] ends in", LOADED(61, TO_MOVE, 0, "", MOVE(0, 10, 80, 10), -1));
    refutes("address", LOADED(30, TO_MOVE, 0, "", MOVE(0, 10, 30, 10), 80));
    refutes("address: the stack", .claim = "premature", .request = PROGRAM(1, 101),
            .proof = PLAN(0, "", "", 0));
    /* What executes until later reserves its stack in the plan, too. */
    refutes("address: it is",
            PLANS(10, DYING(80, 10, 0, 9) "," IMAGE(90, 10, 50, 7), 6, "", "", 20));
    accepts(PLANS(10, DYING(80, 10, 0, 9) "," IMAGE(90, 10, 50, 7), 7, "", "", 20));
}

/* --- Unknown --- */

TEST(unknown_states_the_right_volume_and_that_it_settles_nothing)
{
    accepts(OPEN_QUESTION(BUDGET(4000000, 20, 20)));
    refutes("need and have", .claim = "unknown", TWENTIES(BUDGET(1, 79, 80)));
    refutes("need and have", .claim = "unknown", TWENTIES(BUDGET(1, 80, 81)));
    refutes("nodes", .claim = "unknown", TWENTIES(BUDGET(0, 80, 80)));
    refutes("need and have", .claim = "unknown", .request = BUFFER(21), .blocks = FOUR_TWENTIES,
            .proof = BUDGET(1, 81, 80));
    refutes("not match the contract", .claim = "unknown", TWENTIES(BUDGET(1, 80, 80)),
            .contract = CONTRACT(slide));
    refutes("not match the contract", .claim = "unknown", TWENTIES(BUDGET(1, 80, 80)),
            .refused = NO_COPY);
    refutes("not prove this claim", TWENTIES(BUDGET(1, 80, 80)));
    refutes("not prove this claim", .claim = "unknown", TWENTIES(ROUNDING(20, 4, 3)));
}

/* --- Blocks in host memory --- */

#define TEN_AND_ABSENT_TWENTY LIVE(0, 10) "," ABSENT(20)

TEST(a_block_in_host_memory_is_one_more_to_be_placed)
{
    accepts(.claim = "premature", .request = BUFFER(70), .blocks = TEN_AND_ABSENT_TWENTY,
            .proof = PLAN(0, "", MOVE(1, -1, 10, 20), 30));
    refutes("ends in host memory", .claim = "premature", .request = BUFFER(70),
            .blocks = TEN_AND_ABSENT_TWENTY, .proof = PLAN(0, "", "", 10));
    refutes("another address", .claim = "premature", .request = BUFFER(70),
            .blocks = TEN_AND_ABSENT_TWENTY, .proof = PLAN(0, "", MOVE(1, 50, 10, 20), 30));
    accepts(.request = BUFFER(71), .blocks = TEN_AND_ABSENT_TWENTY, .proof = ROUNDING(1, 101, 100));
    refutes("need and have", .request = BUFFER(71), .blocks = TEN_AND_ABSENT_TWENTY,
            .proof = ROUNDING(1, 81, 100));
    /* Held, it has no place to keep. */
    accepts(.claim = "premature", .request = BUFFER(70),
            .blocks = BLOCK(buffer, live, -1, 20, 1, 0, 1, 0, 0),
            .proof = PLAN(0, "", MOVE(0, -1, 0, 20), 20));
}

TEST(a_block_in_host_memory_goes_when_it_is_freed_and_in_no_other_way)
{
    accepts(.claim = "premature", .request = BUFFER(100),
            .blocks = BLOCK(buffer, dying, -1, 20, 1, 0, 0, 0, 5), .proof = PLAN(5, "", "", 0));
    refutes("ends in host memory", .claim = "premature", .request = BUFFER(50),
            .blocks = BLOCK(buffer, dying, -1, 20, 1, 0, 1, 0, 5), .proof = PLAN(0, "", "", 0));
    refutes("may not be evicted", .claim = "premature", .request = BUFFER(50),
            .blocks = BLOCK(program, live, -1, 20, 1, 0, 0, 0, 0), .proof = PLAN(0, "0", "", 0));
    accepts(.request = BUFFER(100), .blocks = BLOCK(program, live, -1, 20, 1, 0, 0, 0, 0),
            .proof = ROUNDING(1, 120, 100));
}

TEST(blocks_in_host_memory_come_last_and_only_under_repack)
{
    refutes("blocks[1]: it is in host memory without repack, or not among the last",
            .request = BUFFER(71), .blocks = ABSENT(20) "," LIVE(0, 10),
            .proof = ROUNDING(1, 101, 100));
    refutes("blocks[0]: it is in host memory without repack", .contract = CONTRACT(slide),
            .request = BUFFER(71), .blocks = ABSENT(20), .proof = SPANS);
    refutes("blocks[0]: it is in host memory without repack", .refused = NO_COPY,
            .request = BUFFER(71), .blocks = ABSENT(20), .proof = SPANS);
    refutes("outside the device", .request = BUFFER(71), .blocks = ABSENT(101),
            .proof = ROUNDING(1, 172, 100));
}
