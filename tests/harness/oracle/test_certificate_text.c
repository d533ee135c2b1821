/* What a certificate's text says of numbers and words that few out-of-memories have. */
#include "checker/certificate_check.h"
#include "harness/oracle/certificate.h"
#include "harness/oracle/oracle.h"
#include "harness/oracle/signature.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <jansson.h>
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

/* The document, which the checker accepts; the caller gives it back. */
static json_t *print_document(const char *reason)
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
    json_t *document = json_loadb(text.bytes, text.length, 0, NULL);
    ck_assert_ptr_nonnull(document);
    writing_deinit(&text);
    oracle_destroy(oracle);
    return document;
}

static json_int_t number_of_block(const json_t *document, size_t block, const char *name)
{
    return json_integer_value(
        json_object_get(json_array_get(json_object_get(document, "blocks"), block), name));
}

TEST(late_times_keep_their_order_and_equal_ones_stay_equal)
{
    begin_heap();
    blocks[0].used_until_ns = LATE + 1000; /* none is earlier */
    blocks[1].state = BLOCK_DYING;
    blocks[1].used_until_ns = LATE; /* the last that keeps its value */
    blocks[1].freed_at_ns = LATE;
    blocks[2].used_until_ns = UINT64_MAX - 1; /* three are earlier */
    blocks[3].state = BLOCK_DYING;            /* twice the second: its use is what it awaits */
    blocks[3].used_until_ns = LATE + 2000;
    blocks[3].freed_at_ns = LATE + 2000;
    json_t *document = print_document(NULL);
    ck_assert_int_eq(number_of_block(document, 1, "used_until"), (json_int_t)LATE);
    ck_assert_int_eq(number_of_block(document, 1, "freed_at"), (json_int_t)LATE);
    ck_assert_int_eq(number_of_block(document, 0, "used_until"), (json_int_t)LATE + 1);
    ck_assert_int_eq(number_of_block(document, 3, "used_until"), (json_int_t)LATE + 2);
    ck_assert_int_eq(number_of_block(document, 3, "freed_at"), (json_int_t)LATE + 2);
    ck_assert_int_eq(number_of_block(document, 2, "used_until"), (json_int_t)LATE + 4);
    json_decref(document);
}

TEST(what_never_ends_is_no_late_time)
{
    begin_heap();
    blocks[0].used_until_ns = DELAY_NEVER;
    blocks[1].used_until_ns = LATE + 5;
    json_t *document = print_document(NULL);
    ck_assert_int_eq(number_of_block(document, 0, "used_until"), -1);
    ck_assert_int_eq(number_of_block(document, 1, "used_until"), (json_int_t)LATE + 1);
    json_decref(document);
}

TEST(what_it_says_to_people_is_plain_text)
{
    begin_heap();
    json_t *document = print_document("a \"b\"\\ \t c \x7f\xc3\xa9 ~ d!");
    const json_t *about = json_object_get(document, "about");
    ck_assert_int_eq(json_integer_value(json_object_get(about, "op")), 77);
    ck_assert_str_eq(json_string_value(json_object_get(about, "reason")), "a b  c  ~ d!");
    json_decref(document);
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
    begin_heap();
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
    ck_assert_str_eq(
        text.bytes,
        "{\"format\": \"hbmstress-certificate\", \"version\": 1,\n"
        " \"list\": null,\n"
        " \"claim\": \"premature\",\n"
        " \"device\": {\"capacity\": 2560, \"granule\": 512},\n"
        " \"contract\": {\"defrag\": \"none\", \"drains\": true, \"evicts\": true, "
        "\"program_evicts_program\": false},\n"
        " \"refused\": {\"copy\": false, \"wait\": false, \"unload\": true, "
        "\"host_memory\": false},\n"
        " \"request\": {\"class\": \"program\", \"bytes\": 0, \"align\": 512, "
        "\"stack\": 4611686018427387904, \"program\": 1},\n"
        " \"blocks\": [\n"
        "  {\"op\": 0, \"kind\": \"retired\", \"state\": \"live\", \"address\": 0, \"size\": 512, "
        "\"align\": 512, \"stack\": 0, \"holds\": 1, \"used_until\": 0, \"freed_at\": 0},\n"
        "  {\"op\": 1, \"kind\": \"program\", \"state\": \"dying\", \"address\": -1, "
        "\"size\": 1024, \"align\": 512, \"stack\": 3, \"holds\": 0, \"used_until\": 4, "
        "\"freed_at\": -1}],\n"
        " \"proof\": {\"kind\": \"plan\", \"until\": 9, \"address\": -1, \"evict\": [1, 3],\n"
        "  \"moves\": [\n"
        "   {\"block\": 2, \"from\": 1024, \"to\": -1, \"bytes\": 512},\n"
        "   {\"block\": 2, \"from\": -1, \"to\": 0, \"bytes\": 512}]},\n"
        " \"about\": {\"op\": 7, \"reason\": \"so\"}}\n");
    writing_deinit(&text);
}

