/* What the parts of an explanation share: names in the words of the reader's system, and lines that
 * several of them have. */
#include "explain/private/explanation.h"
#include "harness/base/check.h"
#include "harness/op/system.h"
#include "recording/device_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct tag_text explain_tag_name(const struct explanation *explanation, uint8_t tag)
{
    struct tag_text name;
    (void)setup_tag_name(run_setup(explanation->run), tag, name.text);
    return name;
}

const struct system *explain_system(const struct explanation *explanation)
{
    return system_find(explanation->recording->setup.system);
}

const char *explain_allocator(const struct explanation *explanation)
{
    const struct system *system = explain_system(explanation);
    return system == NULL ? "the target" : system->allocator;
}

bool explain_may_move(const struct explanation *explanation)
{
    const struct system *system = explain_system(explanation);
    return explanation->contract->defrag != DEFRAG_NONE && (system == NULL || system->is_tpu);
}

struct device_text explain_device(const struct explanation *explanation, uint32_t host)
{
    const struct setup *setup = &explanation->recording->setup;
    const struct system *system = explain_system(explanation);
    const uint32_t *at = setup->coordinate;
    const bool has_coordinate = (at[0] | at[1] | at[2] | at[3]) != 0;
    struct device_text device;
    if ((system != NULL || explanation->recording->devices[host][0] != '\0') &&
        (setup->host_count > 1 || (system != NULL && system->is_tpu && has_coordinate))) {
        (void)device_name(explanation->recording, host, device.text);
    } else {
        snprintf(device.text, sizeof device.text, "The %s",
                 system == NULL ? "device" : system->device);
    }
    return device;
}

struct step_text explain_step(const struct step_axis *steps, uint32_t op, const char *before)
{
    struct step_text step = {""};
    uint64_t number;
    if (step_axis_number(steps, op, &number)) {
        snprintf(step.text, sizeof step.text, "%s%sstep %" PRIu64, before,
                 steps->is_said ? "" : "about ", number);
    }
    return step;
}

void explain_add_step(struct facts *facts, const struct step_axis *steps, uint32_t op)
{
    step_axis_add(steps, op, facts_given(facts));
    facts_given_end(facts);
}

void explain_add_op(struct facts *facts, const struct step_axis *steps, uint32_t op)
{
    facts_count(facts, "op", op);
    explain_add_step(facts, steps, op);
}

void explain_lines(struct facts *facts, const char *heading, const char *type, const char *lines)
{
    if (lines[0] != '\0') {
        facts_heading(facts, "%s", heading);
    }
    while (*lines != '\0') {
        const size_t length = strcspn(lines, "\n");
        char *line = strndup(lines, length);
        CHECK(line != NULL);
        facts_open(facts, type);
        facts_text(facts, "text", line);
        facts_close(facts);
        facts_say(facts, "  - ", 4, "%s", line);
        free(line);
        lines += length + (lines[length] == '\n');
    }
}

void explain_say_next(struct facts *facts, const char *next)
{
    facts_open(facts, "next");
    facts_text(facts, "text", next);
    facts_close(facts);
    facts_line(facts, "%s", "");
    facts_say(facts, "", 2, "Next: %s.", next);
}

void explain_say_message(struct facts *facts, const struct recording *recording)
{
    char line[40] = "";
    if (recording->message_line != 0) {
        snprintf(line, sizeof line, ", in line %zu", recording->message_line);
    }
    facts_answer(facts, "the file says%s: %s", line, recording->message);
}
