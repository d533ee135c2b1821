/* The op lists of compare: files, or drawn by scenarios. */
#include "campaign/plan/lookup.h"
#include "harness/base/check.h"
#include "harness/lanes/lanes.h"
#include "harness/op/ops_file.h"
#include "ladder/versus/versus.h"
#include "measure/drawn_list.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is drawn when no list is given, and how much of it.  64 MiB is a capacity that every listed
 * target takes. */
static const char *const drawn_names[] = {"fragmentation_storm", "training_step",
                                          "queued_free_race", "crowded", "slow_leak"};
enum { DRAWN_COUNT = sizeof drawn_names / sizeof *drawn_names, DRAWN_OP_COUNT = 4000 };
#define DRAWN_CAPACITY_BYTES (UINT64_C(64) << 20)
/* The unit in which the recorder counts: small, so that little is lost to it. */
#define DRAWN_GRANULE_BYTES 512

/* --- drawn --- */

struct list_drawing {
    const struct scenario *scenario;
    const struct setup *setup;
};

/* Answers with the ops. */
static void draw_ops(void *context, int file)
{
    const struct list_drawing *drawing = context;
    struct op_list ops;
    char reason[RUN_REASON_BYTES] = "";
    op_list_init(&ops);
    if (drawn_list_make(&target_paged, drawing->scenario, drawing->setup, DRAWN_OP_COUNT, &ops,
                        reason)) {
        (void)file_write_all(file, ops.ops, ops.count * sizeof *ops.ops);
    }
    op_list_deinit(&ops);
}

static void init_drawn_setup(const struct versus_options *options, struct setup *setup)
{
    setup_init(setup);
    (void)snprintf(setup->target, sizeof setup->target, "%s", target_paged.name);
    setup->capacity_bytes = options->run->capacity_bytes == 0 ? DRAWN_CAPACITY_BYTES
                                                              : options->run->capacity_bytes;
    setup->granule_bytes = DRAWN_GRANULE_BYTES;
    setup->seed = options->run->has_seed ? options->run->seed : 1;
}

static enum exit_code draw_list(struct versus *versus, const char *name, struct versus_list *list)
{
    struct setup setup;
    struct list_drawing drawing = {.scenario = scenario_find(name), .setup = &setup};
    struct writing answer = {0};
    enum child_end end;
    CHECK(drawing.scenario != NULL);
    init_drawn_setup(versus->options, &setup);
    enum exit_code code = target_child(versus->options->run, &versus->death, draw_ops, &drawing,
                                       &answer, &end);
    if (code == EXIT_KEPT && (end != CHILD_DONE || answer.length < sizeof(struct op))) {
        code = message_fail(EXIT_USAGE,
                            "no list can be drawn on this capacity; give another --capacity, up to "
                            "64M, or op lists");
    }
    for (size_t i = 0; code == EXIT_KEPT && i < answer.length / sizeof(struct op); i++) {
        struct op op;
        memcpy(&op, answer.bytes + i * sizeof op, sizeof op);
        op_list_append(&list->ops, &op);
    }
    writing_deinit(&answer);
    (void)snprintf(list->name, sizeof list->name, "%s", name);
    list->setup.capacity_bytes = setup.capacity_bytes;
    list->setup.seed = setup.seed;
    (void)snprintf(list->setup.scenario, sizeof list->setup.scenario, "%s", name);
    return code;
}

/* --- files --- */

/* The name of the file without folder and ending. */
static void name_list(const char *path, char name[VERSUS_NAME_BYTES])
{
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    const size_t length = strlen(base) > 4 ? strlen(base) - 4 : strlen(base);
    (void)snprintf(name, VERSUS_NAME_BYTES, "%.*s", (int)length, base);
}

static const char *find_flaw(const struct setup *setup, const struct op_list *ops)
{
    if (lanes_are_in(ops)) {
        return "it has lanes; compare runs one client";
    }
    if (setup->host_count > 1) {
        return "it is of several hosts; compare runs one";
    }
    return setup->capacity_bytes == 0 ? "it names no capacity; give --capacity" : NULL;
}

static enum exit_code read_list(struct versus *versus, const char *path, struct versus_list *list)
{
    struct ops_file_error error = {0};
    struct setup *setup = &list->setup;
    if (ops_file_read(path, setup, &list->ops, &error) != OPS_FILE_OK) {
        return fail_in_file(path, error.line, error.column, error.reason);
    }
    if (versus->options->run->capacity_bytes != 0) {
        setup->capacity_bytes = versus->options->run->capacity_bytes;
    }
    const struct chip *chip = setup->chip[0] == '\0' ? NULL : chip_find(setup->chip);
    if (setup->capacity_bytes == 0 && chip != NULL) {
        setup->capacity_bytes = chip->capacity_bytes;
    }
    const char *flaw = find_flaw(setup, &list->ops);
    if (flaw != NULL) {
        return fail_in_file(path, 0, 0, flaw);
    }
    setup->chip[0] = '\0';
    setup->granule_bytes = 0; /* each target's own */
    setup->option_count = 0;
    setup->has_rounding = false;
    list->path = path;
    name_list(path, list->name);
    return EXIT_KEPT;
}

/* --- all --- */

enum exit_code versus_lists_read(struct versus *versus)
{
    const struct versus_options *options = versus->options;
    const size_t given_count = options->word_count - versus->side_count;
    enum exit_code code = EXIT_KEPT;
    versus->lists = calloc(given_count == 0 ? DRAWN_COUNT : given_count, sizeof *versus->lists);
    CHECK(versus->lists != NULL);
    const size_t wanted = given_count == 0 ? DRAWN_COUNT : given_count;
    while (code == EXIT_KEPT && versus->list_count < wanted) {
        struct versus_list *list = &versus->lists[versus->list_count];
        setup_init(&list->setup);
        op_list_init(&list->ops);
        code = given_count == 0
                   ? draw_list(versus, drawn_names[versus->list_count], list)
                   : read_list(versus, options->words[versus->side_count + versus->list_count],
                               list);
        list->peak = list_peak_find(&list->ops);
        versus->list_count++;
    }
    return code;
}

void versus_lists_deinit(struct versus *versus)
{
    for (size_t i = 0; i < versus->list_count; i++) {
        op_list_deinit(&versus->lists[i].ops);
    }
    free(versus->lists);
}
