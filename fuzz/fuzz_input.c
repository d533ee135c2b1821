/* Makes fuzz inputs of .ops files and of scenarios, and .ops files of fuzz inputs. */
#include "fuzz/input.h"
#include "fuzz/player.h"
#include "fuzz/subject.h"
#include "harness/base/size.h"
#include "harness/op/ops_file.h"
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXIT_BAD_INPUT = 2,
    EXIT_OUR_FAULT = 4,
    SEED_OP_COUNT_MAX = 160,
    INPUT_FILE_BYTES_MAX = 1 << 24
};

static const char help[] =
    "usage: fuzz_input from-ops FOLDER FILE.ops ...   writes each op list as an input FOLDER/FILE\n"
    "       fuzz_input to-ops INPUT                   prints the input as .ops text, in one lane\n"
    "       fuzz_input scenarios FOLDER COUNT         writes COUNT inputs of each scenario, seeds 1 to COUNT\n"
    "\n"
    "An input stores no tag names, and only the target options that docs/fuzzing-reference.md lists.\n"
    "Example: fuzz_input from-ops inputs corpus/regressions/hbm_block_left_on_the_host.ops\n"
    "Exit: 0 done, 2 bad usage or input, 4 a file cannot be written\n";

static int fail_file(const char *path, const char *reason, int status)
{
    (void)fprintf(stderr, "fuzz_input: %s: %s\n", path, reason);
    return status;
}

static int write_input(const char *path, const struct input *input)
{
    const size_t length = input_encode(input, NULL, 0);
    uint8_t *bytes = malloc(length);
    FILE *file = bytes == NULL ? NULL : fopen(path, "wb");
    if (file == NULL) {
        free(bytes);
        return fail_file(path, strerror(errno), EXIT_OUR_FAULT);
    }
    (void)input_encode(input, bytes, length);
    const bool is_written = fwrite(bytes, 1, length, file) == length;
    free(bytes);
    if (fclose(file) != 0 || !is_written) {
        (void)remove(path);
        return fail_file(path, "cannot be written in full", EXIT_OUR_FAULT);
    }
    return 0;
}

/* "FOLDER/name" of path's last part, without its ending. */
static void name_input(const char *folder, const char *path, char *name, size_t name_bytes)
{
    const char *slash = strrchr(path, '/');
    const char *last = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(last, '.');
    const int length = (int)(dot == NULL ? strlen(last) : (size_t)(dot - last));
    (void)snprintf(name, name_bytes, "%s/%.*s", folder, length, last);
}

static int from_ops(const char *folder, const char *path)
{
    char name[4096];
    struct setup setup;
    struct ops_file_error error;
    struct op_list ops;
    struct input input;
    op_list_init(&ops);
    input_init(&input);
    int status = 0;
    if (ops_file_read(path, &setup, &ops, &error) != OPS_FILE_OK) {
        (void)fprintf(stderr, "fuzz_input: %s:%zu:%zu: %s\n", path, error.line, error.column,
                      error.reason);
        status = EXIT_BAD_INPUT;
    } else if (!input_from_ops(&setup, &ops, &input)) {
        status = fail_file(path, "an input cannot store its capacity, or more than 100000 ops",
                           EXIT_BAD_INPUT);
    } else {
        name_input(folder, path, name, sizeof name);
        status = write_input(name, &input);
    }
    input_deinit(&input);
    op_list_deinit(&ops);
    return status;
}

