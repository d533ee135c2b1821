/* scale: one job on several hosts, batches, chips and capacities, and what grew. */
#include "cli/subcommands.h"
#include "ladder/scale/scale.h"

static enum exit_code scale_subcommand(const struct arguments *arguments)
{
    const struct scale_options given = arguments_scaling(arguments);
    return scale_run(&given);
}

const struct subcommand subcommand_scale = {
    .name = "scale",
    .summary = "run one job on more hosts, batches, chips: where it stops to fit",
    .usage = "[SCENARIO|FILE.ops] [options]",
    .description =
        "Runs one job again and again, with each combination of the values that --hosts, --chip,\n"
        "--capacity and -S list, and prints a row for each: whether it fits or where it runs out of\n"
        "memory, what limits it, the peak of the fullest host, and the largest program.  Then it searches\n"
        "for the value of each axis that just fits.  The job is a scenario (default: training, until\n"
        "step 300) or an op list, of which the device can vary, and the batch.  The first value of each\n"
        "LIST is the base: --one-axis varies one at a time, and the sizes of the job are for the first\n"
        "device.\n"
        "The seed is 1 unless --seed says otherwise.  --out FILE stores the rows; --against FILE reports\n"
        "what changed since.\n"
        "docs/scale.md says more.",
    .exits = {[EXIT_KEPT] = "every promise kept, whether the job fits or not",
              [EXIT_BROKEN] =
                  "a promise was broken, the target crashed, or something grew beyond --grew",
              [EXIT_USAGE] = "bad usage or input: nothing was run",
              [EXIT_UNKNOWN] = "an out-of-memory stayed unknown",
              [EXIT_HARNESS] = "hbmstress itself failed"},
    .examples =
        {"hbmstress scale training --hosts 1,2,4,8 --chip v4,v5e -S leak=none -S batch=8,16"},
    .options = "--target --target-option --hosts --chip --capacity --scenario-option --batch "
               "--one-axis --search --until --ops --seed --out --against --grew --trial-timeout "
               "--op-timeout --workers --json",
    .word_count_min = 0,
    .word_count_max = 1,
    .word_name = "SCENARIO",
    .takes_own_forms = true,
    .run = scale_subcommand,
};
