/* What an unknown verdict on a message depends on, and what would settle it. */
#include "explain/private/explain_parts.h"
#include "harness/base/json.h"
#include "harness/base/size.h"

#include <inttypes.h>

enum settle { SETTLE_NOTHING = 0, SETTLE_PINS, SETTLE_IMAGE, SETTLE_SIZES, SETTLE_PIECES };

/* The judge of the state saw what the message says, and what is assumed: oom->reported, and blocks
 * that are placed. */
static enum settle find_settle(const struct explanation *explanation)
{
    if (explanation->verdict->kind != VERDICT_UNKNOWN) {
        return SETTLE_NOTHING;
    }
    const struct oom *oom = run_oom(explanation->run);
    if (!oom->reported.is_there) {
        return oom_has_placed(oom) ? SETTLE_PIECES : SETTLE_NOTHING;
    }
    if (oom->request.other_bytes != oom->request.size_bytes) {
        return SETTLE_IMAGE;
    }
    return oom->reported.requested_high > oom->reported.free_low ? SETTLE_SIZES : SETTLE_PINS;
}

/* One sentence for each, as the words and the JSON have it. */
static const char *const settled_by[] = {
    [SETTLE_NOTHING] = "",
    [SETTLE_PINS] = "the blocks and their addresses: with tpu_log_allocations_on_oom in "
                    "LIBTPU_INIT_ARGS the runtime prints all of them at the next out-of-memory",
    [SETTLE_IMAGE] = "the size of the program's image: in JAX "
                     "compiled.memory_analysis().generated_code_size_in_bytes",
    [SETTLE_SIZES] = "exact byte counts: in JAX bytes_limit, bytes_in_use and bytes_reserved of "
                     "device.memory_stats()",
    [SETTLE_PIECES] = "the blocks and their addresses: in PyTorch a memory snapshot "
                      "(torch.cuda.memory._dump_snapshot) has those of every segment, its stream "
                      "and its pool",
};

static void append_address(struct writing *text, uint64_t address)
{
    char size[SIZE_TEXT_BYTES];
    size_print_field(address, size);
    writing_append_format(text, "%s (0x%" PRIx64 ")", size, address);
}

static void append_condition(struct writing *text, const struct premature_unless *unless)
{
    char size[SIZE_TEXT_BYTES];
    if (unless->bytes == 0) {
        return;
    }
    size_print_field(unless->bytes, size);
    writing_append(text,
                   "  Enough was free.  Moving blocks joins it, so the refusal was premature, "
                   "unless blocks that could not move (held, executing, or freed and "
                   "waiting) took at least ");
    writing_append_format(text, "%s of the addresses from ", size);
    append_address(text, unless->from);
    writing_append(text, " to ");
    append_address(text, unless->to);
    writing_append(text, ".\n");
}

bool explain_has_settle(const struct explanation *explanation)
{
    return find_settle(explanation) != SETTLE_NOTHING;
}

void explain_settle(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const enum settle settle = find_settle(explanation);
    if (settle == SETTLE_NOTHING) {
        return;
    }
    append_condition(text, &explanation->verdict->premature_unless);
    writing_append_format(text, "  To settle it: %s\n", settled_by[settle]);
}

void explain_settle_in_json(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const enum settle settle = find_settle(explanation);
    premature_unless_add_json(&explanation->verdict->premature_unless, text);
    if (settle != SETTLE_NOTHING) {
        json_add_string(text, "settled_by", settled_by[settle]);
    }
}
