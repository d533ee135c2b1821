/* The rows of scale: what the command line says of the job and of its axes. */
#include "campaign/plan/lookup.h"
#include "campaign/plan/plan.h"
#include "diagnosis/largest_batch.h"
#include "harness/base/check.h"
#include "harness/base/size.h"
#include "harness/generate/scenario_option.h"
#include "harness/lanes/lanes.h"
#include "harness/op/limits.h"
#include "ladder/scale/scale.h"
#include "scenarios/scenarios.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char default_scenario[] = "training", default_hosts[] = "1,2,4,8";
/* The option with which a scenario keeps its sizes on another device. */
static const char sized_for[] = "sized_for";
enum { UNTIL_DEFAULT = 300, NAME_COUNT_MAX = 64 };
#define CAPACITY_BYTES_MAX (UINT64_C(1) << 50) /* as of --capacity elsewhere */

/* --- values --- */

static const struct {
    const char *flag;
    uint64_t most; /* of numbers, which begin with 1; of hosts and batches without a unit */
    const char *words;
} kinds[] = {
    [SCALE_HOSTS] = {"--hosts", OP_HOST_COUNT_MAX, "number from 1 to 64"},
    [SCALE_CHIP] = {.flag = "--chip"},
    [SCALE_CAPACITY] = {"--capacity", CAPACITY_BYTES_MAX,
                        "size from 1 to 1024T, such as 512, 64M or 16G"},
    [SCALE_OPTION] = {.flag = "--scenario-option"},
    [SCALE_BATCH] = {"--batch", LARGEST_BATCH_PERCENT_MAX, "number of percent from 1 to 6400"}};

/* What the option cannot be alone; what the hosts make of it shows in the rows. */
static enum exit_code check_option_value(const struct scale_axis *axis, const char *value)
{
    uint64_t number;
    char values[SCENARIO_OPTION_HELP_BYTES];
    if (scenario_option_parse(axis->option, value, &number)) {
        return EXIT_KEPT;
    }
    scenario_option_print_values(axis->option, values);
    return message_fail(EXIT_USAGE, "--scenario-option %s: '%s' is none of %s", axis->name, value,
                        values);
}

static enum exit_code check_value(const struct scale_axis *axis, const char *value)
{
    const struct chip *chip;
    uint64_t number;
    if (axis->kind == SCALE_CHIP) {
        return lookup_chip(value, &chip);
    }
    if (axis->kind == SCALE_OPTION) {
        return check_option_value(axis, value);
    }
    return scale_read_value(axis, value, &number) && number >= 1 && number <= kinds[axis->kind].most
               ? EXIT_KEPT
               : message_fail(EXIT_USAGE, "%s: '%s' is not a %s", kinds[axis->kind].flag, value,
                              kinds[axis->kind].words);
}

