/* The failure: what was asked for, the room that it had, what each mitigation had left, the
 * verdict, what would settle it, and where its proof comes from. */
#include "explain/private/explanation.h"
#include "harness/op/chip.h"
#include "harness/op/ops_file.h"
#include "present/refusals.h"
#include "recording/recording.h"

#include <inttypes.h>

/* "8.00M (8388608 bytes)". */
struct bytes_text {
    char text[SIZE_TEXT_BYTES + 32];
};
static struct bytes_text bytes_text_of(uint64_t size_bytes)
{
    struct bytes_text bytes;
    snprintf(bytes.text, sizeof bytes.text, "%s (%" PRIu64 " bytes)", size_text_of(size_bytes).text,
             size_bytes);
    return bytes;
}

/* "2 queued frees holding 8.00M". */
struct sum_text {
    char text[SIZE_TEXT_BYTES + 64];
};
static struct sum_text sum_text_of(const struct occupancy_sum *sum, const char *noun)
{
    struct sum_text words;
    snprintf(words.text, sizeof words.text, "%" PRIu64 " %s%s holding %s", sum->count, noun,
             plural(sum->count, "", "s"), size_text_of(sum->bytes).text);
    return words;
}

/* Whom a mitigation is not promised by. */
static const char *name_promiser(const struct explanation *explanation)
{
    return explain_system(explanation) == NULL ? "this target" : explain_allocator(explanation);
}

/* ", on host 3" of a job; of GPUs the device, since each has its own list. */
static void append_host(const struct explanation *explanation, uint32_t host, struct writing *words)
{
    const struct system *system = explain_system(explanation);
    if (run_setup(explanation->run)->host_count <= 1) {
        return;
    }
    if (system == NULL || system->is_tpu) {
        writing_append_format(words, ", on host %u", host);
    } else {
        writing_append_format(words, ", on %s", explain_device(explanation, host).text);
    }
}

/* What the target of a list prints is nobody's message where the list stands for a real system. */
static bool has_message(const struct explanation *explanation)
{
    return run_message(explanation->run)[0] != '\0' &&
           explanation->recording->setup.system[0] == '\0';
}

static void say_request(struct explanation *explanation)
{
    const struct op *op = explanation->op;
    const uint32_t number = explanation->verdict->op;
    char text[OP_TEXT_BYTES];
    struct writing words = {0};
    writing_append_format(&words, "op %" PRIu32, number);
    if (op != NULL) {
        const char *tag_name = run_setup(explanation->run)->tags[op->tag];
        writing_append_format(&words, ": %s", op_print(op, text));
        if (op_kind_info((enum op_kind)op->kind)->has_tag && op->kind != OP_FAULT &&
            tag_name[0] != '\0') {
            writing_append_format(&words, ", for '%s'", tag_name);
        }
        append_host(explanation, op->host, &words);
        writing_append(&words, explain_step(explanation->steps, number, ", in ").text);
    }
    facts_answer(&explanation->facts, "%s", writing_string(&words));
    writing_deinit(&words);
    if (explanation->recording->message[0] != '\0') {
        explain_say_message(&explanation->facts, explanation->recording);
    } else if (has_message(explanation)) {
        facts_answer(&explanation->facts, "the target reported: %s", run_message(explanation->run));
    }
}

/* Whether the reader's system keeps programs on the device, with a stack. */
static bool has_programs(const struct explanation *explanation)
{
    const struct system *system = explain_system(explanation);
    const struct occupancy *occupancy = &explanation->moment.occupancy;
    return system == NULL || system->is_tpu || occupancy->idle.count > 0 ||
           occupancy->busy.count > 0;
}

