/* Who waited in vain for whom, before the causes: hangs of the job, for which an allocator answers
 * only if it held back what it could have granted; clients that all waited; and who had the memory
 * of a shared device when another host asked for it. */
#include "diagnosis/waits.h"
#include "explain/private/explanation.h"

#include <inttypes.h>

enum { INDENT = 4 };

/* Takes the words as a sentence, and empties them. */
static void say_sentence(struct facts *facts, const char *lead, size_t indent,
                         struct writing *words)
{
    facts_say(facts, lead, indent, "%s.", writing_string(words));
    writing_clear(words);
}

static void tell_hangs(struct explanation *explanation, struct writing *words)
{
    struct facts *facts = &explanation->facts;
    const struct setup *setup = &explanation->recording->setup;
    const struct hangs *hangs = &explanation->hangs;
    hangs_append_json(setup, hangs, facts_given(facts));
    facts_given_end(facts);
    if (hangs_are_there(hangs)) {
        facts_heading(facts, "The job waits in vain (%s)",
                      explanation->verdict->rule == RULE_HELD_BACK
                          ? "the allocator held back what it could have granted"
                          : "no promise of the allocator");
    }
    for (size_t i = 0; i < hangs->count; i++) {
        facts_answer(facts, "  %s", hang_cause_summary(hangs->hangs[i].cause));
        hang_append(setup, &hangs->hangs[i], words);
        say_sentence(facts, "    ", INDENT, words);
    }
    if (hangs->more > 0) {
        facts_answer(facts, "  hosts waited %" PRIu64 " more times", hangs->more);
    }
}

static void tell_standstills(struct explanation *explanation, struct writing *words)
{
    struct facts *facts = &explanation->facts;
    const struct setup *setup = &explanation->recording->setup;
    const struct standstills *standstills = &explanation->standstills;
    standstills_append_json(setup, standstills, facts_given(facts));
    facts_given_end(facts);
    if (standstills->count > 0) {
        facts_heading(facts, "All clients wait for memory (no promise of the allocator)");
    }
    for (size_t i = 0; i < standstills->count; i++) {
        standstill_append(setup, &standstills->standstills[i], words);
        say_sentence(facts, "  ", 2, words);
    }
    if (standstills->more > 0) {
        facts_answer(facts, "  all waited %" PRIu64 " more times", standstills->more);
    }
}

static void tell_shortages(struct explanation *explanation, struct writing *words)
{
    struct facts *facts = &explanation->facts;
    const struct shortages *shortages = &explanation->shortages;
    shortages_append_json(shortages, facts_given(facts));
    facts_given_end(facts);
    if (shortages->total > 0) {
        facts_heading(facts, "The shared device was short (no promise of the allocator)");
    }
    for (size_t i = 0; i < shortages->count; i++) {
        shortage_append(&shortages->shortages[i], words);
        say_sentence(facts, "  ", INDENT, words);
    }
    if (shortages->total > shortages->count) {
        facts_answer(facts, "  it was short %" PRIu64 " more times",
                     shortages->total - shortages->count);
    }
}

void explain_waits(struct explanation *explanation)
{
    struct writing words = {0};
    tell_hangs(explanation, &words);
    tell_standstills(explanation, &words);
    tell_shortages(explanation, &words);
    writing_deinit(&words);
}