static int to_ops(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return fail_file(path, strerror(errno), EXIT_BAD_INPUT);
    }
    uint8_t *bytes = malloc(INPUT_FILE_BYTES_MAX);
    if (bytes == NULL) {
        (void)fclose(file);
        return fail_file(path, "out of memory", EXIT_OUR_FAULT);
    }
    const size_t length = fread(bytes, 1, INPUT_FILE_BYTES_MAX, file);
    const bool is_read = ferror(file) == 0;
    (void)fclose(file);
    if (!is_read) {
        free(bytes);
        return fail_file(path, "cannot be read", EXIT_BAD_INPUT);
    }
    struct input input;
    input_init(&input);
    input_decode(bytes, length, &input);
    for (size_t i = 0; i < input.ops.count; i++) {
        input.ops.ops[i].lane = 0; /* as the targets without a schedule play it */
    }
    player_keep_known_options(subject(), &input.setup);
    (void)snprintf(input.setup.target, sizeof input.setup.target, "%s", subject_name());
    ops_file_print(stdout, &input.setup, &input.ops, NULL);
    input_deinit(&input);
    free(bytes);
    return fflush(stdout) == 0 && ferror(stdout) == 0
               ? 0
               : fail_file("standard output", "cannot be written", EXIT_OUR_FAULT);
}

/* Small devices: a fuzzer's lists are short, and states that matter are full ones. */
static const uint64_t capacities[] = {32 << 10, 64 << 10, 128 << 10, 512 << 10};
static const char *const defrags[] = {"repack", "slide", "none"};

static int make_seed(const char *folder, const struct scenario *scenario, uint64_t seed)
{
    char name[4096];
    char reason[RUN_REASON_BYTES];
    struct setup setup;
    struct trial trial;
    struct input input;
    setup_init(&setup);
    setup.seed = seed;
    setup.capacity_bytes = capacities[seed % (sizeof capacities / sizeof capacities[0])];
    (void)setup_set_option(&setup, "defrag", defrags[seed % 3]);
    const struct trial_plan plan = {.target = &target_hbm,
                                    .scenario = scenario,
                                    .setup = &setup,
                                    .op_count_max = 16 + seed * 37 % SEED_OP_COUNT_MAX};
    if (!trial_run(&plan, NULL, &trial, reason)) {
        return fail_file(scenario->name, reason, EXIT_OUR_FAULT);
    }
    input_init(&input);
    (void)snprintf(name, sizeof name, "%s/%s-%" PRIu64, folder, scenario->name, seed);
    const int status = input_from_ops(&trial.setup, &trial.ops, &input)
                           ? write_input(name, &input)
                           : fail_file(scenario->name, "an input cannot store its setup",
                                       EXIT_OUR_FAULT);
    input_deinit(&input);
    trial_deinit(&trial);
    return status;
}

static int make_seeds(const char *folder, const char *count_text)
{
    uint64_t count = 0;
    if (!number_parse(count_text, strlen(count_text), &count) || count == 0 || count > 100000) {
        return fail_file(count_text, "the count must be 1 to 100000", EXIT_BAD_INPUT);
    }
    for (size_t i = 0; scenarios[i] != NULL; i++) {
        /* An input has no form for hosts that share a device. */
        for (uint64_t seed = 1; seed <= count && !scenarios[i]->shares_device; seed++) {
            const int status = make_seed(folder, scenarios[i], seed);
            if (status != 0) {
                return status;
            }
        }
    }
    return 0;
}

int main(int argument_count, char **arguments)
{
    const char *command = argument_count > 1 ? arguments[1] : "";
    if (strcmp(command, "--help") == 0) {
        return fputs(help, stdout) < 0 || fflush(stdout) != 0 ? EXIT_OUR_FAULT : 0;
    }
    if (strcmp(command, "to-ops") == 0 && argument_count == 3) {
        return to_ops(arguments[2]);
    }
    if (argument_count > 3 && arguments[2][0] == '\0') {
        return fail_file(command, "the name of the folder is empty", EXIT_BAD_INPUT);
    }
    if (strcmp(command, "scenarios") == 0 && argument_count == 4) {
        return make_seeds(arguments[2], arguments[3]);
    }
    if (strcmp(command, "from-ops") == 0 && argument_count > 3) {
        int status = 0;
        for (int i = 3; i < argument_count && status == 0; i++) {
            status = from_ops(arguments[2], arguments[i]);
        }
        return status;
    }
    (void)fputs(help, stderr);
    return EXIT_BAD_INPUT;
}
