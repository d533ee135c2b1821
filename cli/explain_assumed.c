/* What the explained list has although its file does not say it. */
#include "cli/private/explain_parts.h"
#include "cli/wrap.h"
#include "harness/base/json.h"

#include <string.h>

enum { WIDTH = 118, INDENT = 4 };

static void append_fact(struct explanation *explanation, const char *fact)
{
    struct writing *text = &explanation->text;
    struct writing visible;
    if (explanation->is_json) {
        json_open(text, "assumed");
        json_add_string(text, "text", fact);
        json_close(text);
        return;
    }
    writing_init(&visible);
    writing_append_visible(&visible, fact);
    writing_append(text, "  - ");
    wrap_append(text, writing_string(&visible), INDENT, WIDTH);
    writing_append(text, "\n");
    writing_deinit(&visible);
}

void explain_assumed(struct explanation *explanation)
{
    const char *facts = explanation->recording->assumed;
    if (facts[0] == '\0') {
        return;
    }
    if (!explanation->is_json) {
        writing_append(&explanation->text, "\nAssumed, as the file does not say it\n");
    }
    while (*facts != '\0') {
        char fact[IMPORT_NOTES_BYTES];
        const size_t length = strcspn(facts, "\n");
        memcpy(fact, facts, length);
        fact[length] = '\0';
        append_fact(explanation, fact);
        facts += length + (facts[length] == '\n');
    }
}
