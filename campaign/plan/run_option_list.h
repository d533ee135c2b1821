/* The options of a run, one row each, for includers that define OPTION and OPTION_ROW and undefine
 * them afterwards.  The command line and job files read them; --help, the manual and completions
 * show them in this order.
 *
 *     OPTION(kind, member, name, members of struct option_row ...)
 *     OPTION_ROW(name, members of struct option_row ...)
 *
 * `member` is one of struct run_options, of the type that the kind has (harness/base/option.h):
 * the row alone declares it.  What OPTION_ROW sets is declared in run_options.h. */
/* clang-format off */
OPTION(TEXT, target, "--target", .alias = "-t", .argument = "NAME|FILE.so", .key = "target",
       .most = SETUP_VALUE_BYTES - 1,
       .help = "the allocator under test: a listed target or a plug-in (default: the file's, with its "
               "options, or hbm)")
OPTION_ROW("--target-option", .alias = "-O", .argument = "KEY=VALUE", .set = set_target_option,
           .help = "an option of the target; may be repeated")
OPTION_ROW("--scenario-option", .alias = "-S", .argument = "KEY=VALUE", .set = set_scenario_option,
           .help = "an option of the scenario (list scenarios); may be repeated")
OPTION(TEXT, chip, "--chip", .argument = "CHIP", .key = "chip",
       .help = "give the device the capacity of this chip (list chips)")
OPTION(SIZE, capacity_bytes, "--capacity", .alias = "-c", .argument = "SIZE", .key = "capacity",
       .least = 1, .most = UINT64_C(1) << 50, /* no device has more */
       .wrong = "is not a size from 1 to 1024T, such as 512, 64M or 16G",
       .help = "the capacity of the device, such as 512, 64M or 16G")
OPTION(NUMBER, host_count, "--hosts", .argument = "N", .key = "hosts",
       .least = 1, .most = OP_HOST_COUNT_MAX,
       .help = "simulated hosts, 1 to 64 (default: the file's or the scenario's choice)")
OPTION(NUMBER, seed, "--seed", .alias = "-s", .argument = "N", .key = "seed", .is_global = true,
       FLAG(has_seed), .wrong = "is not a number from 0 to 2^64-1",
       .help = "the seed of all random choices (default: the file's, the commit's with --job, or the "
               "clock's)")
OPTION(NUMBER, op_count_max, "--ops", .alias = "-n", .argument = "N", .key = "ops",
       .least = 1, .most = UINT64_MAX - 1,
       .help = "ops per scenario, and as many with lanes (default 20000, slow_leak 230000; no bound "
               "with --time or --seeds)")
OPTION(NUMBER, trial_count_max, "--seeds", .argument = "N", .key = "seeds",
       .least = 1, .most = UINT64_MAX - 1,
       .help = "trials of each scenario, each with its own seed (default: as many as --ops and --time "
               "allow)")
OPTION(NUMBER, until_step, "--until", .argument = "STEP", .key = "until",
       .least = 1, .most = 10000000, .wrong = "is not a number of steps from 1 to 10000000",
       .help = "the last step of the job, its first being 1; run, for a scenario that counts them "
               "(training): one trial, unless --seeds says more, with the logs of its hosts in DIR/logs")
OPTION(DURATION, duration_ns, "--time", .argument = "DURATION", .key = "time", .is_global = true,
       .least = 1, .most = UINT64_MAX / 2,
       .help = "wall time of the whole run, such as 30s, 10m or 8h")
OPTION(NUMBER, worker_count, "--workers", .alias = "-j", .argument = "N", .least = 1, .most = 256,
       .help = "processes that share the trials, 1 to 256 (default: one per processor, at most 64)")
OPTION(TEXT, job, "--job", .argument = "JOB",
       .help = "read what to run from an ini file: its path, or a name of hbmstress list jobs")
OPTION(TEXT, out, "--out", .argument = "DIR",
       .help = "the folder to write to (of run: results.jsonl, repros/ and certificates/, default out); "
               "of scale the file of its rows")
OPTION(TEXT, baseline, "--baseline", .argument = "FILE",
       .help = "known findings, from hbmstress report --baseline: only others make the run red")
OPTION(NUMBER, replay_sample, "--replay-sample", .argument = "N", .usual = 32,
       .wrong = "is not a number (0 = never)",
       .help = "run one trial in N of each part twice and compare (default 32, 0 = never)")
OPTION(NUMBER, shrink_budget, "--shrink-budget", .argument = "N", .usual = 20000,
       .wrong = "is not a number (0 = keep the whole list)",
       .help = "replays that shrinking may use (default 20000, 0 = do not shrink)")
OPTION(NUMBER, keep_count, "--keep", .argument = "N", .key = "keep", FLAG(has_keep),
       .wrong = "is not a number from 0 to 2^64-1 (0 = no list is kept)",
       .help = "save the op lists of the first N trials of each part in DIR/kept, whatever came of them "
               "(default 0)")
OPTION(SIZE, results_limit_bytes, "--results-limit", .argument = "SIZE", .usual = UINT64_C(64) << 20,
       .help = "beyond this size of results.jsonl and kept lists, keep no more and list no justified "
               "verdicts (default 64M)")
