/* A JAX device-memory profile: its samples, cuts and damage, and real ones with the sums of their
 * files.  What ours become is in tests/snap/formats_jax_device_memory.snap. */
#include "tests/formats/profile_imports.h"
#include "tests/helpers/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/jax_device_memory/"
#define DATA HBMSTRESS_FIELD_DATA "/data/xla_profiler/"

EVERY_TEST(.timeout_s = 300, .setup = setup_import, .teardown = teardown_import);

TEST(every_cut_is_said)
{
    profile_assert_cuts_are_said(FIELD "small.prof", "jax_device_memory", 13);
}

TEST(damage_is_survived)
{
    profile_assert_damage_is_survived(FIELD "small.prof", "jax_device_memory", 4000);
}

/* --- real profiles --- */

/* Counted by another reader of the files. */
struct expected {
    const char *file;
    uint64_t buffer_count, program_count, empty_count, unknown_count;
    uint64_t device_bytes[8]; /* of buffers, 0 behind the last */
    uint64_t program_bytes;
};
static const struct expected real_files[] = {
    {"ajax_d49314.prof", 266, 58, 24, 0, {172002251}, 31024},
    {"jax_dips_a05476.prof", 29, 40, 0, 0, {11173628524}, 1055680},
    {"microjax_2a1094.prof", 4, 86, 13, 0, {32064}, 1023096},
    {"scalingexperiments_400c29.prof",
     1234,
     0,
     0,
     149,
     {3296659456, 2893977600, 2893977600, 2893977600, 2893977600, 2893977600, 2893977600,
      2893977600},
     0},
};

static void assert_note(const char *format, uint64_t count)
{
    char note[64];
    snprintf(note, sizeof note, format, count);
    ck_assert_msg((strstr(import.notes, note) != NULL) == (count > 0), "%s:\n%s", note,
                  import.notes);
}

TEST(real_profiles_have_the_sums_of_their_files, .to = sizeof real_files / sizeof real_files[0])
{
    const struct expected *expected = &real_files[_i];
    struct expected found = {0};
    char path[4096];
    snprintf(path, sizeof path, DATA "%s", expected->file);
    if (access(path, R_OK) != 0) {
        printf("skipped: no %s\n", path);
        return;
    }
    load_recognised(path, "jax_device_memory");
    for (size_t i = 0; i < import.ops.count; i++) {
        const struct op *op = &import.ops.ops[i];
        const bool is_program = op->kind == OP_LOAD;
        ck_assert(is_program || op->kind == OP_ALLOC);
        *(is_program ? &found.program_count : &found.buffer_count) += 1;
        *(is_program ? &found.program_bytes : &found.device_bytes[op->host]) += op->size_bytes;
    }
    ck_assert_uint_eq(found.buffer_count, expected->buffer_count);
    ck_assert_uint_eq(found.program_count, expected->program_count);
    ck_assert_uint_eq(found.program_bytes, expected->program_bytes);
    for (int i = 0; i < 8; i++) {
        ck_assert_uint_eq(found.device_bytes[i], expected->device_bytes[i]);
    }
    assert_note("left out: %" PRIu64 " executables or buffers of 0 bytes", expected->empty_count);
    assert_note("left out: %" PRIu64 " executables or buffers of unknown size",
                expected->unknown_count);
    profile_assert_replay();
    printf("%-31s %4" PRIu64 " buffers, %11" PRIu64 " bytes on device 0 of %" PRIu32 ", %2" PRIu64
           " executables, "
           "%7" PRIu64 " bytes: as in the file\n",
           expected->file, found.buffer_count, found.device_bytes[0], import.setup.host_count,
           found.program_count, found.program_bytes);
}
