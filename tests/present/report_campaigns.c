#include "tests/present/report_campaigns.h"

const char hostile_text[] =
    "a]]>b<c>&d\"e'f\033[31m\r\n\t\001\177|\xc2\x9b|\xe2\x80\xae|\xff\xc3|\xed\xa0\x80|\xef\xbf\xbe|\xef\xbf\xbf|"
    "\xc3\xa9|\xe4\xb8\xad|</testsuite><!--|"
    "<script>alert(1)</script>\"'&|::error::x%0A";

static struct setup common = {.target = "hbm", .seed = 7, .host_count = 1};
static struct setup small = {
    .target = "first_fit", .seed = 8, .host_count = 1, .capacity_bytes = 64 << 20};
static struct setup hostile = {.target = "./x\"<&]]>\xff.so", .seed = 9, .host_count = 1};

static const struct report_part parts[] = {
    {"storm", "fragmentation_storm", &small, UINT64_MAX, "copy,wait", {0}, 0, NULL, NULL, 0},
    {"leak", "slow_leak", &common, 20000, "", {0}, 0, NULL, NULL, 0},
    {"late", "late_program", &common, UINT64_MAX, "", {0}, 0, NULL, NULL, 0},
    {"waits", "exact_edge", &common, UINT64_MAX, "", {0}, 0, NULL, NULL, 0},
};
static const struct report_part hostile_parts[] = {
    {hostile_text, hostile_text, &hostile, UINT64_MAX, "", {0}, 0, NULL, hostile_text, 3}};
static const struct report_part reviewed_parts[] = {
    {"storm", "fragmentation_storm", &small, 1, "", {0}, 0, NULL, "./jobs/nightly.ini", 12},
    {"leak", "slow_leak", &common, 1, "", {0}, 0, "traces/a leak.pickle", NULL, 0},
};

static const struct report_start empty_start = {
    .subcommand = "campaign", .setup = &common, .duration_ns = UINT64_MAX};
static const struct report_start good_start = {
    .subcommand = "campaign", .setup = &common, .parts = parts, .part_count = 2};
static const struct report_start findings_start = {
    .subcommand = "campaign", .setup = &common, .parts = parts, .part_count = 4};
static const struct report_start reviewed_start = {
    .subcommand = "campaign", .setup = &common, .parts = reviewed_parts, .part_count = 2};
static const struct report_start hostile_start = {
    .subcommand = "campaign", .setup = &hostile, .parts = hostile_parts, .part_count = 1};

/* clang-format off */
static const struct report_result good_results[] = {
    {.name = "storm", .scenario = "fragmentation_storm", .trials = 40, .done = 40, .due = 40,
     .is_finished = true, .totals = {.ops = 80000, .ooms = 12, .justified = 12},
     .elapsed_ns = 2500000000},
    {.name = "leak", .scenario = "slow_leak", .trials = 3, .done = 300, .due = 1200,
     .totals = {.ops = 6000, .ooms = 1, .justified = 1}, .elapsed_ns = 500000000}};
static const struct report_result findings_results[] = {
    {.name = "storm", .scenario = "fragmentation_storm", .trials = 18000, .done = 5, .due = 10,
     .finding_count = 2, .elapsed_ns = 700000000000,
     .totals = {.ops = 91000000, .ooms = 9900000, .justified = 9899990, .premature = 8,
                .unknown = 2, .unknown_by_class = {1, 1, 0}, .broken = 3}},
    {.name = "leak", .scenario = "slow_leak", .trials = 204, .done = 20000, .due = 20000,
     .is_finished = true, .finding_count = 1,
     .totals = {.ops = 200000, .ooms = 3, .justified = 3, .broken = 1},
     .elapsed_ns = 20000000000},
    {.name = "late", .scenario = "late_program", .is_finished = true,
     .note = "the target has no programs"},
    {.name = "waits", .scenario = "exact_edge"}};
static const struct report_result hostile_results[] = {
    {.name = hostile_text, .scenario = hostile_text, .trials = 1, .finding_count = 1,
     .note = hostile_text, .growing_tag = hostile_text,
     .totals = {.ops = 5, .ooms = 2, .unknown = 1, .unknown_by_class = {1}, .disputed = 1,
                .broken = 1}}};

static const struct oracle_largest largest = {.bytes = 8192, .is_exact = true};

static const struct report_known findings[] = {
    {.signature = "premature: fits after drain", .rule = "premature", .first = {"storm", 3},
     .seed = 77, .count = 8, .op_count = 12, .reason = "it fits at 4096",
     .message = "RESOURCE_EXHAUSTED: no room", .largest = &largest, .repro = "out/repros/p.ops",
     .replay = "hbmstress replay out/repros/p.ops", .certificate = "out/certificates/p.json"},
    {.signature = "crash: SIGSEGV at f < g < h", .rule = "crash", .first = {"storm", 9},
     .seed = 78, .count = 3, .op_count = 4, .reason = "the target died of SIGSEGV", .message = "",
     .repro = "out/repros/c.ops", .replay = "hbmstress replay out/repros/c.ops"},
    {.signature = "hang in free", .rule = "hang", .first = {"leak", 1}, .seed = 79, .count = 1,
     .reason = "it never returned", .message = ""},
    {.signature = "overlap: answer in a job of before", .rule = "overlap", .first = {"gone", 1},
     .seed = 80, .count = 1, .reason = "two blocks, one place", .message = ""}};
