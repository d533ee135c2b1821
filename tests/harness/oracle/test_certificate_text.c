/* What a certificate's text says of numbers and words that few out-of-memories have. */
#include "checker/certificate_check.h"
#include "harness/oracle/certificate.h"
#include "harness/oracle/oracle.h"
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

#define LATE (UINT64_C(1) << 62) /* later times keep their order alone */

/* Four held blocks side by side, and a request of two granules for one that is free. */
static struct oom_block blocks[4];
static struct oom oom;

static void begin_heap(void)
{
    for (unsigned i = 0; i < 4; i++) {
        blocks[i] = (struct oom_block){.address = 512 * (uint64_t)i,
                                       .size_bytes = 512,
                                       .align_bytes = 512,
                                       .op = i,
                                       .hold_count = 1,
                                       .kind = BLOCK_BUFFER,
                                       .state = BLOCK_LIVE};
    }
    oom = (struct oom){.capacity_bytes = 5 * 512,
                       .granule_bytes = 512,
                       .defrag = DEFRAG_NONE,
                       .drains = true,
                       .request = {.class = REQUEST_BUFFER,
                                   .size_bytes = 1024,
                                   .asked_bytes = 1024,
                                   .align_bytes = 512,
                                   .own_op = OP_NONE},
                       .blocks = blocks,
                       .block_count = 4};
}

/* Its blocks and what it says to people are held; the checker accepts the document. */
static void snap_document(const char *reason)
{
    char answer[CERTIFICATE_REASON_BYTES];
    struct verdict verdict = {.op = 77};
    struct writing text;
    struct oracle *oracle = oracle_create();
    const struct proof *proof = oracle_prove(oracle, &oom, 0, &verdict);
    ck_assert_uint_eq(verdict.nodes, 0); /* it takes no search */
    if (reason != NULL) {
        snprintf(verdict.reason, sizeof verdict.reason, "%s", reason);
    }
    writing_init(&text);
    certificate_print(&oom, proof, &verdict, NULL, &text);
    ck_assert(!text.is_spaced); /* what follows in the text is written as it was before */
    ck_assert_msg(certificate_check(text.bytes, text.length, answer) == CERTIFICATE_VALID, "%s\n%s",
                  answer, text.bytes);
    snap_lines(text.bytes, reason == NULL ? "used_until" : "about");
    writing_deinit(&text);
    oracle_destroy(oracle);
}

EVERY_TEST(.setup = begin_heap);

TEST(late_times_keep_their_order_and_equal_ones_stay_equal)
{
    blocks[0].used_until_ns = LATE + 1000; /* none is earlier */
    blocks[1].state = BLOCK_DYING;
    blocks[1].used_until_ns = LATE; /* the last that keeps its value */
    blocks[1].freed_at_ns = LATE;
    blocks[2].used_until_ns = UINT64_MAX - 1; /* three are earlier */
    blocks[3].state = BLOCK_DYING;            /* twice the second: its use is what it awaits */
    blocks[3].used_until_ns = LATE + 2000;
    blocks[3].freed_at_ns = LATE + 2000;
    snap_document(NULL);
}

TEST(what_never_ends_is_no_late_time)
{
    blocks[0].used_until_ns = DELAY_NEVER;
    blocks[1].used_until_ns = LATE + 5;
    snap_document(NULL);
}

TEST(what_it_says_to_people_is_plain_text)
{
    snap_document("a \"b\"\\ \t c \x7f\xc3\xa9 ~ d!");
}

/* --- letter by letter --- */

/* What is printed of the heap with this proof; the writing keeps how it was spaced. */
static void print_text(const struct proof *proof, bool is_spaced, struct writing *text)
{
    const struct verdict verdict = {.op = 7, .reason = "so"};
    writing_init(text);
    text->is_spaced = is_spaced;
    certificate_print(&oom, proof, &verdict, NULL, text);
    ck_assert_int_eq(text->is_spaced, is_spaced);
}

TEST(a_certificate_has_this_text)
{
    static const uint32_t evicted[] = {1, 3};
    static const struct proof_move moves[] = {{2, 1024, PROOF_IN_HOST_MEMORY, 512},
                                              {2, PROOF_IN_HOST_MEMORY, 0, 512}};
    const struct proof proof = {.claim = VERDICT_PREMATURE,
                                .kind = PROOF_PLAN,
                                .plan = {.until_ns = 9,
                                         .evicted = evicted,
                                         .evicted_count = 2,
                                         .moves = moves,
                                         .move_count = 2,
                                         .address = UINT64_MAX}};
    struct writing text;
    oom.block_count = 2;
    oom.evicts = true;
    oom.faults_fired = 1u << FAULT_UNLOAD;
    oom.request = (struct oom_request){
        .class = REQUEST_PROGRAM, .align_bytes = 512, .stack_bytes = UINT64_MAX, .own_op = 1};
    blocks[0].kind = BLOCK_RETIRED;
    blocks[1] = (struct oom_block){.address = OOM_IN_HOST_MEMORY,
                                   .size_bytes = 1024,
                                   .align_bytes = 512,
                                   .stack_bytes = 3,
                                   .used_until_ns = 4,
                                   .freed_at_ns = DELAY_NEVER,
                                   .op = 1,
                                   .kind = BLOCK_PROGRAM,
                                   .state = BLOCK_DYING};
    print_text(&proof, false, &text);
    snap(text.bytes);
    writing_deinit(&text);
}

TEST(each_kind_of_proof_has_its_members)
{
    const struct proof proof = {
        .claim = VERDICT_JUSTIFIED,
        .need = 1,
        .have = 2,
        .unit = 3,
        .least = 4,
        .nodes = 5,
        .sets = 6,
        .spans = 7,
        .lost = 8,
        .is_plain = true,
        .effort = {
            .nodes_max = 9, .nodes = {10, 11, 12, 13}, .until_ns = 14, .oom_class = OOM_HELD}};
    static const enum proof_kind kinds[] = {PROOF_STACK,  PROOF_SPANS, PROOF_ROUNDING,
                                            PROOF_SEARCH, PROOF_TABLE, PROOF_PATTERNS,
                                            PROOF_FILLS,  PROOF_BUDGET};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct proof each = proof;
        struct writing text;
        each.kind = kinds[i];
        each.log = kinds[i] == PROOF_SEARCH ? "bcf" : NULL;
        print_text(&each, true, &text);
        snap(strstr(text.bytes, "\"proof\""));
        writing_deinit(&text);
    }
}

/* A use that is done, but was not seen to be, still keeps its block in its place. */
TEST(the_stack_grows_up_to_the_lowest_block_that_is_used_now)
{
    oom.defrag = DEFRAG_SLIDE;
    for (unsigned i = 0; i < 4; i++) {
        blocks[i].hold_count = 0;
        blocks[i].address += 512;
    }
    ck_assert_uint_eq(oom_reservable(&oom).high_bytes, 512);
    blocks[2].used_until_ns = 1;
    ck_assert_uint_eq(oom_reservable(&oom).high_bytes, 512);
    blocks[3].address += 512;
    oom.capacity_bytes += 512;
    ck_assert_uint_eq(oom_reservable(&oom).high_bytes, 512);
    blocks[2].used_until_ns = 0;
    ck_assert_uint_eq(oom_reservable(&oom).high_bytes, 1024);
}
