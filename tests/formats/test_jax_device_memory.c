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

EVERY_TEST(.timeout_s = 300, .setup = profile_setup, .teardown = profile_teardown);

TEST(every_cut_is_said)
{
    profile_assert_cuts_are_said(FIELD "small.prof", "jax_device_memory", 13);
}

TEST(damage_is_survived)
{
    profile_assert_damage_is_survived(FIELD "small.prof", "jax_device_memory", 4000);
}

/* --- one sample --- */

/* A profile of one buffer sample with this field 2 (values, packed), and what comes behind. */
static enum import_result import_sample(const char *values, size_t values_length, const char *more,
                                        size_t more_length)
{
    static const char head[] = "\x0A\x04\x08\x01\x10\x02\x0A\x04\x08\x03\x10\x04";
    static const char label[] = "\x1A\x04\x08\x05\x10\x06";
    static const char texts[] = "\x32\0\x32\x0B"
                                "allocations\x32\x05"
                                "count\x32\x05"
                                "space\x32\x05"
                                "bytes\x32\x04"
                                "kind"
                                "\x32\x06"
                                "buffer";
    char text[256];
    size_t length = sizeof head - 1;
    memcpy(text, head, length);
    text[length++] = '\x12';
    text[length++] = (char)(2 + values_length + more_length + sizeof label - 1);
    text[length++] = '\x12';
    text[length++] = (char)values_length;
    memcpy(text + length, values, values_length);
    length += values_length;
    memcpy(text + length, label, sizeof label - 1);
    length += sizeof label - 1;
    memcpy(text + length, more, more_length);
    length += more_length;
    memcpy(text + length, texts, sizeof texts - 1);
    length += sizeof texts - 1;
    return import_text(text, length, "auto", NULL, &profile_import, &profile_error);
}

#define BYTES(text) text, sizeof text - 1
static const struct {
    const char *values;
    size_t values_length;
    const char *more;
    size_t more_length;
    enum import_result result;
    const char *reason; /* part of it */
} samples[] = {
    {BYTES("\x02\x10"), BYTES(""), IMPORT_OK, ""},
    {BYTES("\x02"), BYTES(""), IMPORT_INVALID, "1 values, fewer than the profile has types"},
    {BYTES("\x01\x01\x01\x01\x01\x01\x01\x01\x01"), BYTES(""), IMPORT_INVALID,
     "more than 8 values"},
    {BYTES("\x81\x80\x80\x02\x81\x80\x80\x02"), BYTES(""), IMPORT_INVALID, "has more than 4194304"},
    {BYTES("\x80\x80\x80\x02\x80\x80\x80\x02"), BYTES(""), IMPORT_OK, ""},
    {BYTES("\x01\x81\x80\x80\x80\x80\x80\x80\x02"), BYTES(""), IMPORT_INVALID,
     "has more than 2^50"},
    {BYTES("\x01\x80\x80\x80\x80\x80\x80\x80\x02"), BYTES(""), IMPORT_OK, ""},
    {BYTES("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x01"), BYTES(""), IMPORT_INVALID,
     "the number of its blocks is -1, below 0"},
    {BYTES("\x01\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"), BYTES(""), IMPORT_INVALID,
     "its size is -2; below 0, only -1 for each block is accepted"},
    {BYTES("\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"), BYTES(""), IMPORT_INCOMPLETE,
     "nothing in the profile has a known size"},
    {BYTES("\x05\x03"), BYTES(""), IMPORT_OK, ""}, /* three blocks of a byte, and two of none */
    {BYTES("\x02\x10"), BYTES("\x1A\x02\x08\x07"), IMPORT_INCOMPLETE,
     "text 7 is not in the profile, which has 7"},
    {BYTES("\x02\x10"), BYTES("\x0A\x01\x09"), IMPORT_INVALID, "location 9 is not in the profile"},
    {BYTES("\x02\xFF"), BYTES(""), IMPORT_INVALID, "a message ends within a field"},
};

TEST(samples_are_held_against_their_bounds, .to = sizeof samples / sizeof samples[0])
{
    const enum import_result result = import_sample(samples[_i].values, samples[_i].values_length,
                                                    samples[_i].more, samples[_i].more_length);
    ck_assert_msg(result == samples[_i].result, "%s", profile_error.reason);
    ck_assert_msg(result == IMPORT_OK || strstr(profile_error.reason, samples[_i].reason) != NULL,
                  "%s", profile_error.reason);
}

TEST(more_blocks_than_bytes_are_empty_but_for_the_bytes)
{
    ck_assert_int_eq(import_sample(BYTES("\x05\x03"), BYTES("")), IMPORT_OK);
    profile_assert_ops("alloc size=1\nalloc size=1\nalloc size=1\n");
    ck_assert_ptr_nonnull(
        strstr(profile_import.notes, "left out: 2 executables or buffers of 0 bytes"));
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
    ck_assert_msg((strstr(profile_import.notes, note) != NULL) == (count > 0), "%s:\n%s", note,
                  profile_import.notes);
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
    profile_load(path, "jax_device_memory");
    for (size_t i = 0; i < profile_import.ops.count; i++) {
        const struct op *op = &profile_import.ops.ops[i];
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
           expected->file, found.buffer_count, found.device_bytes[0],
           profile_import.setup.host_count, found.program_count, found.program_bytes);
}