/* Of sums no block is known: what is free lies in pieces that the file does not name. */
static void say_space(struct explanation *explanation)
{
    struct facts *facts = &explanation->facts;
    const struct occupancy *occupancy = &explanation->moment.occupancy;
    const struct bytes_text free = bytes_text_of(occupancy->free_bytes);
    facts_line(facts, "%s", "");
    facts_answer(facts, "%s has %s%s.", explain_device(explanation, explanation->moment.host).text,
                 bytes_text_of(occupancy->capacity_bytes).text,
                 explain_capacity_is_assumed(explanation) ? ", as assumed below" : "");
    if (explanation->verdict->kind != VERDICT_BROKEN) {
        facts_answer(facts, "Asked for:     %s",
                     bytes_text_of(explanation->verdict->requested_bytes).text);
    }
    if (explanation->recording->view == IMPORT_SUMS) {
        facts_answer(facts, "Free:          %s", free.text);
    } else {
        facts_answer(facts, "Free:          %s in %" PRIu64 " hole%s", free.text,
                     occupancy->hole_count, plural(occupancy->hole_count, "", "s"));
        facts_answer(facts, "Largest hole:  %s", bytes_text_of(occupancy->largest_hole_bytes).text);
    }
    if (occupancy->reserved_bytes > 0 || has_programs(explanation)) {
        facts_answer(facts, "Stack:         %s", bytes_text_of(occupancy->reserved_bytes).text);
    }
    facts_line(facts, "%s", "");
}

/* --- what each mitigation had left --- */

static void say_drain(struct explanation *explanation)
{
    struct facts *facts = &explanation->facts;
    const struct occupancy_sum *dying = &explanation->moment.occupancy.dying;
    if (!explanation->contract->drains) {
        facts_answer(facts, "  drain       is not promised by %s", name_promiser(explanation));
    } else if (dying->count == 0) {
        facts_answer(facts, "  drain       no queued free is left to wait for");
    } else {
        facts_answer(facts, "  drain       %s left; their events or holds have not ended",
                     sum_text_of(dying, "queued free").text);
    }
}

static void say_defragment(struct explanation *explanation)
{
    struct facts *facts = &explanation->facts;
    const struct occupancy *occupancy = &explanation->moment.occupancy;
    if (explanation->contract->defrag == DEFRAG_NONE) {
        facts_answer(facts, "  defragment  is not promised by %s: nothing ever moves",
                     name_promiser(explanation));
    } else if (occupancy->free_bytes < explanation->verdict->requested_bytes) {
        facts_answer(facts, "  defragment  cannot help alone: the request is larger than all free "
                            "memory");
    } else {
        facts_answer(
            facts, "  defragment  %s may %s %" PRIu64 " that may not move (held, busy or dying)%s",
            sum_text_of(&occupancy->movable, "block").text,
            explanation->contract->defrag == DEFRAG_SLIDE ? "slide between" : "go anywhere around",
            occupancy->held.count + occupancy->busy.count + occupancy->dying.count,
            oom_has_other(run_oom(explanation->run)) ? ", as assumed" : "");
    }
}

static void say_evict(struct explanation *explanation)
{
    struct facts *facts = &explanation->facts;
    const struct occupancy *occupancy = &explanation->moment.occupancy;
    const bool is_program = explanation->op != NULL && (explanation->op->kind == OP_LOAD ||
                                                        explanation->op->kind == OP_EXECUTE);
    if (!(is_program ? explanation->contract->program_evicts_program
                     : explanation->contract->evicts)) {
        facts_answer(facts, "  evict       is not promised %s%s",
                     is_program ? "to a program" : "by ",
                     is_program ? "" : name_promiser(explanation));
    } else if (occupancy->idle.count == 0) {
        facts_answer(facts, "  evict       no idle program is on the device (%" PRIu64 " busy)",
                     occupancy->busy.count);
    } else {
        facts_answer(facts, "  evict       %s", sum_text_of(&occupancy->idle, "idle program").text);
    }
}

/* --- what an unknown verdict on a message depends on, and what would settle it --- */

/* One sentence for each, as the words and the JSON have it. */
static const char settled_by_pins[] =
    "the blocks and their addresses: with tpu_log_allocations_on_oom in LIBTPU_INIT_ARGS the "
    "runtime prints all of them at the next out-of-memory";