static bool has_value(const struct scale_axis *axis, const char *value)
{
    for (size_t i = 0; i < axis->count; i++) {
        if (strcmp(axis->values[i], value) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds the values of a list "a,b,c". */
static enum exit_code read_values(struct scale_axis *axis, const char *list)
{
    while (true) {
        const size_t length = strcspn(list, ",");
        char value[SCALE_VALUE_BYTES];
        if (length == 0 || length >= sizeof value) {
            return message_fail(EXIT_USAGE, "%s: a value %s", kinds[axis->kind].flag,
                                length == 0 ? "is empty" : "has more than 63 bytes");
        }
        memcpy(value, list, length);
        value[length] = '\0';
        const enum exit_code code = check_value(axis, value);
        if (code != EXIT_KEPT) {
            return code;
        }
        if (has_value(axis, value) || axis->count == SCALE_VALUE_COUNT_MAX) {
            return message_fail(EXIT_USAGE, "%s: '%s' is %s", kinds[axis->kind].flag, value,
                                has_value(axis, value) ? "there twice" : "one value too many");
        }
        memcpy(axis->values[axis->count++], value, sizeof value);
        if (list[length] == '\0') {
            return EXIT_KEPT;
        }
        list += length + 1;
    }
}

/* --- axes --- */

static enum exit_code add_axis(struct scale *scale, enum scale_axis_kind kind, const char *name,
                               const char *list)
{
    struct scale_axis *axis = &scale->axes[scale->axis_count];
    if (scale->axis_count == SCALE_AXIS_COUNT_MAX) {
        return message_fail(EXIT_USAGE, "at most %d things can be varied", SCALE_AXIS_COUNT_MAX);
    }
    axis->kind = kind;
    (void)snprintf(axis->name, sizeof axis->name, "%s", name);
    axis->option = kind == SCALE_OPTION ? scenario_option_find(scale->scenario, name) : NULL;
    scale->axis_count++;
    return read_values(axis, list);
}

/* KEY=LIST. */
static enum exit_code add_option_axis(struct scale *scale, const char *text)
{
    const char *equals = strchr(text, '=');
    struct setup setup;
    char reason[SCENARIO_OPTION_REASON_BYTES];
    setup_init(&setup);
    struct setup_option *option = &setup.scenario_options[0];
    const size_t length = equals == NULL ? 0 : (size_t)(equals - text);
    if (length == 0 || length >= sizeof option->key) {
        return message_fail(EXIT_USAGE, "--scenario-option: '%s' is not KEY=VALUE,...", text);
    }
    memcpy(option->key, text, length);
    option->key[length] = '\0';
    setup.scenario_option_count = 1;
    if (scenario_option_find(scale->scenario, option->key) == NULL) {
        (void)scenario_options_check(scale->scenario, &setup, reason);
        return message_fail(EXIT_USAGE, "%s", reason);
    }
    for (size_t i = 0; i < scale->axis_count; i++) {
        if (strcmp(scale->axes[i].name, option->key) == 0) {
            return message_fail(EXIT_USAGE, "--scenario-option: '%s' is given twice", option->key);
        }
    }
    return add_axis(scale, SCALE_OPTION, option->key, equals + 1);
}

static enum exit_code add_device_axis(struct scale *scale)
{
    const struct scale_options *options = scale->options;
    if (options->capacity_list != NULL) {
        return options->chip_list != NULL
                   ? message_fail(EXIT_USAGE, "--chip and --capacity both set the capacity; give "
                                              "one of them")
                   : add_axis(scale, SCALE_CAPACITY, "capacity", options->capacity_list);
    }
    if (options->chip_list != NULL) {
        return add_axis(scale, SCALE_CHIP, "chip", options->chip_list);
    }
    if (scale->scenario == NULL) {
        return EXIT_KEPT; /* the file's own */
    }
    return add_axis(scale, SCALE_CHIP, "chip",
                    scale->scenario->chip == NULL ? "v5e" : scale->scenario->chip);
}

/* Without any axis the hosts are it, where the job is one of several hosts. */
static enum exit_code add_hosts_axis(struct scale *scale)
{
    const struct scale_options *options = scale->options;
    const bool has_axis = options->chip_list != NULL || options->capacity_list != NULL ||
                          options->option_list_count > 0;
    if (options->host_list != NULL) {
        return add_axis(scale, SCALE_HOSTS, "hosts", options->host_list);
    }
    if (scale->scenario == NULL || !scale->scenario->counts_steps) {
        return EXIT_KEPT; /* the file's, or the scenario's choice */
    }
    return add_axis(scale, SCALE_HOSTS, "hosts", has_axis ? "1" : default_hosts);
}

/* A list is what it is. */
static enum exit_code check_list_axes(const struct scale *scale)
{
    const struct scale_options *options = scale->options;
    const char *given = options->host_list != NULL        ? "--hosts"
                        : options->option_list_count > 0  ? "--scenario-option"
                        : options->run->until_step != 0   ? "--until"
                        : options->run->op_count_max != 0 ? "--ops"
                        : options->run->has_seed          ? "--seed"
                                                          : NULL;
    return scale->scenario != NULL || given == NULL
               ? EXIT_KEPT
               : message_fail(
                     EXIT_USAGE,
                     "%s: an op list is run as it is; --chip, --capacity and --batch vary it",
                     given);
}

static enum exit_code add_batch_axis(struct scale *scale)
{
    const char *list = scale->options->batch_list;
    if (list == NULL) {
        return EXIT_KEPT;
    }
    return scale->scenario == NULL
               ? add_axis(scale, SCALE_BATCH, "batch%", list)
               : message_fail(EXIT_USAGE, "--batch applies to op lists; of a scenario, -S "
                                          "batch=8,16 varies the batch, if it has that option");
}

static enum exit_code read_axes(struct scale *scale)
{
    const struct scale_options *options = scale->options;
    enum exit_code code = check_list_axes(scale);
    code = code == EXIT_KEPT ? add_hosts_axis(scale) : code;
    code = code == EXIT_KEPT ? add_device_axis(scale) : code;
    code = code == EXIT_KEPT ? add_batch_axis(scale) : code;
    for (size_t i = 0; code == EXIT_KEPT && i < options->option_list_count; i++) {
        code = add_option_axis(scale, options->option_lists[i]);
    }
    return code;
}

/* The axis of the device, chip or capacity; axis_count: there is none. */
static size_t find_device_axis(const struct scale *scale)
{
    size_t i = 0;
    while (i < scale->axis_count && scale->axes[i].kind != SCALE_CHIP &&
           scale->axes[i].kind != SCALE_CAPACITY) {
        i++;
    }
    return i;
}

/* --- the job --- */

static uint64_t capacity_of(enum scale_axis_kind kind, const char *value)
{
    uint64_t bytes = 0;
    if (kind == SCALE_CHIP) {
        return chip_find(value)->capacity_bytes;
    }
    CHECK(size_parse(value, strlen(value), &bytes));
    return bytes;
}

/* The device of the base, as run and replay take it. */
static void fix_device(const struct scale *scale, struct run_options *options)
{
    const struct scale_axis *axis = &scale->axes[find_device_axis(scale)];
    if (axis == &scale->axes[scale->axis_count]) {
        return;
    }
    if (axis->kind == SCALE_CHIP) {
        options->chip = axis->values[0];
    } else {
        options->capacity_bytes = capacity_of(axis->kind, axis->values[0]);
    }
}

/* Sizes that follow the device are no job that another device could have. */
static enum exit_code check_devices(const struct scale *scale)
{
    const struct scale_axis *axis = &scale->axes[find_device_axis(scale)];
    if (scale->scenario == NULL || axis->count < 2) {
        return EXIT_KEPT;
    }
    if (scenario_option_find(scale->scenario, sized_for) == NULL) {
        return message_fail(EXIT_USAGE,
                            "%s: the sizes of '%s' follow the device, so that it fits each alike; "
                            "give a list of it (run --keep 1) in its place",
                            kinds[axis->kind].flag, scale->scenario->name);
    }
    if (capacity_of(axis->kind, axis->values[0]) % 1024 != 0) {
        return message_fail(EXIT_USAGE, "--capacity: the first of several is a multiple of 1K");
    }
    return EXIT_KEPT;
}

static enum exit_code plan_scenario(struct scale *scale)
{
    struct run_options options = *scale->options->run;
    struct plan plan = {0};
    enum exit_code code = check_devices(scale);
    if (code != EXIT_KEPT) {
        return code;
    }
    options.names = &scale->scenario->name;
    options.name_count = 1;
    options.until_step = options.until_step == 0 && scale->scenario->counts_steps
                             ? UNTIL_DEFAULT
                             : options.until_step;
    fix_device(scale, &options);
    code = plan_make(&options, options.has_seed ? options.seed : 1, &plan);
    code = code == EXIT_KEPT ? plan_check_work(&plan, "run") : code;
    if (code == EXIT_KEPT) {
        scale->base = plan.parts[0].setup;
        scale->base.seed = options.has_seed ? options.seed : 1;
        scale->target = plan.parts[0].target;
    }
    plan_deinit(&plan);
    return code;
}

static enum exit_code plan_list(struct scale *scale)
{
    struct run_options run = *scale->options->run;
    const char *path = scale->options->words[0];
    fix_device(scale, &run);
    const enum exit_code code = recording_read(path, (struct recording_options){.run = &run}, false,
                                               &scale->recording);
    if (code != EXIT_KEPT) {
        return code;
    }
    scale->base = scale->recording.setup;
    scale->target = scale->recording.target;
    return lanes_are_in(&scale->recording.ops)
               ? fail_in_file(path, 0, 0, "it has lanes; scale runs one client")
               : EXIT_KEPT;
}

/* What the word names: a file has a dot or a slash in its name, and no scenario has. */
static enum exit_code find_job(struct scale *scale)
{
    const struct scale_options *options = scale->options;
    const char *word = options->word_count == 0 ? default_scenario : options->words[0];
    if (strpbrk(word, "./") != NULL || strcmp(word, "-") == 0) {
        return EXIT_KEPT;
    }
    return lookup_scenario(word, &scale->scenario);
}

/* --- rows --- */

static bool set_option(struct setup *setup, const char *key, const char *value)
{
    if (setup->scenario_option_count == SETUP_SCENARIO_OPTION_COUNT_MAX) {
        return false;
    }
    struct setup_option *option = &setup->scenario_options[setup->scenario_option_count++];
    (void)snprintf(option->key, sizeof option->key, "%s", key);
    (void)snprintf(option->value, sizeof option->value, "%s", value);
    return true;
}

static void set_device(const struct scale *scale, const struct scale_axis *axis, const char *value,
                       struct setup *setup)
{
    const uint64_t base_bytes = capacity_of(axis->kind, axis->values[0]);
    char kibibytes[SETUP_NAME_BYTES];
    const uint64_t bytes = capacity_of(axis->kind, value);
    if (scale->scenario == NULL) {
        setup_set_capacity(setup, bytes);
    } else {
        setup->capacity_bytes = bytes;
    }
    (void)snprintf(setup->chip, sizeof setup->chip, "%s", axis->kind == SCALE_CHIP ? value : "");
    if (scale->scenario != NULL && setup->capacity_bytes != base_bytes &&
        !scenario_option_is_given(setup, sized_for)) {
        (void)snprintf(kibibytes, sizeof kibibytes, "%" PRIu64, base_bytes >> 10);
        (void)set_option(setup, sized_for, kibibytes);
    }
}

uint64_t scale_batch_percent(const struct scale *scale, const struct scale_point *point)
{
    for (size_t i = 0; i < scale->axis_count; i++) {
        if (scale->axes[i].kind == SCALE_BATCH) {
            return strtoull(point->values[i], NULL, 0);
        }
    }
    return 0;
}

bool scale_make_setup(const struct scale *scale, const struct scale_point *point,
                      struct setup *setup, char reason[RUN_REASON_BYTES])
{
    const size_t device = find_device_axis(scale);
    *setup = scale->base;
    for (size_t i = 0; i < scale->axis_count; i++) {
        if (scale->axes[i].kind == SCALE_HOSTS) {
            setup_set_hosts(setup, (uint32_t)strtoul(point->values[i], NULL, 0));
        } else if (scale->axes[i].kind == SCALE_OPTION) {
            (void)set_option(setup, scale->axes[i].name, point->values[i]);
        }
    }
    if (device < scale->axis_count) { /* after the options, which may say for which it is sized */
        set_device(scale, &scale->axes[device], point->values[device], setup);
    }
    char wrong[LIMITS_REASON_BYTES];
    if (!limits_take_capacity(&scale->target->limits, setup->capacity_bytes, wrong)) {
        (void)snprintf(reason, RUN_REASON_BYTES, "%s", wrong);
        return false;
    }
    return scale->scenario == NULL || scenario_options_check(scale->scenario, setup, reason);
}

void scale_name(const struct scale *scale, const struct scale_point *point, size_t without,
                char name[SCALE_NAME_BYTES])
{
    size_t used = 0;
    name[0] = '\0';
    for (size_t i = 0; i < scale->axis_count; i++) {
        if (i != without) {
            used += (size_t)snprintf(name + used, SCALE_NAME_BYTES - used, "%s%s=%s",
                                     used == 0 ? "" : " ", scale->axes[i].name, point->values[i]);
        }
    }
}

/* Value number `index` on the axis, the base on the others; or all combinations, the last axis
 * fastest. */
static void choose_point(const struct scale *scale, size_t row, struct scale_point *point)
{
    for (size_t i = scale->axis_count; i-- > 0;) {
        const struct scale_axis *axis = &scale->axes[i];
        size_t index = row % axis->count;
        row /= axis->count;
        memcpy(point->values[i], axis->values[index], sizeof point->values[i]);
    }
}

static size_t count_away_from_base(const struct scale *scale, const struct scale_point *point)
{
    size_t count = 0;
    for (size_t i = 0; i < scale->axis_count; i++) {
        count += strcmp(point->values[i], scale->axes[i].values[0]) != 0;
    }
    return count;
}

static enum exit_code make_rows(struct scale *scale)
{
    size_t count = 1;
    for (size_t i = 0; i < scale->axis_count && count <= SCALE_ROW_COUNT_MAX; i++) {
        count *= scale->axes[i].count;
    }
    if (count > SCALE_ROW_COUNT_MAX) {
        return message_fail(EXIT_USAGE, "the axes have more than %d combinations",
                            SCALE_ROW_COUNT_MAX);
    }
    scale->rows = calloc(count, sizeof *scale->rows);
    CHECK(scale->rows != NULL);
    for (size_t i = 0; i < count; i++) {
        struct scale_point *point = &scale->rows[scale->row_count].point;
        choose_point(scale, i, point);
        scale->row_count += !scale->options->varies_one_axis ||
                            count_away_from_base(scale, point) <= 1;
    }
    return EXIT_KEPT;
}

/* At least one row is a job. */
static enum exit_code check_rows(const struct scale *scale)
{
    struct setup setup;
    char reason[RUN_REASON_BYTES], first[RUN_REASON_BYTES] = "";
    for (size_t i = 0; i < scale->row_count; i++) {
        if (scale_make_setup(scale, &scale->rows[i].point, &setup, reason)) {
            return EXIT_KEPT;
        }
        if (i == 0) {
            memcpy(first, reason, sizeof first);
        }
    }
    return message_fail(EXIT_USAGE, "%s", first);
}

enum exit_code scale_plan(struct scale *scale)
{
    enum exit_code code = find_job(scale);
    code = code == EXIT_KEPT ? read_axes(scale) : code;
    if (code == EXIT_KEPT) {
        code = scale->scenario == NULL ? plan_list(scale) : plan_scenario(scale);
    }
    code = code == EXIT_KEPT ? make_rows(scale) : code;
    return code == EXIT_KEPT ? check_rows(scale) : code;
}

void scale_deinit(struct scale *scale)
{
    recording_deinit(&scale->recording);
    facts_deinit(&scale->changes);
    free(scale->rows);
    free(scale->edges);
}
