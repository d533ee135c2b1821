#include "tests/cases/case.h"

#include <stdlib.h>

bool is_step(const char *text)
{
    return (text[0] >= '0' && text[0] <= '9') || begins(text, "begin ") || begins(text, "end ") ||
           begins(text, "then ") || begins(text, "meanwhile ") || begins(text, "finish");
}

/* KEY=VALUE of a contract. */
static void set_promise(struct target_contract *contract, const char *key, const char *value)
{
    static const struct {
        const char *name;
        size_t offset, bytes;
        const char *values[4]; /* none: yes, no, or a number */
    } rows[] = {
#define NAMED(name, field, ...)                           \
    {                                                     \
        name, offsetof(struct target_contract, field),    \
            sizeof(((struct target_contract *)0)->field), \
        {                                                 \
            __VA_ARGS__                                   \
        }                                                 \
    }
#define ROW(name, ...) NAMED(#name, name, __VA_ARGS__)
#define COUNTED(name, counter) NAMED(name, counting[counter], "exact", "at_most", "late", "absent")
        ROW(granule_bytes),
        ROW(defrag, "none", "slide", "repack"),
        ROW(queues_frees),
        ROW(drains),
        ROW(programs),
        ROW(evicts),
        ROW(program_evicts_program),
        ROW(documented_messages),
        ROW(thread_safe),
        ROW(resumes),
        ROW(placement, "ranges", "hidden", "pages"),
        ROW(header_bytes),
        ROW(limit, "device", "process"),
        ROW(order_binds),
        ROW(evicts_until_fits),
        ROW(counts_owners),
        ROW(aligns_naturally),
        ROW(stream_ordered),
        ROW(records),
        ROW(sleeps, "none", "keeps", "discards"),
        NAMED("first", order[0], "none", "drain", "defragment", "evict"),
        NAMED("second", order[1], "none", "drain", "defragment", "evict"),
        NAMED("third", order[2], "none", "drain", "defragment", "evict"),
        ROW(latency.per_mille),
        ROW(latency.calls_max),
        ROW(latency.moved_bytes_max),
        ROW(regions.grows),
        ROW(regions.trims),
        ROW(regions.step_bytes),
        COUNTED("bytes_in_use", TARGET_COUNTER_BYTES_IN_USE),
        COUNTED("largest_free_block_bytes", TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES)};
#undef COUNTED
#undef ROW
#undef NAMED
    uint64_t number = strcmp(value, "yes") == 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(key, rows[i].name) != 0) {
            continue;
        }
        for (uint64_t j = 0; j < 4 && rows[i].values[j] != NULL; j++) {
            number = strcmp(value, rows[i].values[j]) == 0 ? j : number;
        }
        number = value[0] >= '0' && value[0] <= '9' ? strtoull(value, NULL, 10) : number;
        memcpy((char *)contract + rows[i].offset, &number, rows[i].bytes);
        return;
    }
    FAIL("there is no promise '%s'", key);
}

static void set_promises(struct target_contract *contract, const char *at)
{
    char word[256];
    while (next_word(&at, word)) {
        char *value = strchr(word, '=');
        if (value == NULL) {
            FAIL("a promise is KEY=VALUE");
        }
        *value++ = '\0';
        set_promise(contract, word, value);
    }
}

/* "without retire report": the target has no such call. */
static void take_away(const char *at)
{
    static const struct {
        const char *name;
        size_t offset;
    } calls[] = {{"locate", offsetof(struct target, locate)},
                 {"report", offsetof(struct target, report)},
                 {"retire", offsetof(struct target, retire)}};
    char word[256];
    now.is_partial = true;
    while (next_word(&at, word)) {
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
            if (strcmp(word, calls[i].name) == 0) {
                memset((char *)&now.partial + calls[i].offset, 0, sizeof(void (*)(void)));
            }
        }
    }
}