/* The proof of a text, in one line. */
static void check_proof(const struct proof *proof, const char *expected)
{
    struct writing text;
    begin_heap();
    print_text(proof, true, &text);
    const char *begin = strstr(text.bytes, "\"proof\"");
    ck_assert_ptr_nonnull(begin);
    ck_assert_msg(strncmp(begin, expected, strlen(expected)) == 0, "%s", begin);
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
    static const struct {
        enum proof_kind kind;
        const char *log, *text;
    } rows[] = {
        {PROOF_STACK, NULL, "\"proof\": {\"kind\": \"stack\"},\n"},
        {PROOF_SPANS, NULL, "\"proof\": {\"kind\": \"spans\"},\n"},
        {PROOF_ROUNDING, NULL,
         "\"proof\": {\"kind\": \"rounding\", \"unit\": 3, \"need\": 1, \"have\": 2},\n"},
        {PROOF_SEARCH, "bcf",
         "\"proof\": {\"kind\": \"search\", \"least\": 4, \"plain\": true, \"log\": \"bcf\"},\n"},
        {PROOF_TABLE, NULL, "\"proof\": {\"kind\": \"table\", \"sets\": 6},\n"},
        {PROOF_PATTERNS, NULL, "\"proof\": {\"kind\": \"patterns\", \"sets\": 6},\n"},
        {PROOF_FILLS, NULL,
         "\"proof\": {\"kind\": \"fills\", \"spans\": 7, \"unit\": 3, \"lost\": 8},\n"},
        {PROOF_BUDGET, NULL,
         "\"proof\": {\"kind\": \"budget\", \"nodes\": 5, \"need\": 1, \"have\": 2, \"limit\": 9, "
         "\"until\": 14, \"class\": \"held\", \"tried\": {\"greedy\": 10, \"search\": 11, \"fills\": 12, "
         "\"table\": 13}},\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct proof each = proof;
        each.kind = rows[i].kind;
        each.log = rows[i].log;
        check_proof(&each, rows[i].text);
    }
}

TEST(a_replay_that_differs_has_one_name)
{
    char signature[SIGNATURE_BYTES];
    struct op op = op_make(OP_ALLOC);
    const struct op_list ops = {.ops = &op, .count = 1};
    struct verdict verdict = {.kind = VERDICT_BROKEN, .rule = RULE_REPLAY, .op = 0};
    signature_print(&verdict, &ops, signature);
    ck_assert_str_eq(signature, "replay");
    verdict.op = 1;
    signature_print(&verdict, &ops, signature);
    ck_assert_str_eq(signature, "replay");
    verdict.rule = RULE_COUNTERS;
    signature_print(&verdict, &ops, signature);
    ck_assert_str_eq(signature, "counters at the end");
    verdict.op = 0;
    signature_print(&verdict, &ops, signature);
    ck_assert_str_eq(signature, "counters in alloc");
}

/* A use that is done, but was not seen to be, still keeps its block in its place. */
TEST(the_stack_grows_up_to_the_lowest_block_that_is_used_now)
{
    begin_heap();
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
