#include "doctor/print.h"

#include "harness/base/json.h"
#include "present/screen.h"
#include "present/wrap.h"

#include <inttypes.h>

enum { NAME_WIDTH = 21, INDENT = 2 + 8 + 1 + NAME_WIDTH + 1 };

static void print_json(const char *group, const char *name, const struct doctor_finding *finding,
                       struct writing *text)
{
    json_open(text, "doctor");
    json_add_string(text, "group", group);
    json_add_string(text, "name", name);
    json_add_string(text, "state", doctor_state_name(finding->state));
    json_add_string(text, "found", finding->found);
    if (finding->meaning[0] != '\0') {
        json_add_string(text, "meaning", finding->meaning);
    }
    if (finding->remedy[0] != '\0') {
        json_add_string(text, "remedy", finding->remedy);
    }
    json_close(text);
}

/* The first text goes on in the line of the name. */
static void begin_line(bool *is_first, struct writing *text)
{
    writing_append_format(text, "%*s", *is_first ? 0 : INDENT, "");
    *is_first = false;
}

static void print_words(const char *words, bool *is_first, struct writing *text)
{
    struct writing line;
    if (words[0] == '\0') {
        return;
    }
    writing_init(&line);
    writing_append_visible(&line, words);
    begin_line(is_first, text);
    wrap_append(text, writing_string(&line), INDENT, screen_columns());
    writing_append(text, "\n");
    writing_deinit(&line);
}

/* Not broken into lines: it is there to be copied. */
static void print_remedy(const char *remedy, bool *is_first, struct writing *text)
{
    if (remedy[0] == '\0') {
        return;
    }
    begin_line(is_first, text);
    writing_append(text, "to mend it: ");
    writing_append_visible(text, remedy);
    writing_append(text, "\n");
}

void doctor_print(bool is_json, const char *group, const char *name,
                  const struct doctor_finding *finding, struct writing *text)
{
    bool is_first = true;
    if (is_json) {
        print_json(group, name, finding, text);
        return;
    }
    writing_append_format(text, "  %-8s %-*s ", doctor_state_name(finding->state), NAME_WIDTH,
                          name);
    print_words(finding->found, &is_first, text);
    print_words(finding->meaning, &is_first, text);
    print_remedy(finding->remedy, &is_first, text);
    if (is_first) {
        writing_append(text, "\n");
    }
}

static void print_json_summary(const struct doctor_summary *summary, int exit_code,
                               struct writing *text)
{
    json_open(text, "doctor_end");
    json_add_number(text, "ok", summary->counts[DOCTOR_OK]);
    json_add_number(text, "limited", summary->counts[DOCTOR_LIMITED]);
    json_add_number(text, "missing", summary->counts[DOCTOR_MISSING]);
    json_add_number(text, "broken", summary->counts[DOCTOR_BROKEN]);
    json_add_number(text, "unknown", summary->counts[DOCTOR_UNKNOWN]);
    json_add_number(text, "exit", (uint64_t)exit_code);
    json_close(text);
}

void doctor_print_summary(bool is_json, const struct doctor_summary *summary, int exit_code,
                          struct writing *text)
{
    if (is_json) {
        print_json_summary(summary, exit_code, text);
        return;
    }
    if (summary->broken.length > 0) {
        writing_append_format(text, "\nhbmstress cannot do its work here: %s",
                              summary->broken.bytes);
    } else {
        writing_append(text, "\nhbmstress can do its work here");
    }
    writing_append_format(text, "; %" PRIu64 " ok", summary->counts[DOCTOR_OK]);
    for (int state = DOCTOR_OK + 1; state < DOCTOR_STATE_COUNT; state++) {
        if (summary->counts[state] > 0) {
            writing_append_format(text, ", %" PRIu64 " %s", summary->counts[state],
                                  doctor_state_name((enum doctor_state)state));
        }
    }
    writing_append(text, "\n");
}