/* A line before the first step.  True: it is of the head of the list. */
static bool take_setup(const char *text, struct target_contract hosts[HOST_COUNT])
{
    if (begins(text, "promises ")) {
        set_promises(&script.contract, text + 9);
        for (uint32_t i = 0; i < HOST_COUNT; i++) {
            hosts[i] = script.contract;
        }
    } else if (begins(text, "host ")) { /* behind what all promise */
        const uint32_t host = (uint32_t)(text[5] - '0') % HOST_COUNT;
        set_promises(&hosts[host],
                     strchr(text, '=') == NULL ? text : text + strlen("host 1 promises "));
        script.contract_of[host] = &hosts[host];
    } else if (strcmp(text, "goes on") == 0) {
        now.goes_on = true;
    } else if (strcmp(text, "blind") == 0) {
        script.is_blind = true;
    } else if (begins(text, "does not open ")) {
        now.flaw = unquoted(text + strlen("does not open "));
    } else if (strcmp(text, "silent") == 0) {
        script.is_silent = true;
    } else if (strcmp(text, "sorts report") == 0) {
        script.sorts_report = true;
    } else if (begins(text, "without ")) {
        take_away(text + 8);
    } else if (strcmp(text, "hears one") == 0) {
        now.hears_one = true;
    } else {
        now.is_real |= begins(text, "target ");
        return true;
    }
    return false;
}

/* Appends a line of the head, or an op, with numbers of granules as bytes. */
static void append_in_bytes(struct writing *text, const char *from, bool is_op)
{
    static const char *const sizes[] = {"size", "stack", "unpadded", "address", "capacity"};
    const char *at = from;
    char word[256], kind[256] = "";
    for (size_t count = 0; at += strspn(at, " "), *at != '\0'; count++) {
        const size_t length = *at == '"' ? strlen(at) : strcspn(at, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        at += length;
        char *value = strchr(word, '=');
        const char *digits = value == NULL ? word : value + 1;
        bool is_size = value == NULL && (is_op ? count >= 2 : strcmp(kind, "capacity") == 0);
        for (size_t i = 0; value != NULL && i < sizeof sizes / sizeof *sizes; i++) {
            is_size |= (size_t)(value - word) == strlen(sizes[i]) && begins(word, sizes[i]);
        }
        if (count == 0) {
            snprintf(kind, sizeof kind, "%s", word);
        }
        const char *suffix = digits + strspn(digits, "0123456789");
        if (is_size && suffix > digits && (suffix[0] == '\0' || strcmp(suffix, "B") == 0)) {
            writing_append_format(text, "%s%.*s%" PRIu64 " ", is_op && value == NULL ? "size=" : "",
                                  (int)(digits - word), word,
                                  (uint64_t)strtoull(digits, NULL, 10) * (*suffix == 'B' ? 1 : G));
        } else {
            const bool has_suffix = is_size && digits[strspn(digits, "0123456789")] == 'B';
            writing_append_format(text, "%.*s ", (int)(strlen(word) - has_suffix), word);
        }
    }
    writing_append(text, "\n");
}

/* Reads setup and ops into the list of the case. */
void read_list(struct target_contract hosts[HOST_COUNT])
{
    size_t lines[512] = {0}, count = 2; /* of the list: which line of the case each is */
    struct writing text = {0};
    struct ops_file_error error = {0};
    writing_append_format(&text, "hbmstress-ops 1\n");
    size_t i = 0;
    for (; i < now.test->count && !is_step(now.test->lines[i].text); i++) {
        now.line = &now.test->lines[i];
        if (take_setup(now.line->text, hosts)) {
            lines[count++] = i;
            append_in_bytes(&text, now.line->text, false);
        }
    }
    if (strstr(writing_string(&text), "\ncapacity ") == NULL) {
        writing_append_format(&text, "capacity %d\n", 16 * G);
        count++;
    }
    for (; i < now.test->count; i++) {
        const char *op = now.test->lines[i].text;
        now.overlaps |= begins(op, "begin ");
        op += begins(op, "begin ") ? strlen("begin ") : 0;
        if (op[0] >= '0' && op[0] <= '9') {
            char *own = strdup(op), *answer, *verdict;
            split_step(own, &answer, &verdict);
            lines[count++] = i;
            append_in_bytes(&text, own, true);
            free(own);
        }
    }
    op_list_init(&now.list);
    if (ops_file_parse(writing_string(&text), text.length, &now.setup, &now.list, &error) !=
        OPS_FILE_OK) {
        now.line = &now.test->lines[lines[error.line]];
        FAIL("%s", error.reason);
    }
    writing_deinit(&text);
}
