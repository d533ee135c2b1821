#include "diagnosis/waits.h"

#include "harness/base/check.h"
#include "harness/base/json.h"
#include "harness/base/size.h"
#include "harness/op/setup.h"

#include <inttypes.h>

/* --- hangs of a job --- */

bool hangs_are_there(const struct hangs *hangs)
{
    return hangs->count > 0;
}

const char *hang_cause_summary(enum hang_cause cause)
{
    static const char *const summaries[] = {
        [HANG_OOM] = "one host ran out of memory, and others wait for it",
        [HANG_ORDER] = "hosts wait for each other",
        [HANG_ELSEWHERE] = "the host that is missing waits itself",
        [HANG_BEHIND] = "one host is late",
        [HANG_GONE] = "one host left without a word",
        [HANG_LIST_ENDS] = "the list ends while hosts wait"};
    CHECK(cause < HANG_CAUSE_COUNT);
    return summaries[cause];
}

static unsigned count_hosts(uint64_t hosts)
{
    return (unsigned)__builtin_popcountll(hosts);
}

/* "0", "0 and 1", "0 to 5 and 7". */
static void append_numbers(uint64_t hosts, struct writing *text)
{
    const char *separator = "";
    for (unsigned host = 0; host < OP_HOST_COUNT_MAX; host++) {
        unsigned last = host;
        if ((hosts >> host & 1) == 0) {
            continue;
        }
        while (last + 1 < OP_HOST_COUNT_MAX && (hosts >> (last + 1) & 1) != 0) {
            last++;
        }
        last = last - host < 2 ? host : last;
        const bool is_last = last == OP_HOST_COUNT_MAX - 1 || hosts >> (last + 1) == 0;
        writing_append_format(text, "%s%u", is_last && separator[0] != '\0' ? " and " : separator,
                              host);
        if (last > host) {
            writing_append_format(text, " to %u", last);
        }
        separator = ", ";
        host = last;
    }
}

static void append_hosts(uint64_t hosts, struct writing *text)
{
    writing_append(text, "host ");
    append_numbers(hosts, text);
}

/* "collective 'data 0'", "collective 7". */
static void append_group(const struct setup *setup, uint16_t group, struct writing *text)
{
    const char *name = setup_group_name(setup, group);
    if (name[0] == '\0') {
        writing_append_format(text, "collective %u", group);
    } else {
        writing_append(text, "collective '");
        writing_append_visible(text, name);
        writing_append(text, "'");
    }
}

/* "step 811 (op 5093)", "op 5093". */
static void append_when(uint64_t step, uint32_t op, struct writing *text)
{
    if (step == HANG_NO_STEP) {
        writing_append_format(text, "op %" PRIu32, op);
    } else {
        writing_append_format(text, "step %" PRIu64 " (op %" PRIu32 ")", step, op);
    }
}

static void append_waiting(const struct setup *setup, const struct hang *hang, struct writing *text)
{
    const bool is_one = count_hosts(hang->waiting) == 1;
    append_hosts(hang->waiting, text);
    writing_append(text, hang->until != OP_NONE ? " waited" : is_one ? " waits" : " wait");
    writing_append(text, " in ");
    append_group(setup, hang->group, text);
    writing_append(text, " since ");
    append_when(hang->since_step, hang->since, text);
    if (hang->until != OP_NONE) {
        writing_append_format(text, " until op %" PRIu32 "%s, %.3g s in vain", hang->until,
                              hang->is_in_request ? ", inside that request" : "",
                              (double)hang->waited_ns / 1e9);
    }
}

static void append_other(const struct setup *setup, const struct hang *hang, struct writing *text)
{
    writing_append(text, "it waits itself in ");
    append_group(setup, hang->other_group, text);
    writing_append_format(text, " since op %" PRIu32 ", for ", hang->cause_op);
    append_hosts(hang->other_missing, text);
    if (hang->cause == HANG_ORDER) {
        writing_append(text, ": they enter their collectives in different orders");
    }
}

