/* What the file of the explained list says beside the ops, and what the list has although its file
 * does not say it. */
#include "explain/private/explain_parts.h"
#include "harness/base/json.h"
#include "present/screen.h"
#include "present/wrap.h"

#include <string.h>

enum { INDENT = 4 };

static void append_fact(struct explanation *explanation, const char *type, const char *fact)
{
    struct writing *text = &explanation->text;
    struct writing visible;
    if (explanation->is_json) {
        json_open(text, type);
        json_add_string(text, "text", fact);
        json_close(text);
        return;
    }
    writing_init(&visible);
    writing_append_visible(&visible, fact);
    writing_append(text, "  - ");
    wrap_append(text, writing_string(&visible), INDENT, screen_columns());
    writing_append(text, "\n");
    writing_deinit(&visible);
}

/* facts: one a line. */
static void append_facts(struct explanation *explanation, const char *head, const char *type,
                         const char *facts)
{
    if (facts[0] == '\0') {
        return;
    }
    if (!explanation->is_json) {
        writing_append_format(&explanation->text, "\n%s\n", head);
    }
    while (*facts != '\0') {
        char fact[IMPORT_NOTES_BYTES];
        const size_t length = strcspn(facts, "\n");
        memcpy(fact, facts, length);
        fact[length] = '\0';
        append_fact(explanation, type, fact);
        facts += length + (facts[length] == '\n');
    }
}

void explain_told(struct explanation *explanation)
{
    append_facts(explanation, "What the file says", "told", explanation->recording->told);
}

void explain_assumed(struct explanation *explanation)
{
    append_facts(explanation, "Assumed, as the file does not say it", "assumed",
                 explanation->recording->assumed);
}
