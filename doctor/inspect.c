#include "doctor/doctor.h"

#include "campaign/base/interrupt.h"
#include "campaign/engine/output.h"
#include "campaign/plan/lookup.h"
#include "campaign/process/child.h"
#include "harness/base/check.h"
#include "harness/base/size.h"
#include "harness/base/target_option.h"
#include "harness/lanes/lanes.h"
#include "harness/op/limits.h"
#include "harness/run/run.h"
#include "infer/experiment.h"
#include "infer/inference.h"
#include "targets/adapters/adapters.h"
#include "targets/plugin.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What the child works on. */
struct inspection {
    const struct run_options *options;
    const struct target *target; /* NULL: it is loaded in the child */
    struct setup setup;
};

/* The answer begins with one of these: the target was not loaded, or it was. */
static const char mark_failed = 'f', mark_loaded = 'l';

/* --- why it cannot be loaded --- */

static const char *advise_loading(const char *reason)
{
    if (strstr(reason, "undefined symbol") != NULL) {
        return "link what defines that symbol into it; ldd -r lists all that are missing";
    }
    if (strstr(reason, "another machine") != NULL) {
        return "build it for this machine";
    }
    if (strstr(reason, "cannot open shared object file") != NULL) {
        return "ldd lists the libraries that it needs and does not find";
    }
    return "build it as a shared object: cc -shared -fPIC";
}

static const char *advise(enum plugin_result result, const char *reason)
{
    switch (result) {
    case PLUGIN_MISSING:
        return "name the file of a plug-in, as ./my_target.so";
    case PLUGIN_UNLOADABLE:
        return advise_loading(reason);
    case PLUGIN_NO_SYMBOL:
        return "it needs default visibility; hbmstress new-target writes one that has it";
    case PLUGIN_OTHER_ABI:
        return "the header to build it with is hbmstress/target.h of this version";
    case PLUGIN_TOO_SMALL:
    case PLUGIN_LACKS_CALL:
    case PLUGIN_INCONSISTENT:
        return "docs/targets.md says what each call must do";
    case PLUGIN_OK:
        break;
    }
    return "";
}

/* NULL: reason says why, and what to do. */
static const struct target *load(const char *name, struct writing *reason)
{
    static struct plugin plugin; /* it stays loaded until the process ends */
    char why[PLUGIN_REASON_BYTES];
    if (plugin_is_named(name)) {
        const enum plugin_result result = plugin_load(&plugin, name, why);
        if (result == PLUGIN_OK) {
            return plugin.target;
        }
        writing_append_format(reason, "%s; %s", why, advise(result, why));
        return NULL;
    }
    const struct target *target = adapter_of_file(name, why);
    if (target == NULL) {
        writing_append_format(reason, "cannot use %.250s: %s", name, why);
    }
    return target;
}

/* --- what it is --- */

static void put(struct facts *facts, const char *group, const char *name, const char *found)
{
    struct doctor_finding finding;
    doctor_find(&finding, DOCTOR_OK, "%s", found);
    finding.meaning[0] = finding.remedy[0] = '\0';
    doctor_tell(group, name, &finding, facts);
}

/* What is found, or the words for nothing. */
static void put_found(struct facts *facts, const char *name, struct writing *found,
                      const char *nothing)
{
    put(facts, "target", name, found->length == 0 ? nothing : writing_string(found));
    writing_deinit(found);
}

static void put_identity(const struct target *target, struct facts *facts)
{
    char version[16];
    (void)snprintf(version, sizeof version, "%u", target->abi_version);
    put(facts, "target", "name", target->name);
    put(facts, "target", "summary", target->summary);
    put(facts, "target", "ABI version", version);
    if (target->breaks != NULL) {
        put(facts, "target", "breaks on purpose", target->breaks);
    }
}

