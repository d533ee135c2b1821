/* doctor: what this machine has, what is skipped for what it lacks, and the command that mends it.
 */
#include "campaign/base/interrupt.h"
#include "campaign/engine/output.h"
#include "cli/subcommands.h"
#include "doctor/doctor.h"

#include <string.h>

static const char adapter_group[] = "adapters", default_out[] = "out";

/* The state that goes through all rows. */
struct examination {
    struct doctor doctor;
    struct output output;
    struct facts facts;
    struct doctor_summary summary;
    const char *group; /* of the row before */
};

static void put(struct examination *examination, const char *group, const char *name,
                bool is_needed, const struct doctor_finding *finding)
{
    struct writing *broken = &examination->summary.broken;
    if (examination->group == NULL) {
        facts_line(&examination->facts, "%s", group);
    } else if (strcmp(group, examination->group) != 0) {
        facts_heading(&examination->facts, "%s", group);
    }
    doctor_tell(group, name, finding, &examination->facts);
    output_facts(&examination->output, &examination->facts);
    examination->group = group;
    examination->summary.counts[finding->state]++;
    if (is_needed && finding->state != DOCTOR_OK && finding->state != DOCTOR_LIMITED) {
        writing_append_format(broken, "%s%s", broken->length == 0 ? "" : ", ", name);
    }
}

/* Nobody reads it any more, it cannot be written, or the user interrupted. */
static bool is_over(const struct examination *examination)
{
    return examination->output.is_failed || examination->output.is_pipe_closed ||
           interrupt_is_requested();
}

static void look_at_all(struct examination *examination)
{
    struct doctor_finding finding;
    for (const struct doctor_row *row = doctor_rows; row->name != NULL; row++) {
        doctor_look(row, &examination->doctor, &finding);
        if (is_over(examination)) {
            return;
        }
        put(examination, row->group, row->name, row->is_needed, &finding);
    }
    for (size_t i = 0; adapters[i] != NULL; i++) {
        doctor_look_at_adapter(&examination->doctor, i, &finding);
        if (is_over(examination)) {
            return;
        }
        put(examination, adapter_group, adapters[i]->name, false, &finding);
    }
}

static enum exit_code conclude(struct examination *examination)
{
    if (interrupt_is_requested()) {
        return message_fail(EXIT_HARNESS, "interrupted");
    }
    const enum exit_code code = examination->summary.broken.length > 0 ? EXIT_HARNESS : EXIT_KEPT;
    doctor_tell_summary(&examination->summary, code, &examination->facts);
    output_facts(&examination->output, &examination->facts);
    return examination->output.is_failed ? EXIT_HARNESS : code;
}

static enum exit_code doctor_subcommand(const struct arguments *arguments)
{
    const struct run_options *options = &arguments->run;
    if (options->target != NULL) {
        return doctor_inspect(options);
    }
    struct examination examination = {.group = NULL};
    doctor_init(&examination.doctor, "", options->out == NULL ? default_out : options->out,
                options->trial_timeout_ns);
    output_init(&examination.output, options->is_json);
    look_at_all(&examination);
    const enum exit_code code = conclude(&examination);
    writing_deinit(&examination.summary.broken);
    facts_deinit(&examination.facts);
    return code;
}

const struct subcommand subcommand_doctor = {
    .name = "doctor",
    .summary = "print what this machine has, what is skipped, and what mends it",
    .usage = "[--out DIR] [--target NAME|FILE.so] [--json]",
    .description =
        "Looks at the program, the machine and its limits, the engines for fuzzing, the tools of tests and\n"
        "builds, drivers and devices, and the library of each adapter.  Each line has a state: ok, limited,\n"
        "missing, broken or unknown.  Below one that is not ok stands what that means and, where one\n"
        "command mends it, that command.  Nothing is changed; a small file is written to the folder of --out\n"
        "(default: out) and removed.\n\n"
        "With --target it looks at that target alone: it loads and opens it in another process and prints its\n"
        "version, options, limits, calls and contract, or in one line why it cannot be used.  docs/doctor.md\n"
        "says more.",
    .exits =
        {[EXIT_KEPT] =
             "hbmstress can do its work here, whatever extras are missing; the target can be used",
         [EXIT_BROKEN] = "with --target: it crashes or hangs when it is opened",
         [EXIT_USAGE] = "bad usage, or the target of --target cannot be used",
         [EXIT_HARNESS] = "hbmstress cannot do its work here"},
    .examples = {"hbmstress doctor", "hbmstress doctor --target ./my_target.so"},
    .options = "--target --target-option --capacity --out --trial-timeout --json",
    .word_count_max = 0,
    .run = doctor_subcommand,
};
