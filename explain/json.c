/* An explanation as a line of JSON. */
#include "harness/base/json.h"
#include "explain/private/explain_parts.h"
#include "present/refusals.h"

static void append_sum(struct writing *text, const char *key, const struct occupancy_sum *sum)
{
    json_nest(text, key, '{');
    json_add_number(text, "blocks", sum->count);
    json_add_number(text, "bytes", sum->bytes);
    if (sum->count > 0 && sum->oldest_op != OP_NONE) {
        json_add_number(text, "oldest_op", sum->oldest_op);
        json_add_number(text, "newest_op", sum->newest_op);
    }
    json_unnest(text, '}');
}

void explain_holders_in_json(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const struct occupancy *occupancy = &explanation->occupancy;
    char name[SETUP_NAME_BYTES];
    append_sum(text, "movable", &occupancy->movable);
    append_sum(text, "held", &occupancy->held);
    append_sum(text, "idle_programs", &occupancy->idle);
    append_sum(text, "busy_programs", &occupancy->busy);
    append_sum(text, "queued_frees", &occupancy->dying);
    append_sum(text, "retired", &occupancy->retired);
    json_nest(text, "tags", '[');
    for (uint32_t i = 0; i < occupancy->tag_count; i++) {
        json_nest(text, NULL, '{');
        json_add_string(text, "tag",
                        explain_tag_name(explanation->run, occupancy->tags[i].tag, name));
        json_add_number(text, "blocks", occupancy->tags[i].sum.count);
        json_add_number(text, "bytes", occupancy->tags[i].sum.bytes);
        json_add_number(text, "oldest_op", occupancy->tags[i].sum.oldest_op);
        json_add_number(text, "newest_op", occupancy->tags[i].sum.newest_op);
        json_unnest(text, '}');
    }
    json_unnest(text, ']');
}

void explain_in_json(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const struct verdict *verdict = explanation->verdict;
    const struct occupancy *occupancy = &explanation->occupancy;
    json_open(text, "explanation");
    json_add_number(text, "op", verdict->op);
    if (explanation->op != NULL) {
        step_axis_add(explanation->steps, verdict->op, text);
    }
    json_add_string(text, "verdict", verdict_name(verdict->kind));
    if (verdict->rule != RULE_NONE) {
        json_add_string(text, "rule", rule_info(verdict->rule)->name);
    }
    json_add_number(text, "requested_bytes", verdict->requested_bytes);
    json_add_number(text, "free_bytes", occupancy->free_bytes);
    json_add_number(text, "largest_hole_bytes", occupancy->largest_hole_bytes);
    json_add_number(text, "holes", occupancy->hole_count);
    json_add_number(text, "reserved_bytes", occupancy->reserved_bytes);
    json_add_number(text, "capacity_bytes", occupancy->capacity_bytes);
    explain_holders_in_json(explanation);
    if (verdict->kind != VERDICT_BROKEN) {
        refusals_add_largest(text, &explanation->largest);
        refusals_add_share(text, run_totals(explanation->run));
    }
    explain_settle_in_json(explanation);
    json_add_string(text, "reason", verdict->reason);
    json_add_string(text, "message", run_message(explanation->run));
    if (explanation->recording->message[0] != '\0') {
        json_add_string(text, "file_message", explanation->recording->message);
        json_add_number(text, "file_line", explanation->recording->message_line);
    }
    json_close(text);
}

void explain_nothing_in_json(struct explanation *explanation, size_t op_count,
                             uint64_t excused_count)
{
    struct writing *text = &explanation->text;
    json_open(text, "explanation");
    json_add_string(text, "verdict", verdict_name(VERDICT_NONE));
    json_add_number(text, "ops", op_count);
    if (excused_count > 0) {
        json_add_number(text, "excused", excused_count);
    }
    json_add_string(text, "reason",
                    excused_count > 0 ? "no out-of-memory can be judged, every promise kept"
                                      : "no out-of-memory, every promise kept");
    json_close(text);
}