/* Its options, one after the other: in the table they stand one a line. */
static void put_options(const struct target *target, struct facts *facts)
{
    struct writing found = {0};
    struct target_option_shown shown;
    for (size_t at = 0; target_option_next(target, &at, &shown);) {
        writing_append_format(&found, "%s%.*s=%.*s", found.length == 0 ? "" : "; ",
                              (int)shown.key_length, shown.key, (int)shown.values_length,
                              shown.values);
    }
    put_found(facts, "options", &found, "none");
}

static void append_bound(struct writing *text, const char *words, uint64_t bytes)
{
    char size[SIZE_TEXT_BYTES];
    if (bytes != 0) {
        size_print(bytes, size);
        writing_append_format(text, "%s%s%s", text->length == 0 ? "" : ", ", words, size);
    }
}

static void put_limits(const struct target *target, struct facts *facts)
{
    const struct target_limits *limits = &target->limits;
    struct writing found = {0};
    append_bound(&found, "at least ", limits->smallest_capacity_bytes);
    append_bound(&found, "at most ", limits->largest_capacity_bytes);
    append_bound(&found, "a multiple of ", limits->capacity_step_bytes);
    append_bound(&found, "requests of at most ", limits->largest_size_bytes);
    append_bound(&found, "alignments of at most ", limits->largest_align_bytes);
    put_found(facts, "capacity", &found, "any");
}

static void put_calls(const struct target *target, struct facts *facts)
{
    const struct {
        const char *name;
        bool is_there;
    } calls[] = {{"use", target->use != NULL},
                 {"hold and release", target->hold != NULL},
                 {"donate", target->donate != NULL},
                 {"load, execute and unload", target->load != NULL},
                 {"defragment", target->defragment != NULL},
                 {"retire", target->retire != NULL},
                 {"locate", target->locate != NULL},
                 {"report", target->report != NULL},
                 {"read and write", target->read != NULL},
                 {"sleep and wake", target->sleep != NULL},
                 {"record_begin, record_end and record_drop", target->record_begin != NULL}};
    struct writing found[2] = {{0}, {0}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct writing *list = &found[calls[i].is_there];
        writing_append_format(list, "%s%s", list->length == 0 ? "" : "; ", calls[i].name);
    }
    put_found(facts, "optional calls", &found[1], "");
    put_found(facts, "calls it lacks", &found[0], "");
}

/* Each field that says anything. */
static void put_contract(const struct target_contract *contract, struct facts *facts)
{
    static const struct target_contract nothing;
    for (int i = 0; i < FIELD_COUNT; i++) {
        char declared[INFERENCE_TEXT_BYTES] = "", of_nothing[INFERENCE_TEXT_BYTES] = "";
        inference_declared((enum inference_field)i, contract, declared);
        inference_declared((enum inference_field)i, &nothing, of_nothing);
        if (strcmp(declared, of_nothing) != 0) {
            put(facts, "contract", inference_field_name((enum inference_field)i), declared);
        }
    }
    const char *why = lanes_why_not(contract);
    put(facts, "target", "lanes", why == NULL ? "it can be run with them" : why);
}

/* --- in the child --- */

/* With little memory first; a target with regions needs more. */
static struct run *open_target(struct inspection *inspection, const struct target *target,
                               char reason[RUN_REASON_BYTES])
{
    struct run *run = NULL;
    const bool is_given = inspection->setup.capacity_bytes != 0;
    for (int has_regions = 0; run == NULL && has_regions <= !is_given; has_regions++) {
        if (!is_given) {
            inspection->setup.capacity_bytes = experiment_capacity_bytes(has_regions != 0);
            limits_keep_setup(&target->limits, &inspection->setup);
        }
        run = run_create(target, &inspection->setup, reason);
    }
    return run;
}