static void append_behind(const struct hang *hang, struct writing *text)
{
    if (hang->step == HANG_NO_STEP || hang->behind == 0) {
        writing_append(text, "it is not there yet");
    } else {
        writing_append_format(text, "it is at step %" PRIu64 ", %" PRIu64 " step%s behind",
                              hang->step, hang->behind, hang->behind == 1 ? "" : "s");
    }
}

/* "step 1 was its last, and op 20". */
static void append_end(const struct hang *hang, struct writing *text)
{
    if (hang->cause_op == OP_NONE) {
        writing_append(text, "it has no ops");
        return;
    }
    if (hang->step != HANG_NO_STEP && hang->step > 0) {
        writing_append_format(text, "step %" PRIu64 " (op %" PRIu32 ") was its last",
                              hang->step - 1, hang->cause_op);
    } else {
        writing_append_format(text, "op %" PRIu32 " was its last", hang->cause_op);
    }
}

static void append_cause(const struct setup *setup, const struct hang *hang, struct writing *text)
{
    switch (hang->cause) {
    case HANG_OOM:
        writing_append(text, "it ran out of memory at ");
        append_when(hang->cause_step, hang->cause_op, text);
        if (hang->is_silent) {
            writing_append(text, ", and nothing of it follows");
        }
        return;
    case HANG_ORDER:
    case HANG_ELSEWHERE:
        append_other(setup, hang, text);
        return;
    case HANG_GONE:
        writing_append(text, "it left without a word: ");
        append_end(hang, text);
        writing_append(text, ", it was not out of memory, and others go on");
        return;
    case HANG_LIST_ENDS:
        writing_append(text, "the list ends there, ");
        append_end(hang, text);
        return;
    default:
        append_behind(hang, text);
    }
}

void hang_append(const struct setup *setup, const struct hang *hang, struct writing *text)
{
    append_waiting(setup, hang, text);
    writing_append_format(text, ": host %u %s: ", hang->missing,
                          hang->came == OP_NONE ? "does not come" : "does not come in time");
    append_cause(setup, hang, text);
    if (hang->came != OP_NONE) {
        writing_append_format(text, ", and joins only with op %" PRIu32 "%s", hang->came,
                              hang->is_in_request ? ", after that request" : "");
    }
    if (hang->again > 0) {
        writing_append_format(text, " (%" PRIu64 " more collective%s waited for it alike)",
                              hang->again, hang->again == 1 ? "" : "s");
    }
}

void hangs_append(const struct setup *setup, const struct hangs *hangs, struct writing *text)
{
    for (size_t i = 0; i < hangs->count; i++) {
        writing_append(text, "hang: ");
        hang_append(setup, &hangs->hangs[i], text);
        writing_append(text, ".\n");
    }
    if (hangs->more > 0) {
        writing_append_format(text, "hang: hosts waited %" PRIu64 " more times in vain.\n",
                              hangs->more);
    }
}

static void add_hosts(struct writing *text, const char *key, uint64_t hosts)
{
    json_nest(text, key, '[');
    for (unsigned host = 0; host < OP_HOST_COUNT_MAX; host++) {
        if ((hosts >> host & 1) != 0) {
            json_add_number(text, NULL, host);
        }
    }
    json_unnest(text, ']');
}

static void add_op(struct writing *text, const char *key, uint32_t op)
{
    if (op != OP_NONE) {
        json_add_number(text, key, op);
    }
}

static void add_step(struct writing *text, const char *key, uint64_t step)
{
    if (step != HANG_NO_STEP) {
        json_add_number(text, key, step);
    }
}