static const char *const earlier[] = {"out/repros/k.before-1.ops"};
static const struct report_known reviewed_findings[] = {
    {.signature = "premature: fits after drain", .rule = "premature", .first = {"storm", 3},
     .seed = 77, .count = 8, .op_count = 12, .reason = "it fits at 4096",
     .message = "RESOURCE_EXHAUSTED: no room", .is_known = true},
    {.signature = "crash: SIGSEGV at f < g < h", .rule = "crash", .first = {"storm", 9},
     .seed = UINT64_MAX, .count = 3, .op_count = 4, .reason = "the target died of SIGSEGV",
     .message = "", .repro = "/tmp/my out/k.ops",
     .replay = "hbmstress replay '/tmp/my out/k.ops'", .certificate = "out/certificates/k.json",
     .repeats = {.after = earlier, .after_count = 1}},
    {.signature = "hang in free", .rule = "hang", .first = {"leak", 1}, .seed = 79, .count = 1,
     .reason = "it never returned", .message = ""}};
static const struct report_known hostile_findings[] = {
    {.signature = hostile_text, .rule = hostile_text, .first = {hostile_text, 1}, .seed = 1,
     .count = 1, .op_count = 1, .reason = hostile_text, .message = hostile_text,
     .repro = hostile_text, .replay = hostile_text, .certificate = hostile_text}};

static const struct report_probe probes[] = {
    {"evicted_then_moved", 12}, {"stack_grew_while_full", 0}};
static const struct report_probe hostile_probes[] = {{hostile_text, 0}};

static const struct report_canary reported = {
    "plant_overlap", "fragmentation_storm", "overlap", 5, true};
static const struct report_canary missed = {
    "plant_overlap", "fragmentation_storm", "overlap", 5, false};
static const struct report_canary hostile_canary = {
    hostile_text, hostile_text, hostile_text, 5, false};

static const struct report_end empty_end = {.seed = 7};
static const struct report_end good_end = {
    .seed = 7, .trials = 43, .elapsed_ns = 2000000000,
    .totals = {.ops = 86000, .ooms = 13, .justified = 13}};
static const struct report_end reviewed_end = {
    .seed = UINT64_MAX, .trials = 18204, .exit_code = 1, .known_count = 1, .has_baseline = true,
    .totals = {.ops = 91200000, .ooms = 9900003, .unknown = 2, .unknown_by_class = {1, 1, 0}}};
static const struct report_end findings_end = {
    .seed = 7, .trials = 18204, .elapsed_ns = 720000000000, .exit_code = 1, .is_interrupted = true,
    .totals = {.ops = 91200000, .ooms = 9900003, .justified = 9899993, .premature = 8,
               .unknown = 2, .unknown_by_class = {1, 1, 0}, .broken = 4}};
static const struct report_end hostile_end = {
    .seed = 9, .trials = 1, .elapsed_ns = 1234567890, .exit_code = 4,
    .totals = {.ops = 5, .ooms = 2, .unknown = 1, .disputed = 1, .broken = 1}};

static const struct named_campaign campaigns[NAMED_CAMPAIGN_COUNT] = {
    {"empty", {.start = &empty_start, .end = &empty_end, .duration_left_ns = UINT64_MAX}, 1, 3, 0,
     0, 2},
    {"good", {.start = &good_start, .results = good_results, .result_count = 2, .probes = probes,
     .probe_count = 1, .canary = &reported, .end = &good_end, .duration_left_ns = UINT64_MAX}, 3,
     7, 0, 0, 0},
    /* storm: both cases and two findings fail; leak: a promise and a finding; late, waits: two
     * skipped each; campaign: the canary, a probe and a finding of a job that is gone. */
    {"findings", {.start = &findings_start, .results = findings_results, .result_count = 4,
     .findings = findings, .finding_count = 4, .probes = probes, .probe_count = 2,
     .canary = &missed, .end = &findings_end, .duration_left_ns = 1080000000000}, 5, 16, 9, 0, 4},
    {"hostile", {.start = &hostile_start, .results = hostile_results, .result_count = 1,
     .findings = hostile_findings, .finding_count = 1, .probes = hostile_probes, .probe_count = 1,
     .canary = &hostile_canary, .end = &hostile_end}, 2, 6, 4, 2, 0},
    /* storm: both cases and a finding fail, another is known; leak: a promise and a finding;
     * campaign: neither a canary nor probes. */
    {"reviewed", {.start = &reviewed_start, .results = findings_results, .result_count = 2,
     .findings = reviewed_findings, .finding_count = 3, .end = &reviewed_end}, 3, 10, 5, 0, 3}};
/* clang-format on */

const struct named_campaign *campaign_get(unsigned number)
{
    return &campaigns[number];
}

const char *campaign_print(void (*form)(struct writing *text,
                                        const struct report_campaign *campaign),
                           const struct report_campaign *campaign)
{
    static struct writing text;
    writing_deinit(&text);
    writing_init(&text);
    form(&text, campaign);
    return writing_string(&text);
}