static void describe(const struct inspection *inspection, const struct target *target,
                     const struct run *run, struct writing *text)
{
    char size[SIZE_TEXT_BYTES];
    struct facts facts = {0};
    put_identity(target, &facts);
    put_options(target, &facts);
    put_limits(target, &facts);
    size_print(inspection->setup.capacity_bytes, size);
    put(&facts, "target", "opened with", size);
    put_calls(target, &facts);
    put_contract(model_contract(run_model(run, 0)), &facts);
    facts_print(&facts, inspection->options->is_json ? FACTS_JSON : FACTS_WORDS, text);
    facts_deinit(&facts);
}

static void write_answer(int file, enum exit_code code, const struct writing *text)
{
    (void)file_write_all(file, &code, sizeof code);
    (void)file_write_all(file, text->bytes, text->length);
}

static void inspect(void *context, int file)
{
    struct inspection *inspection = context;
    const char *name = inspection->options->target;
    char reason[RUN_REASON_BYTES];
    struct writing text = {0};
    const struct target *target = inspection->target != NULL ? inspection->target
                                                             : load(name, &text);
    (void)file_write_all(file, target == NULL ? &mark_failed : &mark_loaded, 1);
    if (target == NULL) {
        write_answer(file, EXIT_USAGE, &text);
        writing_deinit(&text);
        return;
    }
    struct run *run = open_target(inspection, target, reason);
    if (run == NULL) {
        writing_append_format(&text, "target %.250s is loaded, but refuses to open: %s", name,
                              reason);
    } else {
        describe(inspection, target, run, &text);
        run_destroy(run);
    }
    write_answer(file, run == NULL ? EXIT_USAGE : EXIT_KEPT, &text);
    writing_deinit(&text);
}

/* --- in the parent --- */

static enum exit_code fail_dead(const char *name, bool is_loaded, enum child_end end,
                                const char *death)
{
    const char *when = is_loaded ? "opened" : "loaded";
    if (end == CHILD_NOT_BORN) {
        return message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
    }
    if (end == CHILD_FAULTY) {
        return message_fail(EXIT_HARNESS, "internal error: %s. Please report this.", death);
    }
    if (end == CHILD_STOPPED && interrupt_is_requested()) {
        return message_fail(EXIT_HARNESS, "interrupted");
    }
    const enum exit_code code = is_loaded ? EXIT_BROKEN : EXIT_USAGE;
    if (end == CHILD_STOPPED) {
        return message_fail(code, "target %s hangs when it is %s", name, when);
    }
    return message_fail(code, "target %s ends its process when it is %s: %s", name, when,
                        death[0] == '\0' ? "it exits" : death);
}

/* The mark is the first byte; the rest is what output_answer prints. */
static enum exit_code take_answer(const struct run_options *options, struct writing *answer)
{
    enum exit_code code;
    CHECK(answer->length >= 1 + sizeof code);
    memcpy(&code, answer->bytes + 1, sizeof code);
    if (code != EXIT_KEPT) {
        return message_fail(code, "%s", answer->bytes + 1 + sizeof code);
    }
    struct writing rest = {0};
    writing_append_bytes(&rest, answer->bytes + 1, answer->length - 1);
    code = output_answer(options->is_json, &rest);
    writing_deinit(&rest);
    return code;
}

enum exit_code doctor_inspect(const struct run_options *options)
{
    struct inspection inspection = {.options = options};
    char death[CHILD_DEATH_BYTES];
    setup_init(&inspection.setup);
    enum exit_code code = setup_override(&inspection.setup, options);
    if (code == EXIT_KEPT && !plugin_is_named(options->target) &&
        !adapter_is_file(options->target)) {
        code = lookup_target(options->target, &inspection.target);
    }
    if (code != EXIT_KEPT) {
        return code;
    }
    struct writing answer = {0};
    const enum child_end end = child_run(inspect, &inspection, options->trial_timeout_ns, true,
                                         &answer, death);
    code = end == CHILD_DONE
               ? take_answer(options, &answer)
               : fail_dead(options->target, answer.length > 0 && answer.bytes[0] == mark_loaded,
                           end, death);
    writing_deinit(&answer);
    return code;
}
