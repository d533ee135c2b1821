/* An explanation as a line of JSON. */
#include "cli/explain_parts.h"
#include "reports/json_lines.h"

static void json_sum(struct writing *text, const char *key, const struct census_sum *sum)
{
    line_nest(text, key, '{');
    line_number(text, "blocks", sum->count);
    line_number(text, "bytes", sum->bytes);
    if (sum->count > 0 && sum->oldest_op != OP_NONE) {
        line_number(text, "oldest_op", sum->oldest_op);
        line_number(text, "newest_op", sum->newest_op);
    }
    line_unnest(text, '}');
}

void explain_in_json(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const struct verdict *verdict = explanation->verdict;
    const struct census *census = &explanation->census;
    char name[SETUP_NAME_BYTES];
    line_open(text, "explanation");
    line_number(text, "op", verdict->op);
    line_string(text, "verdict", verdict_name(verdict->kind));
    if (verdict->rule != RULE_NONE) {
        line_string(text, "rule", rule_info(verdict->rule)->name);
    }
    line_number(text, "requested_bytes", verdict->requested_bytes);
    line_number(text, "free_bytes", census->free_bytes);
    line_number(text, "largest_hole_bytes", census->largest_hole_bytes);
    line_number(text, "holes", census->hole_count);
    line_number(text, "reserved_bytes", census->reserved_bytes);
    line_number(text, "capacity_bytes", census->capacity_bytes);
    json_sum(text, "movable", &census->movable);
    json_sum(text, "held", &census->held);
    json_sum(text, "idle_programs", &census->idle);
    json_sum(text, "busy_programs", &census->busy);
    json_sum(text, "queued_frees", &census->dying);
    json_sum(text, "retired", &census->retired);
    line_nest(text, "tags", '[');
    for (uint32_t i = 0; i < census->tag_count; i++) {
        line_nest(text, NULL, '{');
        line_string(text, "tag", explain_tag_name(explanation->run, census->tags[i].tag, name));
        line_number(text, "blocks", census->tags[i].sum.count);
        line_number(text, "bytes", census->tags[i].sum.bytes);
        line_number(text, "oldest_op", census->tags[i].sum.oldest_op);
        line_number(text, "newest_op", census->tags[i].sum.newest_op);
        line_unnest(text, '}');
    }
    line_unnest(text, ']');
    line_string(text, "reason", verdict->reason);
    line_string(text, "message", run_message(explanation->run));
    line_close(text);
}

void explain_nothing_in_json(struct explanation *explanation, size_t op_count)
{
    struct writing *text = &explanation->text;
    line_open(text, "explanation");
    line_string(text, "verdict", verdict_name(VERDICT_NONE));
    line_number(text, "ops", op_count);
    line_string(text, "reason", "no out-of-memory, every promise kept");
    line_close(text);
}