OPTION(DURATION, trial_timeout_ns, "--trial-timeout", .argument = "DURATION",
       .least = 1, .most = UINT64_MAX / 2, .usual = UINT64_C(600) * 1000000000,
       .help = "a trial that takes longer is a hang (default 10m)")
OPTION(DURATION, op_timeout_ns, "--op-timeout", .argument = "DURATION",
       .least = 1, .most = UINT64_MAX / 2, .usual = UINT64_C(20) * 1000000000,
       .help = "a call of the target that uses more processor time, or waits longer, is a hang (default "
               "20s)")
OPTION_ROW("--faults", .argument = "FAULTS", .key = "faults", .set = set_faults,
           FIELD(faults), FLAG(has_faults),
           .help = "faults to insert between ops: none, all, or names separated by commas (list faults, "
                   "and retire; default: all in every second trial; in a job file none)")
OPTION_ROW("--weights", .argument = "LIST", .key = "weights", .set = set_weights,
           FIELD(weights), FLAG(has_weights),
           .help = "KIND:PERCENT,...: how often the generator draws each kind of op (100 = unchanged, "
                   "0 = never)")
OPTION(NUMBER, regret_max, "--regret-max", .argument = "N", .key = "regret_max", FLAG(has_regret_max),
       .wrong = "is not a number from 0 to 2^64-1 (0 = none is allowed)",
       .help = "a trial with more than N regretted requests breaks the promise 'regret'")
OPTION_ROW("--rounding", .argument = "ROUNDING", .key = "rounding", .set = set_rounding,
           FIELD(rounding), FLAG(has_rounding),
           .help = "how large blocks may be: granule, any or classes=N [smallest=SIZE] [overhead=SIZE] "
                   "(default: the file's or the target's contract)")
OPTION_ROW("--unknown-rate", .argument = "LIST", .key = "unknown_rate", .is_global = true,
           .set = set_unknown_rate, FIELD(unknown_rates), FLAG(has_unknown_rate),
           .help = "CLASS:RATE,...: which share of all out-of-memories may stay unknown (plain, aligned, "
                   "held; default none)")
OPTION(NUMBER, unrepeated_max, "--allow-unrepeated", .argument = "N", .key = "allow_unrepeated",
       .is_global = true, .wrong = "is not a number from 0 to 2^64-1 (0 = none is allowed)",
       .help = "verdicts that cannot be repeated and are no failure (default 0)")
OPTION(TEXT, trace, "--trace", .argument = "FILE", .key = "trace", .most = TRACE_PATH_BYTES - 1,
       .help = "run a field trace (list formats) in place of scenarios: as it is, then varied by seed")
OPTION_ROW("--vary", .argument = "LIST", .key = "vary", .set = set_vary, FIELD(vary), FLAG(has_vary),
           .help = "what trials make of a trace: none, or any of amplify=N interleave=self|none|FILE "
                   "scale=PERCENT,... skew=DURATION format=NAME (default amplify=3 interleave=self "
                   "scale=50,200 skew=1s format=auto)")
OPTION_ROW("--lanes", .argument = "N", .key = "lanes", .set = set_lanes,
           FIELD(lanes.lane_count), FLAG(lanes.has_lanes),
           .help = "client threads, 2 to 16, whose calls are interleaved, or none (default: some trials "
                   "have 3; in a job file none)")
OPTION_ROW("--schedules", .argument = "N", .key = "schedules", .kind = OPTION_NUMBER,
           FIELD(lanes.schedule_count), FLAG(lanes.has_schedules),
           .wrong = "is not a number (0 = all schedules, with the strategy exhaustive)",
           .help = "interleavings to try of each op list (default 200; 0 = all, with exhaustive)")
OPTION_ROW("--strategy", .argument = "STRATEGY[=N]", .key = "strategy", .set = set_strategy,
           FIELD(lanes.strategy),
           .help = "what decides which lane runs next (list strategies; default portfolio)")
OPTION_ROW("--backend", .argument = "fibers|threads|free|auto", .key = "backend", .kind = OPTION_WORD,
           FIELD(lanes.backend), FLAG(lanes.has_backend),
           .words = "auto|threads|fibers|free", /* by enum lane_backend */
           .wrong = "is neither threads nor fibers nor free nor auto",
           .help = "what lanes run on: fibers, threads, free or auto (default: threads for plug-ins)")
OPTION_ROW("--free-running", .set = set_free_running,
           .help = "run lanes on all cores without a schedule: not exactly replayable")
OPTION_ROW("--check-races", .key = "check_races", .kind = OPTION_FLAG,
           FIELD(lanes.checks_races), FLAG(lanes.has_races),
           .help = "check plain accesses of an explored target against happens-before")
OPTION_ROW("--shard", .argument = "I/N|auto", .set = set_shard,
           .help = "run the I-th of N parts of the campaign; hbmstress merge joins their DIRs; auto: the "
                   "part of this rank of mpirun or srun, in DIR/rank-I")
OPTION_ROW("--annotate", .argument = "github|gitlab", .kind = OPTION_WORD,
           FIELD(annotation), .least = ANNOTATION_GITHUB, .wrong = "is not github or gitlab",
           .help = "show findings beside the change under review: by workflow commands, or by a Code "
                   "Quality report in the DIR of --out")
OPTION(FLAG, is_json, "--json", .help = "print JSON lines to standard output, and nothing else")