static const char settled_by_image[] = "the size of the program's image: in JAX "
                                       "compiled.memory_analysis().generated_code_size_in_bytes";
static const char settled_by_sizes[] =
    "exact byte counts: in JAX bytes_limit, bytes_in_use and bytes_reserved of "
    "device.memory_stats()";
static const char settled_by_pieces[] =
    "the blocks and their addresses: in PyTorch a memory snapshot "
    "(torch.cuda.memory._dump_snapshot) has those of every segment, its stream and its pool";

/* The judge of the state saw what the message says, and what is assumed: oom->reported, and blocks
 * that are placed.  NULL: the verdict is not of that kind. */
static const char *find_settled_by(const struct explanation *explanation)
{
    if (explanation->verdict->kind != VERDICT_UNKNOWN) {
        return NULL;
    }
    const struct oom *oom = run_oom(explanation->run);
    if (!oom->reported.is_there) {
        return oom_has_placed(oom) ? settled_by_pieces : NULL;
    }
    if (oom->request.other_bytes != oom->request.size_bytes) {
        return settled_by_image;
    }
    return oom->reported.requested_high > oom->reported.free_low ? settled_by_sizes
                                                                 : settled_by_pins;
}

static void say_settle(struct explanation *explanation)
{
    struct facts *facts = &explanation->facts;
    const struct premature_unless *unless = &explanation->verdict->premature_unless;
    const char *settled_by = find_settled_by(explanation);
    if (settled_by == NULL) {
        return;
    }
    if (unless->bytes > 0) {
        facts_answer(
            facts,
            "  Enough was free.  Moving blocks joins it, so the refusal was premature, unless "
            "blocks that could not move (held, executing, or freed and waiting) took at least %s "
            "of the addresses from %s (0x%" PRIx64 ") to %s (0x%" PRIx64 ").",
            size_text_of(unless->bytes).text, size_text_of(unless->from).text, unless->from,
            size_text_of(unless->to).text, unless->to);
    }
    facts_answer(facts, "  To settle it: %s", settled_by);
}

/* --- the verdict --- */

static void say_verdict(struct explanation *explanation)
{
    struct facts *facts = &explanation->facts;
    const struct verdict *verdict = explanation->verdict;
    if (verdict->kind == VERDICT_BROKEN) {
        facts_heading(facts, "Broken: %s (%s)", rule_info(verdict->rule)->name,
                      rule_info(verdict->rule)->summary);
    } else {
        facts_heading(facts, "Verdict: %s", verdict_name(verdict->kind));
    }
    facts_answer(facts, "  %s", verdict->reason);
    say_settle(explanation);
}

/* A program whose stack has no place fits with no image: how much of a stack it would have got. */
static bool append_largest_stack(const struct explanation *explanation, struct writing *words)
{
    const struct oom *oom = run_oom(explanation->run);
    if (explanation->largest.bytes > 0 || !explanation->largest.is_exact ||
        oom->request.class != REQUEST_PROGRAM || oom->request.stack_bytes == 0) {
        return false;
    }
    const struct oracle_largest largest = oracle_find_largest_stack(explanation->oracle, oom,
                                                                    explanation->verdict->kind, 0);
    if (largest.bytes == 0) {
        return false;
    }
    writing_append_format(words,
                          "no image would have been served next to a stack of %s; this program "
                          "with a stack of %s%s would",
                          size_text_of(oom->request.stack_bytes).text,
                          largest.is_exact ? "up to " : "at least ",
                          bytes_text_of(largest.bytes).text);
    return true;
}

/* How much the client could have had, and how the target did up to here; what else would be served
 * is as open as a verdict that is to be settled. */
