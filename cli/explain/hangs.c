/* Who waited in vain for whom, before the causes: hangs of the job, for which no allocator answers.
 */
#include "cli/explain/private/explain_parts.h"
#include "cli/wrap.h"
#include "diagnosis/hang.h"

#include <inttypes.h>

enum { WIDTH = 118, INDENT = 4 };

static void append_hang(const struct setup *setup, const struct hang *hang, struct writing *text)
{
    struct writing words;
    writing_init(&words);
    hang_append(setup, hang, &words);
    writing_append(&words, ".");
    writing_append_format(text, "  %s\n%*s", hang_cause_summary(hang->cause), INDENT, "");
    wrap_append(text, writing_string(&words), INDENT, WIDTH);
    writing_append(text, "\n");
    writing_deinit(&words);
}

void explain_hangs(struct explanation *explanation)
{
    const struct setup *setup = &explanation->recording->setup;
    const struct hangs *hangs = &explanation->hangs;
    struct writing *text = &explanation->text;
    if (explanation->is_json) {
        hangs_append_json(setup, hangs, text);
        return;
    }
    if (hangs_are_there(hangs)) {
        writing_append(text, "\nThe job waits in vain (no promise of the allocator)\n");
    }
    for (size_t i = 0; i < hangs->count; i++) {
        append_hang(setup, &hangs->hangs[i], text);
    }
    if (hangs->more > 0) {
        writing_append_format(text, "  hosts waited %" PRIu64 " more times\n", hangs->more);
    }
}
