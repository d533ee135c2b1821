/* Counters without a failure become a heap of the same sums, and what they show is told:
 * dictionaries of JAX and PyTorch, PyTorch's table, and tables of how full each device is. */
#include "formats/formats.h"
#include "tests/formats/import_checks.h"
#include "tests/formats/import_fixture.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/"
#define MIB (UINT64_C(1) << 20)

static void import_counters(const char *name)
{
    import_checks_field(name, &import);
    ck_assert_str_eq(import.setup.chip, "");
}

/* What the blocks of that host and tag have; the stack of a program where is_stack. */
static uint64_t sum_of(unsigned host, const char *name, bool is_stack)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < import.ops.count; i++) {
        const struct op *op = &import.ops.ops[i];
        if ((op->kind == OP_ALLOC || op->kind == OP_LOAD) && op->host == host &&
            strcmp(import.setup.tags[op->tag], name) == 0) {
            bytes += is_stack ? op->stack_bytes : op->size_bytes;
        }
    }
    return bytes;
}

static const struct {
    const char *name, *system, *tag;
    uint64_t capacity_bytes, tag_bytes, stack_bytes; /* of host 0 */
    uint32_t host_count;
    const char *told;
} counters[] = {
    {"device_stats/tpu_one.txt", "xla_tpu", "in use", 16909332480, 5 * MIB, 0, 1,
     "5.00M in use and 0B reserved"},
    {"device_stats/reserved_most.json", "xla_tpu", "in use", 33285996544, 2791728128 - 512,
     29259464704, 2, "together 29.85G of 31.00G (96 %); 1.15G free"},
    {"device_stats/julia.txt", "", "in use", 33554432000, 2791728742 - 2, 29259464704, 1,
     "2.60G in use and 27.25G reserved"},
    {"device_stats/gpu_pool.txt", "xla_gpu", "in use", 63887523840, 6144 * MIB, 0, 1,
     "55 % of the free memory lies outside of it"},
    {"device_stats/checks_fail.txt", "", "in use", 16 * MIB, 9 * MIB, 0, 1,
     "a check fails: the peak is below what is in use"},
    {"device_usage/tpu_info_2025.txt", "xla_tpu", "in use", 33554432000, 29313152000, 0, 3,
     "device 12 (host 2 here): 3.02G of 31.25G in use, 28.23G free"},
    {"device_usage/tpu_info_2026.txt", "xla_tpu", "in use", 33554432000, 12800 * MIB, 0, 2,
     "12.50G of 31.25G in use"},
    {"device_usage/maxtext.log", "xla_tpu", "in use", 97024 * MIB, 11520 * MIB, 0, 2,
     "device TPU_1 (host 1 here)"},
    {"device_usage/nvidia_smi.txt", "", "in use", 23034 * MIB, 20481 * MIB, 0, 1, "device GPU 0"},
    {"torch_stats/dict.txt", "pytorch", "allocated", 2684354560, 1207959552, 0, 1,
     "128.00M freed and waiting for a stream, 1.25G cached"},
    {"torch_stats/stats.json", "pytorch", "cached: free in segments in use", 1073741824, 128 * MIB,
     0, 1, "current (805306368) is not allocated - freed"},
    {"torch_stats/summary.txt", "pytorch", "cached: whole free segments", 15360 * MIB, 1024 * MIB,
     0, 1, "out-of-memories that were raised: 1; requests that were tried again: 3"},
};
enum { COUNTER_COUNT = sizeof counters / sizeof counters[0] };

EVERY_TEST(.timeout_s = 120, .setup = setup_import, .teardown = teardown_import);

TEST(counters_become_a_heap_of_the_same_sums, .to = COUNTER_COUNT)
{
    import_counters(counters[_i].name);
    ck_assert_str_eq(import.setup.system, counters[_i].system);
    ck_assert_uint_eq(import.setup.host_count, counters[_i].host_count);
    ck_assert_uint_eq(import.setup.capacity_bytes, counters[_i].capacity_bytes);
    ck_assert_uint_eq(sum_of(0, counters[_i].tag, false), counters[_i].tag_bytes);
    ck_assert_uint_eq(sum_of(0, "reserved", true), counters[_i].stack_bytes);
    ck_assert_msg(strstr(import.told, counters[_i].told) != NULL, "%s", import.told);
    ck_assert_uint_eq(import_checks_replay(&import), 0);
}

static const struct import_refused refused[] = {
    {"device_stats/no_limit.txt", IMPORT_INCOMPLETE, 1, 3, "lack 'bytes_limit'; give --capacity"},
    {"device_usage/not_available.txt", IMPORT_INCOMPLETE, 0, 0, "no device's use and capacity"},
    {"torch_stats/zeros.json", IMPORT_INCOMPLETE, 0, 0, "or in another process"},
};

TEST(counters_that_say_nothing_are_refused, .to = sizeof refused / sizeof refused[0])
{
    import_checks_refused(&refused[_i], FIELD, "auto", &import);
}

TEST(sound_counters_fail_no_check)
{
    static const char *const sound[] = {"device_stats/reserved_most.json", "torch_stats/dict.txt",
                                        "torch_stats/summary.txt"};
    for (size_t i = 0; i < sizeof sound / sizeof sound[0]; i++) {
        import_counters(sound[i]);
        ck_assert_ptr_null(strstr(import.told, "a check fails"));
        import_deinit(&import);
        import_init(&import);
    }
}

/* The capacity is nobody's counter: it may be given, and the rest is free. */
TEST(a_capacity_that_is_given_is_free_beyond_what_is_reserved)
{
    const struct setup fixed = {.capacity_bytes = UINT64_C(80) << 30};
    const struct import_options options = {.fixed = &fixed};
    import_checks_file(FIELD "torch_stats/dict.txt", "torch_stats", &options, &import);
    ck_assert_uint_eq(import.setup.capacity_bytes, UINT64_C(80) << 30);
    ck_assert_str_eq(import.assumed, "");
    ck_assert_uint_eq(sum_of(0, "allocated", false), 1207959552);
    import_deinit(&import);
    import_init(&import);
    import_checks_file(FIELD "device_stats/no_limit.txt", "device_stats", &options, &import);
    ck_assert_uint_eq(sum_of(0, "in use", false), 9437184);
}

/* Each device of a dictionary of dictionaries, whatever brackets there are. */
TEST(forms_of_one_dictionary_are_the_same)
{
    static const char *const forms[] = {
        "{'bytes_in_use': 4096, 'bytes_limit': 65536, 'bytes_reserved': 8192}",
        "({\"bytes_in_use\":4096,\"bytes_limit\":65536,\"bytes_reserved\":8192},)",
        "[('bytes_in_use', 4096), ('bytes_limit', 65536), ('bytes_reserved', 8192)]",
        "bytes_in_use = 4.00 KiB\nbytes_limit = 64 KiB\nbytes_reserved = 8 KiB\n",
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        ck_assert_msg(import_text(forms[i], strlen(forms[i]), "auto", NULL, &import, &error) ==
                          IMPORT_OK,
                      "%s: %s", forms[i], error.reason);
        import_checks_ops(&import, "load size=512 stack=8K tag=2\nexecute program=0 delay=never\n"
                                   "alloc size=3584 tag=1\n");
    }
}

TEST(damage_is_refused_or_replays, .to = COUNTER_COUNT)
{
    import_checks_field_damage(counters[_i].name, 300, &import);
}
