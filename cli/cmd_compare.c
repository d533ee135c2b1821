/* compare: one or two builds of an allocator on the same op lists. */
#include "cli/subcommands.h"
#include "ladder/versus/versus.h"

static enum exit_code compare_subcommand(const struct arguments *arguments)
{
    static const char of_robson[] =
        "--robson --target-option --scenario-option --seed --trial-timeout --op-timeout "
        "--json";
    static const char of_ops[] =
        "--blocks --full --steps --time --target-option --trial-timeout --op-timeout --json";
    const bool benches = arguments_has(arguments, "--blocks --full --steps --time");
    const char *of_way = arguments->has_robson ? of_robson : benches ? of_ops : NULL;
    const struct versus_options given = {
        .run = &arguments->run,
        .words = arguments->words,
        .word_count = arguments->word_count,
        .contract = arguments->contract,
        .plays_robson = arguments->has_robson,
        .benches = benches && !arguments->has_robson,
        .besides = of_way == NULL ? NULL : arguments_gave_besides(arguments, of_way),
        .block_count = arguments->block_count,
        .full_percent = arguments->full_percent,
        .step_count = arguments->step_count,
        .refused_max = arguments->refused_max,
        .premature_max = arguments->premature_max,
        .capacity_max = arguments->capacity_max,
        .cost_max = arguments->cost_max,
        .has_cost_max = arguments->has_cost_max};
    return versus_run(&given);
}

const struct subcommand subcommand_compare = {
    .name = "compare",
    .summary = "compare two builds of an allocator on the same op lists",
    .usage =
        "OLD NEW [FILE.ops ...] [options]\n       hbmstress compare TARGET [FILE.ops ...] [options]\n"
        "       hbmstress compare [TARGET] --blocks N | --full P | --steps N | --time T",
    .description =
        "Runs two builds of one allocator, listed targets or plug-ins, on the same op lists: which requests\n"
        "each serves, how many refusals are premature, the smallest capacity that serves the whole list,\n"
        "and what a call costs.  Without FILE.ops the lists are drawn by scenarios from --seed (default 1)\n"
        "on 64M.  Of one TARGET it prints the measurements.\n"
        "Where NEW is worse than a threshold allows, the list that shows it is shrunk and written to\n"
        "OUT/regression-LIST.ops.  If the two contracts differ, --contract says by which the refusals are\n"
        "judged.  docs/compare.md says more.\n"
        "With --robson an adversary chooses each size and each free by where the blocks lie: what each build\n"
        "uses then, beside the bound for any allocator that moves nothing (docs/allocators.md).\n"
        "With --blocks, --full, --steps or --time it measures what an op of a steady state costs, alone\n"
        "and under all checks, on devices 70, 95 and 99 % full of 1,000 to 100,000 blocks.  Without\n"
        "TARGET it does so of the null target, which under all checks is what hbmstress itself costs,\n"
        "and of libhbm.  That takes half a minute (--time), and more on a busy machine, where the\n"
        "figures are larger.",
    .exits =
        {[EXIT_KEPT] = "no regression; or one target was measured",
         [EXIT_BROKEN] = "NEW is worse than a threshold allows",
         [EXIT_USAGE] = "bad usage or input; or the contracts differ, and no --contract is given",
         [EXIT_HARNESS] = "hbmstress itself failed"},
    .examples = {"hbmstress compare main/my_target.so build/my_target.so",
                 "hbmstress compare main/my_target.so build/my_target.so --annotate github",
                 "hbmstress compare first_fit --robson -S live=1024 -S largest=64",
                 "hbmstress compare hbm --blocks 10000 --full 99 --steps 5000"},
    .options =
        "--target-option --capacity --seed --contract --refused-max --premature-max "
        "--capacity-max --cost-max --shrink-budget --out --trial-timeout --op-timeout --robson "
        "--scenario-option --blocks --full --steps --time --annotate --json",
    .word_count_min = 0,
    .word_count_max = VERSUS_SIDE_COUNT_MAX + VERSUS_LIST_COUNT_MAX,
    .word_name = "TARGET",
    .run = compare_subcommand,
};
