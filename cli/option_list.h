/* The options of the command line alone, one row each, for includers that define OPTION and
 * OPTION_ROW and undefine them afterwards: as campaign/plan/run_option_list.h has those of a run,
 * but that the members are those of struct arguments.  A subcommand names the rows that it takes.
 */
/* clang-format off */
OPTION(NUMBER, kv_bytes_per_token, "--kv-bytes-per-token", .argument = "N",
       /* 2^40 bytes, and below a token each nanosecond, are beyond what anybody serves. */
       .least = 1, .most = UINT64_C(1) << 40, .wrong = "is not a number from 1 to 2^40",
       .help = "request traces: bytes of KV cache per token (default 327680)")
OPTION(NUMBER, kv_tokens_per_second, "--kv-tokens-per-second", .argument = "N",
       .least = 1, .most = 1000000000, .wrong = "is not a number from 1 to 10^9",
       .help = "request traces: tokens that a request generates per second (default 25)")
OPTION_ROW("--output", .alias = "-o", .argument = "FILE", .set = set_output,
           .help = "write to FILE (default: standard output; of report: report.html); report-bug: the new "
                   "directory to write")
OPTION(TEXT, format, "--format", .alias = "-f", .argument = "FORMAT",
       .help = "the format of FILE (default auto; list formats)")
OPTION(TEXT, to, "--to", .argument = "KIND",
       .help = "what to write: ops, or a trace for another tool (list exporters)")
OPTION_ROW("--at", .argument = "MOMENT", .set = set_at,
           .help = "the moment that a profile shows: peak (default), failure (the first out-of-memory), "
                   "or after the op of a number")
OPTION(FLAG, has_sweep, "--sweep",
       .help = "fail each device call of one op list per scenario: the 1st, the 2nd ... (default 400 ops)")
OPTION(NUMBER, replay_count, "--times", .argument = "N", .least = 1, .most = UINT64_MAX - 1,
       .help = "replay the list N times and check that each replay gives the same result")
OPTION_ROW("--after", .argument = "FILE", .kind = OPTION_TEXTS, FIELD(after), FLAG(after_count),
           .most = ARGUMENTS_AFTER_COUNT_MAX,
           .wrong = "is one file too many: 4096 can run before the list",
           .help = "run this list first, in the same process, without judging it; may be repeated")
OPTION(FLAG, has_baseline, "--baseline",
       .help = "print the findings of a campaign as known ones, and write no page")
OPTION(FLAG, has_shrink, "--shrink",
       .help = "find a shorter list that gives the same finding, and write it")
OPTION(FLAG, has_compare, "--compare",
       .help = "FILE is a log of any format: report where the run differs from it")
OPTION(TEXT, certificates, "--certificates", .argument = "DIR",
       .help = "write the certificate of each out-of-memory to DIR")
OPTION(TEXT, list, "--list", .argument = "FILE",
       .help = "each certificate must be about an out-of-memory of this op list")
OPTION(TEXT, observations, "--observations", .argument = "FILE",
       .help = "with --list: all facts of each certificate must follow from the list and this log")
OPTION(TEXT, resume, "--resume", .argument = "DIR",
       .help = "continue the campaign in DIR, whatever ended it")
OPTION(FLAG, has_what_if, "--what-if",
       .help = "run the list under each change that might help, and print a table")
OPTION(TEXT, what_if_out, "--what-if-out", .argument = "DIR",
       .help = "--what-if, and write the op list of each change to DIR; other files there stay")
OPTION(TEXT, checkpoint_tags, "--checkpoint-tags", .argument = "TAGS", FLAG(has_what_if),
       .help = "--what-if, with checkpointing of these tags (names or numbers, separated by commas)")
OPTION(FLAG, has_timeline, "--timeline",
       .help = "print the numbers over time: each step when it was fullest")
OPTION(TEXT, svg, "--svg", .argument = "FILE", .help = "draw memory over time and the heap to FILE")
OPTION(PERCENT, alarm_percent, "--alarm", .argument = "PERCENT", .least = 1, .most = 100,
       .wrong = "is not a percentage from 1% to 100%, such as 90%",
       .help = "report each peak that fills this share of its device or more, such as 90%")
OPTION(TEXT, contract, "--contract", .argument = "old|new|declared|inferred|none",
       .help = "judge refusals by the contract of old or new, of each itself (declared, inferred), or "
               "without size classes (none)")
OPTION(NUMBER, refused_max, "--refused-max", .argument = "N", .most = UINT64_MAX / 2,
       .wrong = "is not a number",
       .help = "requests that NEW may refuse more than OLD on one list (default 0)")
OPTION(PERCENT, premature_max, "--premature-max", .argument = "PERCENT", .most = 1000000,
       .help = "points by which the premature share of NEW may be higher (default 0)")
OPTION(PERCENT, capacity_max, "--capacity-max", .argument = "PERCENT", .most = 1000000, .usual = 1,
       .help = "by how much the smallest capacity of NEW may be larger (default 1%)")
OPTION(PERCENT, cost_max, "--cost-max", .argument = "PERCENT", .most = 1000000, FLAG(has_cost_max),
       .help = "by how much NEW may take more instructions per op (default: not judged)")
OPTION(FLAG, has_robson, "--robson",
       .help = "in place of op lists, play Robson's adversary (its options: list scenarios, robson)")