/* Appends one hang, with its trial unless scenario is NULL. */
static void append_hang_json(const struct setup *setup, const struct hang *hang,
                             const char *scenario, uint64_t trial, struct writing *text)
{
    struct writing words;
    writing_init(&words);
    hang_append(setup, hang, &words);
    json_open(text, "hang");
    if (scenario != NULL) {
        json_add_string(text, "scenario", scenario);
        json_add_number(text, "trial", trial);
    }
    json_add_string(text, "cause", hang_cause_name(hang->cause));
    json_add_number(text, "group", hang->group);
    json_add_string(text, "group_name", setup_group_name(setup, hang->group));
    add_hosts(text, "waiting", hang->waiting);
    json_add_number(text, "since_op", hang->since);
    add_step(text, "since_step", hang->since_step);
    add_op(text, "until_op", hang->until);
    json_add_number(text, "missing", hang->missing);
    add_step(text, "missing_step", hang->step);
    add_op(text, "cause_op", hang->cause_op);
    if (hang->cause == HANG_OOM) {
        add_step(text, "cause_step", hang->cause_step);
    }
    if (hang->cause == HANG_ORDER || hang->cause == HANG_ELSEWHERE) {
        json_add_number(text, "other_group", hang->other_group);
        add_hosts(text, "other_missing", hang->other_missing);
    }
    add_op(text, "came_op", hang->came);
    json_add_number(text, "again", hang->again);
    json_add_string(text, "words", writing_string(&words));
    json_close(text);
    writing_deinit(&words);
}

void hangs_append_trial_json(const struct setup *setup, const struct hangs *hangs,
                             const char *scenario, uint64_t trial, struct writing *text)
{
    for (size_t i = 0; i < hangs->count; i++) {
        append_hang_json(setup, &hangs->hangs[i], scenario, trial, text);
    }
}

void hangs_append_json(const struct setup *setup, const struct hangs *hangs, struct writing *text)
{
    hangs_append_trial_json(setup, hangs, NULL, 0, text);
}

/* --- clients that all wait for memory --- */

static void append_order(const struct setup *setup, const struct standstill *found,
                         struct writing *text)
{
    char size[SIZE_TEXT_BYTES];
    size_print(found->requested_bytes, size);
    writing_append_format(text, "%s could have had its %s", setup->tags[found->client], size);
    if (found->fits_now) {
        writing_append(text, " by then, had it asked once more");
    } else if (found->gives_way != STANDSTILL_NOBODY) {
        writing_append_format(text, ", had %s given way", setup->tags[found->gives_way]);
    } else {
        writing_append(text, ", had several others given way");
    }
}

void standstill_append(const struct setup *setup, const struct standstill *found,
                       struct writing *text)
{
    writing_append_format(text, "all %u clients", found->client_count);
    if (setup->host_count > 1) {
        writing_append_format(text, " of host %u", found->host);
    }
    writing_append_format(
        text, " wait for memory since op %" PRIu32 ", and at op %" PRIu32 " each has asked again: ",
        found->since, found->told);
    switch (found->way) {
    case STANDSTILL_ORDER:
        append_order(setup, found, text);
        break;
    case STANDSTILL_TOO_SMALL:
        writing_append(text, "the device is too small for any one of their requests, "
                             "even if all others give way");
        break;
    default:
        writing_append(text, "whether one of them could have gone on is not known");
        break;
    }
}

void standstills_append(const struct setup *setup, const struct standstills *standstills,
                        struct writing *text)
{
    for (size_t i = 0; i < standstills->count; i++) {
        writing_append(text, "standstill: ");
        standstill_append(setup, &standstills->standstills[i], text);
        writing_append(text, ".\n");
    }
    if (standstills->more > 0) {
        writing_append_format(text, "standstill: %" PRIu64 " more.\n", standstills->more);
    }
}

