/* How many steps a job was to have, as its log says it. */
#include "formats/log/private/log_words.h"

#include <string.h>

/* As printed numbers are, with commas between thousands; 0 bytes: there is none. */
static size_t read_count(const char *text, size_t length, uint64_t *count)
{
    size_t at = 0;
    *count = 0;
    while (at < length && at < 18 &&
           ((text[at] >= '0' && text[at] <= '9') || (text[at] == ',' && at > 0))) {
        *count = text[at] == ',' ? *count : *count * 10 + (uint64_t)(text[at] - '0');
        at++;
    }
    const bool is_fraction = at + 1 < length && text[at] == '.' && text[at + 1] >= '0' &&
                             text[at + 1] <= '9';
    return is_fraction ? 0 : at;
}

static size_t skip(const char *text, size_t length, const char *bytes)
{
    size_t at = 0;
    while (at < length && text[at] != '\0' && strchr(bytes, text[at]) != NULL) {
        at++;
    }
    return at;
}

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

/* "= 80,000" or ": 80000". */
static bool read_value(const char *text, size_t length, uint64_t *total)
{
    size_t at = skip(text, length, " ");
    if (at == length || (text[at] != '=' && text[at] != ':')) {
        return false;
    }
    at += 1 + skip(text + at + 1, length - at - 1, " ");
    return read_count(text + at, length - at, total) > 0;
}

/* "steps=80000" that no other word qualifies: not "warmup steps=10", nor "save_steps=500". */
static bool is_alone(const char *text, size_t at)
{
    while (at > 0 && text[at - 1] == ' ') {
        at--;
    }
    return at == 0 || !is_letter(text[at - 1]);
}

static bool read_named(const char *text, size_t length, uint64_t *total)
{
    static const char *const names[] = {"max_steps",          "total_steps", "train_steps",
                                        "training_steps",     "num_steps",   "train_iters",
                                        "optimization steps", "steps"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const size_t name_length = strlen(names[i]);
        for (size_t at = 0; at + name_length < length; at++) {
            if (memcmp(text + at, names[i], name_length) == 0 &&
                (strcmp(names[i], "steps") != 0 || is_alone(text, at)) &&
                read_value(text + at + name_length, length - at - name_length, total)) {
                return true;
            }
        }
    }
    return false;
}

/* "24031/80000", "10/     100", "7 of 100", where the first number is the step. */
static bool read_share(const char *text, size_t length, uint64_t step, uint64_t *total)
{
    for (size_t at = 0; at < length; at++) {
        uint64_t count;
        const bool begins = at == 0 || ((text[at - 1] < '0' || text[at - 1] > '9') &&
                                        text[at - 1] != '/' && text[at - 1] != '.');
        const size_t digits = begins ? read_count(text + at, length - at, &count) : 0;
        if (digits == 0 || count != step) {
            continue;
        }
        size_t next = at + digits + skip(text + at + digits, length - at - digits, " ");
        const bool is_slash = next < length && text[next] == '/';
        const bool is_of = length - next > 3 && memcmp(text + next, "of ", 3) == 0;
        next += is_slash ? 1 : is_of ? 3 : length - next;
        next += skip(text + next, length - next, " ");
        if (read_count(text + next, length - next, total) > 0) {
            return *total >= step;
        }
    }
    return false;
}

bool log_step_total_read(const char *text, size_t length, uint64_t *total)
{
    uint64_t step;
    return (log_step_read(text, length, &step) && read_share(text, length, step, total)) ||
           read_named(text, length, total);
}