static void say_refusals(struct explanation *explanation)
{
    struct writing words = {0};
    const struct run_totals *totals = run_totals(explanation->run);
    if (find_settled_by(explanation) != NULL) {
        return;
    }
    if (!append_largest_stack(explanation, &words)) {
        refusals_append_largest(&words, &explanation->largest);
    }
    facts_answer(&explanation->facts, "  Largest request: %s", writing_string(&words));
    if (totals->premature > 0) {
        writing_clear(&words);
        refusals_append_share(&words, totals);
        facts_answer(&explanation->facts, "  Refusals so far: %s", writing_string(&words));
    }
    writing_deinit(&words);
}

/* Where the proof of a verdict on an OOM comes from. */
static void say_proof(struct explanation *explanation)
{
    const struct recording_options *reading = &explanation->options->reading;
    const bool is_ops = explanation->recording->format == &format_ops;
    struct writing command = {0};
    writing_append(&command, is_ops ? "hbmstress replay" : "hbmstress convert");
    repeat_word(&command, explanation->options->paths[0]);
    if (is_ops) {
        repeat_setup(&command, reading->run);
    } else {
        repeat_option(&command, "--format", reading->format);
        repeat_setup(&command, reading->run);
        repeat_number(&command, "--kv-bytes-per-token", reading->kv_bytes_per_token);
        repeat_number(&command, "--kv-tokens-per-second", reading->kv_tokens_per_second);
        writing_append(&command, " -o list.ops, then hbmstress replay list.ops");
    }
    facts_answer(&explanation->facts, "  Its proof: %s --certificates DIR",
                 writing_string(&command));
    writing_deinit(&command);
}

static void add_verdict(struct explanation *explanation)
{
    struct facts *facts = &explanation->facts;
    const struct verdict *verdict = explanation->verdict;
    const struct occupancy *occupancy = &explanation->moment.occupancy;
    const char *settled_by = find_settled_by(explanation);
    facts_open(facts, "explanation");
    facts_count(facts, "op", verdict->op);
    if (explanation->op != NULL) {
        explain_add_step(facts, explanation->steps, verdict->op);
    }
    facts_text(facts, "verdict", verdict_name(verdict->kind));
    facts_text_if(facts, "rule", verdict->rule == RULE_NONE ? "" : rule_info(verdict->rule)->name);
    facts_size(facts, "requested_bytes", verdict->requested_bytes);
    facts_size(facts, "free_bytes", occupancy->free_bytes);
    facts_size(facts, "largest_hole_bytes", occupancy->largest_hole_bytes);
    facts_count(facts, "holes", occupancy->hole_count);
    facts_size(facts, "reserved_bytes", occupancy->reserved_bytes);
    facts_size(facts, "capacity_bytes", occupancy->capacity_bytes);
    explain_add_holders(explanation);
    struct writing *members = facts_given(facts);
    if (verdict->kind != VERDICT_BROKEN) {
        refusals_add_largest(members, &explanation->largest);
        refusals_add_share(members, run_totals(explanation->run));
    }
    premature_unless_add_json(&verdict->premature_unless, members);
    facts_given_end(facts);
    facts_text_if(facts, "settled_by", settled_by == NULL ? "" : settled_by);
    facts_text(facts, "reason", verdict->reason);
    facts_text(facts, "message", run_message(explanation->run));
    if (explanation->recording->message[0] != '\0') {
        facts_text(facts, "file_message", explanation->recording->message);
        facts_count(facts, "file_line", explanation->recording->message_line);
    }
    facts_close(facts);
}

void explain_failure(struct explanation *explanation)
{
    const bool is_oom = explanation->verdict->kind != VERDICT_BROKEN;
    add_verdict(explanation);
    say_request(explanation);
    say_space(explanation);
    explain_holders(explanation, "Who holds the rest");
    if (is_oom) {
        facts_heading(&explanation->facts, "What each mitigation had left when %s gave up",
                      explain_allocator(explanation));
        say_drain(explanation);
        say_defragment(explanation);
        if (has_programs(explanation)) {
            say_evict(explanation);
        }
    }
    say_verdict(explanation);
    if (is_oom) {
        say_refusals(explanation);
        say_proof(explanation);
    }
}