static void append_standstill_json(const struct setup *setup, const struct standstill *found,
                                   struct writing *text)
{
    static const char *const ways[] = {"order", "too_small", "unknown"};
    struct writing words;
    writing_init(&words);
    standstill_append(setup, found, &words);
    json_open(text, "standstill");
    json_add_number(text, "host", found->host);
    json_add_number(text, "clients", found->client_count);
    json_add_number(text, "since_op", found->since);
    json_add_number(text, "op", found->told);
    json_add_string(text, "way", ways[found->way]);
    if (found->way == STANDSTILL_ORDER) {
        json_add_string(text, "client", setup->tags[found->client]);
        json_add_number(text, "requested_bytes", found->requested_bytes);
    }
    if (found->gives_way != STANDSTILL_NOBODY) {
        json_add_string(text, "gives_way", setup->tags[found->gives_way]);
    }
    json_add_string(text, "words", writing_string(&words));
    json_close(text);
    writing_deinit(&words);
}

void standstills_append_json(const struct setup *setup, const struct standstills *standstills,
                             struct writing *text)
{
    for (size_t i = 0; i < standstills->count; i++) {
        append_standstill_json(setup, &standstills->standstills[i], text);
    }
}

/* --- a shared device that is short --- */

/* "3G of it are of host 0, which is awake since op 2" */
static void append_holder(const struct shortage *found, struct writing *text)
{
    char size[SIZE_TEXT_BYTES];
    size_print(found->holder_bytes, size);
    if (found->holder_bytes == 0) {
        writing_append(text, "no other host has any of it");
        return;
    }
    writing_append_format(text, "%s of it are held by host %u", size, found->holder);
    if (found->is_holder_awake && found->holder_since == OP_NONE) {
        return; /* it grows, and never sleeps */
    }
    writing_append(text, ", which ");
    if (found->is_holder_awake) {
        writing_append_format(text, "is awake since op %" PRIu32, found->holder_since);
    } else if (found->holder_since == OP_NONE) {
        writing_append(text, "sleeps and has not given all of it back");
    } else {
        writing_append_format(text, "sleeps since op %" PRIu32 " and has not given all of it back",
                              found->holder_since);
    }
}

void shortage_append(const struct shortage *shortage, struct writing *text)
{
    char asked[SIZE_TEXT_BYTES], left[SIZE_TEXT_BYTES];
    const bool is_any_left = shortage->left_bytes > 0;
    size_print(shortage->asked_bytes, asked);
    size_print(shortage->left_bytes, left);
    writing_append_format(text,
                          "host %u ran out at op %" PRIu32
                          ": it asked for %s of the shared device, and %s %s left: ",
                          shortage->host, shortage->op, asked, is_any_left ? left : "nothing",
                          is_any_left ? "were" : "was");
    append_holder(shortage, text);
}

void shortages_append(const struct shortages *shortages, struct writing *text)
{
    for (size_t i = 0; i < shortages->count; i++) {
        writing_append(text, "shortage: ");
        shortage_append(&shortages->shortages[i], text);
        writing_append(text, ".\n");
    }
    if (shortages->total > shortages->count) {
        writing_append_format(text, "shortage: %" PRIu64 " more.\n",
                              shortages->total - shortages->count);
    }
}

static void append_shortage_json(const struct shortage *found, struct writing *text)
{
    struct writing words;
    writing_init(&words);
    shortage_append(found, &words);
    json_open(text, "shortage");
    json_add_number(text, "host", found->host);
    json_add_number(text, "op", found->op);
    json_add_number(text, "asked_bytes", found->asked_bytes);
    json_add_number(text, "left_bytes", found->left_bytes);
    if (found->holder_bytes > 0) {
        json_add_number(text, "holder", found->holder);
        json_add_number(text, "holder_bytes", found->holder_bytes);
        json_add_string(text, "holder_is", found->is_holder_awake ? "awake" : "asleep");
    }
    json_add_string(text, "words", writing_string(&words));
    json_close(text);
    writing_deinit(&words);
}

void shortages_append_json(const struct shortages *shortages, struct writing *text)
{
    for (size_t i = 0; i < shortages->count; i++) {
        append_shortage_json(&shortages->shortages[i], text);
    }
}
