/* Reads how many steps a job was to have, as its log says it. */
#include "formats/common/cursor.h"
#include "formats/log/private/log_reading.h"

#include <string.h>

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

/* Takes a count as numbers are printed, with commas between thousands. */
static bool take_count(struct cursor *cursor, uint64_t *count)
{
    const char *begin = cursor->at;
    *count = 0;
    while (cursor->at < cursor->end && cursor->at - begin < 18 &&
           (is_digit(*cursor->at) || (*cursor->at == ',' && cursor->at > begin))) {
        *count = *cursor->at == ',' ? *count : *count * 10 + (uint64_t)(*cursor->at - '0');
        cursor->at++;
    }
    const bool is_fraction = cursor_left(cursor) > 1 && cursor->at[0] == '.' &&
                             is_digit(cursor->at[1]);
    return cursor->at > begin && !is_fraction;
}

/* "= 80,000" or ": 80000". */
static bool read_value(struct cursor cursor, uint64_t *total)
{
    cursor_skip(&cursor, ' ');
    if (!cursor_take(&cursor, '=') && !cursor_take(&cursor, ':')) {
        return false;
    }
    cursor_skip(&cursor, ' ');
    return take_count(&cursor, total);
}

static bool read_named(const char *text, size_t length, uint64_t *total)
{
    static const char *const names[] = {"max_steps",          "total_steps", "train_steps",
                                        "training_steps",     "num_steps",   "train_iters",
                                        "optimization steps", "steps"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const size_t name_length = strlen(names[i]);
        const bool is_bare = strcmp(names[i], "steps") == 0;
        for (size_t at = 0; at + name_length < length; at++) {
            size_t before = memcmp(text + at, names[i], name_length) == 0 ? at : SIZE_MAX;
            while (before != SIZE_MAX && before > 0 && text[before - 1] == ' ') {
                before--;
            }
            /* "steps=80000" that no other word qualifies: not "warmup steps=10", "save_steps=500".
             */
            if (before != SIZE_MAX && (!is_bare || before == 0 || !is_letter(text[before - 1])) &&
                read_value(cursor_make(text + at + name_length, length - at - name_length),
                           total)) {
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
        struct cursor cursor = cursor_make(text + at, length - at);
        uint64_t count;
        const bool begins = at == 0 ||
                            (!is_digit(text[at - 1]) && text[at - 1] != '/' && text[at - 1] != '.');
        if (!begins || !take_count(&cursor, &count) || count != step) {
            continue;
        }
        cursor_skip(&cursor, ' ');
        if (!cursor_take(&cursor, '/') && !cursor_take_word(&cursor, "of ", 3)) {
            continue;
        }
        cursor_skip(&cursor, ' ');
        if (take_count(&cursor, total)) {
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
