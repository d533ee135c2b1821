/* Who waited in vain for whom, before the causes: hangs of the job, for which an allocator answers
 * only if it held back what it could have granted. */
#include "diagnosis/hang.h"
#include "diagnosis/standstill.h"
#include "explain/private/explain_parts.h"
#include "present/screen.h"
#include "present/wrap.h"

#include <inttypes.h>

enum { INDENT = 4 };

static void append_hang(const struct setup *setup, const struct hang *hang, struct writing *text)
{
    struct writing words;
    writing_init(&words);
    hang_append(setup, hang, &words);
    writing_append(&words, ".");
    writing_append_format(text, "  %s\n%*s", hang_cause_summary(hang->cause), INDENT, "");
    wrap_append(text, writing_string(&words), INDENT, screen_columns());
    writing_append(text, "\n");
    writing_deinit(&words);
}

static void append_standstill(const struct setup *setup, const struct standstill *found,
                              struct writing *text)
{
    struct writing words;
    writing_init(&words);
    standstill_append(setup, found, &words);
    writing_append(&words, ".");
    writing_append(text, "  ");
    wrap_append(text, writing_string(&words), 2, screen_columns());
    writing_append(text, "\n");
    writing_deinit(&words);
}

static void append_standstills(const struct setup *setup, const struct standstills *standstills,
                               struct writing *text)
{
    if (standstills->count > 0) {
        writing_append(text, "\nAll clients wait for memory (no promise of the allocator)\n");
    }
    for (size_t i = 0; i < standstills->count; i++) {
        append_standstill(setup, &standstills->standstills[i], text);
    }
    if (standstills->more > 0) {
        writing_append_format(text, "  all waited %" PRIu64 " more times\n", standstills->more);
    }
}

void explain_hangs(struct explanation *explanation)
{
    const struct setup *setup = &explanation->recording->setup;
    const struct hangs *hangs = &explanation->hangs;
    struct writing *text = &explanation->text;
    if (explanation->is_json) {
        hangs_append_json(setup, hangs, text);
        standstills_append_json(setup, &explanation->standstills, text);
        return;
    }
    if (hangs_are_there(hangs)) {
        writing_append_format(text, "\nThe job waits in vain (%s)\n",
                              explanation->verdict->rule == RULE_HELD_BACK
                                  ? "the allocator held back what it could have granted"
                                  : "no promise of the allocator");
    }
    for (size_t i = 0; i < hangs->count; i++) {
        append_hang(setup, &hangs->hangs[i], text);
    }
    if (hangs->more > 0) {
        writing_append_format(text, "  hosts waited %" PRIu64 " more times\n", hangs->more);
    }
    append_standstills(setup, &explanation->standstills, text);
}
