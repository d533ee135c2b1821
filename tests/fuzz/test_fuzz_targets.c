/* The parts that fuzz targets are made of: states from bytes, certificates read back and edited,
 * texts in memory, places in a text. */
#include "checker/certificate_check.h"
#include "fuzz/certificate_text.h"
#include "fuzz/finding.h"
#include "fuzz/oom_input.h"
#include "fuzz/text_check.h"
#include "harness/base/random.h"
#include "harness/oracle/certificate.h"
#include "harness/oracle/oracle.h"
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum {
    STATE_COUNT = 500,
    STATE_BYTES_MAX = OOM_INPUT_HEADER_BYTES + 60 * OOM_INPUT_BLOCK_BYTES,
    NODES_MAX = 2000
};

static void draw_state(struct random *random, struct oom *oom)
{
    uint8_t bytes[STATE_BYTES_MAX];
    const size_t length = (size_t)random_below(random, sizeof bytes + 1);
    for (size_t i = 0; i < length; i++) {
        bytes[i] = (uint8_t)random_bits(random);
    }
    /* Sizes that are small beside the device, so that there are many blocks. */
    for (size_t i = OOM_INPUT_HEADER_BYTES + 1; i < length; i += OOM_INPUT_BLOCK_BYTES) {
        bytes[i] &= 15 | 64;
    }
    oom_decode(bytes, length, oom);
}

static void print_certificate(struct oracle *oracle, const struct oom *oom, struct writing *text,
                              struct verdict *verdict)
{
    *verdict = (struct verdict){.op = 1};
    const struct proof *proof = oracle_prove(oracle, oom, NODES_MAX, verdict);
    writing_clear(text);
    certificate_print(oom, proof, verdict, NULL, text);
}

/* --- states and certificates --- */

/* Blocks are named by their places in a document, so names differ. */
static void check_same_state(const struct oom *a, const struct oom *b)
{
    ck_assert_uint_eq(a->capacity_bytes, b->capacity_bytes);
    ck_assert_uint_eq(a->granule_bytes, b->granule_bytes);
    ck_assert_int_eq(a->defrag, b->defrag);
    ck_assert(a->drains == b->drains && a->evicts == b->evicts);
    ck_assert_int_eq(a->program_evicts_program, b->program_evicts_program);
    ck_assert_uint_eq(a->faults_fired, b->faults_fired);
    ck_assert_int_eq(a->request.class, b->request.class);
    ck_assert_uint_eq(a->request.size_bytes, b->request.size_bytes);
    ck_assert_uint_eq(a->request.align_bytes, b->request.align_bytes);
    ck_assert_uint_eq(a->request.stack_bytes, b->request.stack_bytes);
    ck_assert_uint_eq(a->block_count, b->block_count);
    for (size_t i = 0; i < a->block_count; i++) {
        const struct oom_block *x = &a->blocks[i], *y = &b->blocks[i];
        ck_assert(x->address == y->address && x->size_bytes == y->size_bytes &&
                  x->align_bytes == y->align_bytes);
        ck_assert(x->stack_bytes == y->stack_bytes && x->used_until_ns == y->used_until_ns);
        ck_assert(x->freed_at_ns == y->freed_at_ns && x->hold_count == y->hold_count);
        ck_assert(x->kind == y->kind && x->state == y->state && x->is_kept == y->is_kept);
        ck_assert_int_eq(x->op == a->request.own_op, y->op == b->request.own_op);
    }
}

TEST(any_bytes_are_a_state_whose_certificate_is_valid_and_read_back)
{
    static struct writing text;
    struct oracle *oracle = oracle_create();
    struct oom oom = {0};
    struct random random;
    size_t most_blocks = 0, kept_count = 0;
    random_init(&random, 1);
    for (int i = 0; i < STATE_COUNT; i++) {
        char reason[CERTIFICATE_REASON_BYTES];
        struct verdict verdict;
        struct certificate_claim claim;
        draw_state(&random, &oom);
        print_certificate(oracle, &oom, &text, &verdict);
        ck_assert_msg(certificate_check(text.bytes, text.length, reason) == CERTIFICATE_VALID,
                      "%s:\n%s", reason, text.bytes);
        ck_assert_msg(certificate_read(text.bytes, text.length, &claim), "not read:\n%s",
                      text.bytes);
        ck_assert_int_eq(claim.kind, verdict.kind);
        check_same_state(&oom, &claim.oom);
        for (size_t k = 0; k < oom.block_count; k++) {
            kept_count += oom.blocks[k].is_kept;
        }
        most_blocks = oom.block_count > most_blocks ? oom.block_count : most_blocks;
        oom_deinit(&claim.oom);
    }
    ck_assert_uint_ge(most_blocks, 20);
    ck_assert_uint_ge(kept_count, 20);
    oom_deinit(&oom);
    oracle_destroy(oracle);
}

static const char document[] =
    "{\"kind\": \"plan\", \"from\": 512,\n \"to\": -1},\n{\"log\": \"bcf\"}\n";

TEST(an_edit_changes_what_its_bytes_say)
{
    static const uint8_t edits[][CERTIFICATE_EDIT_BYTES] = {
        {0, 1, 0, 7}, {1, 0, 0, 9}, {2, 6, 0, 0},
        {3, 0, 0, 0}, {4, 0, 0, 1}, {5, 1, 0, 0},
        {6, 2, 0, 0}, {7, 0, 0, 0}, /* there is no word */ {8, 1, 0, 0}};
    static struct edited_certificate text;
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        text.length = sizeof document - 1;
        memcpy(text.bytes, document, text.length);
        certificate_edit(&text, edits[i]);
        text.bytes[text.length] = '\0';
        snap(text.bytes);
    }
}

/* --- texts --- */

TEST(a_stream_forgets_what_it_printed_before)
{
    static struct text_stream stream;
    ck_assert_int_gt(fputs("a long text", text_stream_begin(&stream)), 0);
    text_stream_end(&stream);
    ck_assert_uint_eq(stream.length, strlen("a long text"));
    ck_assert_int_gt(fputs("short", text_stream_begin(&stream)), 0);
    text_stream_end(&stream);
    ck_assert_uint_eq(stream.length, strlen("short"));
    ck_assert_str_eq(stream.text, "short");
}

static const char two_lines[] = "one\nthree\n";

TEST(places_in_a_text_and_right_behind_its_lines_are_inside)
{
    static const size_t places[][2] = {{0, 0}, {1, 0}, {1, 1}, {1, 4}, {2, 6}, {3, 1}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        text_check_position("test", two_lines, sizeof two_lines - 1, places[i][0], places[i][1]);
    }
}

TEST(a_place_outside_of_a_text_ends_the_process, .to = 5, .signal = SIGABRT)
{
    static const size_t places[][2] = {{0, 1}, {1, 5}, {2, 7}, {3, 2}, {4, 0}};
    text_check_position("test", two_lines, sizeof two_lines - 1, places[_i][0], places[_i][1]);
}

TEST(a_reason_that_is_no_printable_line_ends_the_process, .to = 5, .signal = SIGABRT)
{
    static const char *const reasons[] = {"", "two\nlines", "a bell \a", "rubbed out \x7F",
                                          "not ASCII \xC3\xA9"};
    text_check_ascii("test", reasons[_i], strlen(reasons[_i]) + 1);
}

TEST(each_check_ends_the_process, .to = FINDING_CHECK_COUNT, .signal = SIGABRT)
{
    finding_end_check("test", (enum finding_check)_i, "%s",
                      finding_check_name((enum finding_check)_i));
}
