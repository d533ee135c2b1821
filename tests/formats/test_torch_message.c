/* A message of PyTorch becomes one heap that it allows, with everybody who holds memory, and the
 * request that fails in it; what is no failure, cut or without numbers is refused. */
#include "formats/formats.h"
#include "tests/formats/import_checks.h"
#include "tests/formats/import_fixture.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/torch_message/"
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* What all blocks of that tag have that are not freed; of all tags but the filler where name is
 * NULL. */
static uint64_t sum_of(const char *name)
{
    const unsigned filler = setup_filler_tag(&import.setup);
    uint64_t bytes = 0;
    for (size_t i = 0; i + 1 < import.ops.count; i++) {
        const struct op *op = &import.ops.ops[i];
        if (op->kind == OP_ALLOC && op->tag != filler &&
            (name == NULL || strcmp(import.setup.tags[op->tag], name) == 0)) {
            bytes += op->size_bytes;
        }
    }
    return bytes;
}

static uint64_t requested(void)
{
    return import.ops.ops[import.ops.count - 1].size_bytes;
}

static void import_message(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "torch_message/%s.log", name);
    import_checks_field(path, &import);
    ck_assert_str_eq(import.setup.system, "pytorch");
    ck_assert_str_eq(import.setup.chip, "");
}

static void assert_near(uint64_t bytes, double expected, double unit)
{
    const double off = (double)bytes - expected * unit;
    ck_assert_msg(off <= 0.0051 * unit && off >= -0.0051 * unit, "%lu is not %.2f of %.0f",
                  (unsigned long)bytes, expected, unit);
}

static const struct {
    const char *name;
    uint64_t requested;
    double total, allocated, outside; /* GiB; outside of PyTorch, all together */
    const char *told, *assumed;       /* parts; NULL: nothing is */
} messages[] = {
    {"a1_cached", 48 * MIB, 7.93, 7.12, 0.6969, "at least the 48.00M", "2 pieces"},
    {"a2_reserved", 256 * MIB, 6.00, 4.20, 1.39, "at least the 256.00M", "2 pieces"},
    {"b1_container", 640 * MIB, 23.65, 21.90, 0.4577, "at least the 640.00M",
     "process 914402 is taken to be the one that failed"},
    {"b3_processes", 2560 * MIB, 79.25, 62.7875, 13.9856, "there was no room", "as one piece"},
    {"b3_unallocated", 3 * GIB, 47.54, 31.20, 0.6309, "PyTorch had 14.83G reserved", "5 pieces"},
    {"b3_allowed_hip", 6 * MIB, 2.10, 1.9966, 0, "this process may use 2.10G", "14 pieces"},
    {"b1_fraction_not_said", 20 * MIB, 39.39, 8.70, 0.4843, "at least the 20.00M",
     "the message gives no reason for the refusal"},
    {"xpu", 1 * GIB, 15.91, 14.90, 0, "PyTorch moves no block", "does not say what is free"},
    {"b5_no_device_kind", 96 * MIB, 31.36, 29.75, 1.5109, "would do together", "as one piece"},
    {"mps", 2458 * MIB, 18.13, 9.12, 6.83, "there was no room", NULL},
    {"async", 5 * GIB, 23.65, 20.10, 2.11, "its pool keeps cached", NULL},
};
enum { MESSAGE_COUNT = sizeof messages / sizeof messages[0] };

EVERY_TEST(.timeout_s = 120, .setup = setup_import, .teardown = teardown_import);

TEST(a_message_becomes_a_heap_that_it_allows, .to = MESSAGE_COUNT)
{
    import_message(messages[_i].name);
    ck_assert_uint_eq(requested(), messages[_i].requested);
    ck_assert_uint_eq(import.said[import.said_count - 1].kind, SAID_FAILED);
    assert_near(import.setup.capacity_bytes, messages[_i].total, (double)GIB);
    assert_near(sum_of("allocated by PyTorch") + sum_of("allocated by PyTorch" SETUP_PLACED_ENDING),
                messages[_i].allocated, (double)GIB);
    uint64_t outside = 0;
    for (unsigned tag = 1; tag < OP_TAG_COUNT; tag++) {
        const char *name = import.setup.tags[tag];
        outside += setup_is_outside_name(name) ? sum_of(name) : 0;
    }
    ck_assert_msg(outside <= (uint64_t)((messages[_i].outside + 0.02) * (double)GIB) &&
                      outside + 20 * MIB >= (uint64_t)(messages[_i].outside * (double)GIB),
                  "%lu outside", (unsigned long)outside);
    ck_assert_msg(strstr(import.told, messages[_i].told) != NULL, "%s", import.told);
    if (messages[_i].assumed == NULL) {
        ck_assert_str_eq(import.assumed, "");
    } else {
        ck_assert_msg(strstr(import.assumed, messages[_i].assumed) != NULL, "%s", import.assumed);
    }
}

TEST(its_request_fails_when_it_is_replayed, .to = MESSAGE_COUNT)
{
    import_message(messages[_i].name);
    ck_assert_uint_eq(import_checks_replay(&import), 1);
}

