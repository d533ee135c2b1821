/* A file that says that a request failed, which is served on its list. */
#include "explain/private/explain_parts.h"
#include "harness/base/json.h"
#include "harness/op/ops_file.h"

#include <inttypes.h>

uint32_t explain_find_said_failure(const struct explanation *explanation)
{
    const struct recording *recording = explanation->recording;
    if (explanation->options->changes_setup) {
        return OP_NONE;
    }
    for (size_t i = recording->said_count; i-- > 0;) {
        if (recording->said[i].kind == SAID_FAILED) {
            return recording->said[i].op;
        }
    }
    return OP_NONE;
}

void explain_served(struct explanation *explanation, uint32_t failed)
{
    static const char reason[] =
        "by the file this request failed, and on its list it is served: the failure does not "
        "repeat, and the file does not say what stood in its way";
    char op_text[OP_TEXT_BYTES];
    struct writing *text = &explanation->text;
    explanation->is_served = true;
    op_print(&explanation->recording->ops.ops[failed], op_text);
    if (explanation->is_json) {
        json_open(text, "explanation");
        json_add_string(text, "verdict", verdict_name(VERDICT_UNKNOWN));
        json_add_number(text, "op", failed);
        json_add_string(text, "op_text", op_text);
        json_add_boolean(text, "is_served", true);
        json_add_string(text, "reason", reason);
        json_close(text);
        return;
    }
    writing_append_format(text, "op %" PRIu32 ": ", failed);
    writing_append_visible(text, op_text);
    if (explanation->recording->message[0] != '\0') {
        writing_append(text, "\nthe file says: ");
        writing_append_visible(text, explanation->recording->message);
    }
    writing_append(text, "\n\nVerdict: unknown\n");
    writing_append_format(text, "  %s\n", reason);
}