OPTION(FLAG, has_follow, "--follow",
       .help = "for the DIR of a campaign: update the display until the campaign ends, or ctrl-C")
OPTION(TEXT, language, "--lang", .argument = "c|c++",
       .help = "the language of the plug-in, c or c++ (default c)")
OPTION(TEXT, returns, "--returns", .argument = "offsets|pointers",
       .help = "what your allocate returns: offsets into the device, or pointers into an arena (default "
               "offsets)")
OPTION(TEXT, meet, "--meet", .argument = "WHERE",
       .help = "run one rank, which meets the others at HOST:PORT or at the path of a socket")
OPTION(NUMBER, rank, "--rank", .argument = "R", .most = OP_HOST_COUNT_MAX - 1,
       .wrong = "is not a rank from 0 to 63",
       .help = "with --meet: which one (default: as mpirun or srun says)")
OPTION(TEXT, pace, "--pace", .argument = "N",
       .help = "seconds that really pass for each second of the list (default 0.001)")
OPTION(DURATION, patience_ns, "--patience", .argument = "DURATION",
       /* Below this nobody can tell a stopped process from one that did not get a processor. */
       .least = 500000000, .most = UINT64_MAX / 2,
       .wrong = "is not a duration of at least 500ms, such as 5s",
       .help = "how long a rank may make no progress before others stop waiting for it (default 5s)")
OPTION(TEXT, merge, "--merge", .argument = "DIR",
       .help = "write what the ranks left in DIR as one list for replay")
OPTION(TEXT, host_list, "--hosts", .argument = "LIST",
       .help = "simulated hosts, 1 to 64 (default 1,2,4,8 if nothing is varied)")
OPTION(TEXT, chip_list, "--chip", .argument = "LIST",
       .help = "chips of the device (list chips); the sizes of the job are for the first one")
OPTION(TEXT, capacity_list, "--capacity", .alias = "-c", .argument = "LIST",
       .help = "capacities of the device, such as 8G,16G; the sizes of the job are for the first one")
OPTION_ROW("--scenario-option", .alias = "-S", .argument = "KEY=LIST", .kind = OPTION_TEXTS,
           FIELD(option_lists), FLAG(option_list_count), .most = ARGUMENTS_OPTION_LIST_COUNT_MAX,
           .wrong = "is one option too many: 8 can be given",
           .help = "values of an option of the scenario (list scenarios); may be repeated")
OPTION(TEXT, batch_list, "--batch", .argument = "LIST",
       .help = "of an op list: batches in percent of its own, 1 to 6400, such as 50,100,200; an estimate")
OPTION(FLAG, varies_one_axis, "--one-axis",
       .help = "vary one option at a time, the others at their first value (default: all combinations)")
OPTION(NUMBER, search_count, "--search", .argument = "N", .most = 1000, .usual = 20,
       .wrong = "is not a number from 0 to 1000 (0 = no search)",
       .help = "runs that each search for the value that just fits may use (default 20, 0 = do not "
               "search)")
OPTION(TEXT, against, "--against", .argument = "PATH",
       .help = "scale: what --out wrote before, to report what changed, and fail if something grew; "
               "report: the campaign or the trace before")
OPTION(PERCENT, grew_max, "--grew", .argument = "PERCENT", .most = 1000000, .usual = 1,
       .help = "with --against: by how much peaks and programs may grow (default 1%)")
OPTION(NUMBER, block_count, "--blocks", .argument = "N",
       /* A list of so many takes 300 MB of host memory, and a device as large as a pod. */
       .least = 1, .most = 1000000,
       .help = "measure devices with N live blocks, 1 to 1000000 (default: 1000, 10000 and 100000)")
OPTION(NUMBER, full_percent, "--full", .argument = "PERCENT", .least = 1, .most = 99,
       .help = "measure devices that are so full, 1 to 99 (default: 70, 95 and 99)")
OPTION(NUMBER, step_count, "--steps", .argument = "N", .least = 1, .most = 1000000,
       .help = "each repeat frees and allocates N times, 1 to 1000000, however long it takes (default: as "
               "often as --time allows, 250000 times at most)")
OPTION(SIZE, peak_max, "--peak", .argument = "SIZE", .wrong = "is not a size such as 30G",
       .help = "the most bytes that each host may have in use")
OPTION_ROW("--tag-peak", .argument = "NAME=SIZE", .set = set_tag_peak,
           .help = "the most bytes that blocks of this tag may have on each host; may be repeated")
OPTION(SIZE, growth_max, "--growth-per-step", .argument = "SIZE",
       .wrong = "is not a size such as 0 or 4K",
       .help = "by how much the least that is in use may rise from step to step, such as 0 or 4K")
OPTION_ROW("--fragmentation", .argument = "PERCENT", .set = set_fragmentation,
           .help = "the share of what is free that may lie outside the largest hole, such as 5%")
OPTION(NUMBER, oom_max, "--ooms", .argument = "N", .most = UINT32_MAX, .wrong = "is not a number",
       .help = "requests that may be refused (default 0)")
OPTION(NUMBER, warmup_count, "--warmups", .argument = "N", .most = 1000000,
       .help = "steps that --growth-per-step and --fragmentation leave out at the beginning (default 1)")
OPTION(FLAG, has_help, "--help", .alias = "-h", .help = "print this text")
OPTION(FLAG, has_version, "--version", .help = "print the version")