TEST(each_process_that_is_named_has_a_tag)
{
    import_message("b3_processes");
    ck_assert_uint_eq(sum_of("other process 51200"), 9984 * MIB);
    ck_assert_uint_eq(sum_of("other process 51344"), 602 * MIB);
    ck_assert_uint_eq(sum_of("free in private pools (graphs)"), 320 * MIB);
    assert_near(sum_of("this process, outside the allocator"), 67.05 - 63.10 - 0.3044, (double)GIB);
}

TEST(one_failure_that_stands_twice_is_one)
{
    import_message("b3_processes");
    ck_assert_ptr_null(strstr(import.told, "other out-of-memory"));
    ck_assert_uint_eq(import.message_line, 1);
    ck_assert_ptr_nonnull(strstr(import.message, "CUDA out of memory. Tried to allocate 2.50 GiB"));
}

/* 5.5 MiB are free by the printed digits, and anything from 0 to 15 MiB by their rounding. */
TEST(rounding_that_leaves_it_open_is_told)
{
    static const char close[] =
        "MPS backend out of memory (MPS allocated: 18.02 GB, other allocations: 107.00 MB, max "
        "allowed: 18.13 GB). Tried to allocate 4.50 MB on private pool.";
    ck_assert_int_eq(import_text(close, strlen(close), "auto", NULL, &import, &error), IMPORT_OK);
    ck_assert_ptr_nonnull(strstr(import.told, "the rounded numbers do not show"));
    ck_assert_ptr_null(strstr(import.told, "in every heap"));
    ck_assert_uint_eq(import_checks_replay(&import), 1);
}

TEST(free_memory_that_was_not_given_is_nobodys)
{
    import_message("b1_fraction_not_said");
    assert_near(sum_of("free, but not given to this process" SETUP_PLACED_ENDING),
                30.02 - 20.0 / 1024, (double)GIB);
}

static const struct import_refused refused[] = {
    {"retry.log", IMPORT_INCOMPLETE, 1, 63, "not an out-of-memory: one cudaMalloc failed"},
    {"bare.log", IMPORT_INCOMPLETE, 1, 15, "it lacks what was asked for, what is free"},
    {"cut.log", IMPORT_INCOMPLETE, 1, 25, "it lacks what is allocated by PyTorch"},
};

TEST(what_is_no_whole_failure_is_refused, .to = sizeof refused / sizeof refused[0])
{
    import_checks_refused(&refused[_i], FIELD, "auto", &import);
}

static const char sentence[] =
    "x: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of "
    "which 1.00 GiB is free. Process 9 has 1.50 GiB memory in use. Including non-PyTorch memory, "
    "this process has 5.50 GiB memory in use. Of the allocated memory 4.75 GiB is allocated by "
    "PyTorch, and 256.00 MiB is reserved by PyTorch but unallocated.";

/* Of the last words nothing is lost that has a number. */
TEST(a_message_cut_anywhere_is_refused)
{
    const size_t last = (size_t)(strstr(sentence, "unallocated") - sentence);
    for (size_t length = 1; length < sizeof sentence - 1; length++) {
        const enum import_result result = import_text(sentence, length, "torch_message", NULL,
                                                      &import, &error);
        ck_assert_int_eq(result,
                         length < last + strlen("unallocated") ? IMPORT_INCOMPLETE : IMPORT_OK);
    }
}

TEST(broken_lines_prefixes_and_escapes_change_nothing)
{
    static const char broken[] =
        "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to\n[rank3]: allocate 2.00 GiB. "
        "GPU 0 has a total capacity of 8.00 GiB of which 1.00 GiB is free.\\nProcess 9 has 1.50 GiB "
        "memory in use.\r\n  Including non-PyTorch memory, this process has 5.50 GiB memory in use. "
        "Of the allocated memory 4.75 GiB is allocated by PyTorch, and 256.00 MiB is reserved by "
        "PyTorch but unallocated.";
    ck_assert_int_eq(import_text(sentence, strlen(sentence), "auto", NULL, &import, &error),
                     IMPORT_OK);
    const uint64_t capacity_bytes = import.setup.capacity_bytes;
    const size_t op_count = import.ops.count;
    ck_assert_msg(import_text(broken, strlen(broken), "auto", NULL, &import, &error) == IMPORT_OK,
                  "%s", error.reason);
    ck_assert_uint_eq(import.setup.capacity_bytes, capacity_bytes);
    ck_assert_uint_eq(import.ops.count, op_count);
    ck_assert_uint_eq(sum_of("other process 9"), 1536 * MIB);
}

TEST(other_failures_of_the_log_are_counted)
{
    char text[3 * sizeof sentence + 64];
    snprintf(text, sizeof text, "%s\n%s\nx: %s", sentence, sentence, strstr(sentence, "CUDA"));
    char *second = strstr(text + sizeof sentence, "2.00 GiB");
    memcpy(second, "3.00", 4);
    ck_assert_int_eq(import_text(text, strlen(text), "auto", NULL, &import, &error), IMPORT_OK);
    ck_assert_ptr_nonnull(strstr(import.notes, "stands 2 times"));
    ck_assert_ptr_nonnull(
        strstr(import.told, "other out-of-memory messages of PyTorch in the text: 1"));
}

TEST(damage_is_refused_or_replays, .to = MESSAGE_COUNT)
{
    char path[64];
    snprintf(path, sizeof path, "torch_message/%s.log", messages[_i].name);
    import_checks_field_damage(path, 300, &import);
}
