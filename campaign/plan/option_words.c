#include "campaign/base/message.h"
#include "campaign/plan/run_options.h"
#include "harness/base/check.h"
#include "harness/base/option.h"
#include "harness/base/size.h"
#include "harness/generate/faulting.h"
#include "harness/generate/generate.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { VARY_WORD_BYTES = TRACE_PATH_BYTES + 32, WORD_BYTES = 64 };
static const char separators[] = ", \t", blanks[] = " \t";

/* The last complaint. */
static char wrong[512];

static const char *print_complaint(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *print_complaint(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(wrong, sizeof wrong, format, list);
    va_end(list);
    return wrong;
}

const char *option_words_unknown(const char *what, const char *word, const char *valid,
                                 const char *const *names, size_t count)
{
    const char *near = message_nearest(word, names, count);
    char all[sizeof wrong / 2] = "";
    if (near != NULL) {
        return print_complaint("%s; did you mean '%s'?", what, near);
    }
    for (size_t i = 0; i < count; i++) {
        const size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    return print_complaint("%s; %s: %s", what, valid, all);
}

/* --- what trials make of a trace --- */

void trace_vary_init(struct trace_vary *vary)
{
    *vary = (struct trace_vary){.format = "auto",
                                .interleave = "self",
                                .repeat_count_max = 3,
                                .skew_ns = UINT64_C(1000000000),
                                .percents = {50, 200},
                                .percent_count = 2};
}

static const char *set_scale(void *base, const char *value)
{
    struct trace_vary *vary = base;
    vary->percent_count = 0;
    for (const char *at = value;; at++) {
        const size_t length = strcspn(at, ",");
        uint64_t percent;
        if (!number_parse(at, length, &percent) || percent < 1 || percent > VARIATION_PERCENT_MAX) {
            return "is not a list of percentages from 1 to 10000, such as 50,200";
        }
        if (vary->percent_count == VARIATION_PERCENT_COUNT_MAX) {
            return "lists more than 8 percentages";
        }
        vary->percents[vary->percent_count++] = (uint16_t)percent;
        at += length;
        if (*at == '\0') {
            return NULL;
        }
    }
}

static const char *set_text(char *to, size_t to_bytes, const char *value)
{
    if (value[0] == '\0') {
        return "is empty";
    }
    return (size_t)snprintf(to, to_bytes, "%s", value) < to_bytes ? NULL : "is too long";
}

static const char *set_interleave(void *base, const char *value)
{
    struct trace_vary *vary = base;
    return set_text(vary->interleave, sizeof vary->interleave, value);
}

static const char *set_format(void *base, const char *value)
{
    struct trace_vary *vary = base;
    return set_text(vary->format, sizeof vary->format, value);
}

static const struct option_row keys[] = {
    {.name = "amplify",
     .kind = OPTION_NUMBER,
     OPTION_AT(struct trace_vary, repeat_count_max),
     .least = 1,
     .most = VARIATION_REPEAT_COUNT_MAX,
     .wrong = "is not a number from 1 (never repeated) to 1000"},
    {.name = "interleave", .set = set_interleave},
    {.name = "scale", .set = set_scale},
    {.name = "skew",
     .kind = OPTION_DURATION,
     OPTION_AT(struct trace_vary, skew_ns),
     .most = UINT64_C(3600) * 1000000000,
     .wrong = "is not a duration from 0s to 1h, such as 250ms"},
    {.name = "format", .set = set_format}};
enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

static const char *complain_unknown(const char *key)
{
    const char *names[KEY_COUNT];
    for (size_t i = 0; i < KEY_COUNT; i++) {
        names[i] = keys[i].name;
    }
    char what[WORD_BYTES + 32];
    snprintf(what, sizeof what, "has the unknown key '%.64s'", key);
    return option_words_unknown(what, key, "valid keys", names, KEY_COUNT);
}

/* "KEY=VALUE"; the bits of the keys that were seen. */
static const char *set_word(struct trace_vary *vary, char *word, uint32_t *seen)
{
    char *equals = strchr(word, '=');
    if (equals == NULL) {
        return print_complaint("is not none, nor a list of KEY=VALUE: '%.64s'", word);
    }
    *equals = '\0';
    const struct option_row *row = option_find(keys, KEY_COUNT, word);
    if (row == NULL) {
        return complain_unknown(word);
    }
    const uint32_t bit = UINT32_C(1) << (row - keys);
    const char *complaint = (*seen & bit) != 0 ? "appears twice"
                                               : option_set(row, vary, equals + 1);
    *seen |= bit;
    return complaint == NULL
               ? NULL
               : print_complaint("is wrong: %s '%.64s' %s", row->name, equals + 1, complaint);
}

static void vary_nothing(struct trace_vary *vary)
{
    vary->repeat_count_max = 1;
    vary->percent_count = 0;
    snprintf(vary->interleave, sizeof vary->interleave, "none");
}

const char *trace_vary_parse(const char *text, struct trace_vary *vary)
{
    struct trace_vary parsed;
    char word[VARY_WORD_BYTES];
    uint32_t seen = 0;
    trace_vary_init(&parsed);
    text += strspn(text, blanks);
    if (strcmp(text, "none") == 0) {
        vary_nothing(&parsed);
        *vary = parsed;
        return NULL;
    }
    if (text[0] == '\0') {
        return "is empty; give none, or KEY=VALUE as in amplify=3";
    }
    while (text[0] != '\0') {
        const size_t length = strcspn(text, blanks);
        if (length >= sizeof word) {
            return "has a word of more than 1,000 bytes";
        }
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        const char *complaint = set_word(&parsed, word, &seen);
        if (complaint != NULL) {
            return complaint;
        }
        text += length;
        text += strspn(text, blanks);
    }
    *vary = parsed;
    return NULL;
}

bool trace_vary_names_file(const struct trace_vary *vary)
{
    return strcmp(vary->interleave, "self") != 0 && strcmp(vary->interleave, "none") != 0;
}

/* --- faults and weights --- */

/* Takes the next word off *text; what is longer than any name is cut.  False: there is none. */
static bool read_word(const char **text, char word[WORD_BYTES])
{
    *text += strspn(*text, separators);
    const size_t length = strcspn(*text, separators);
    if (length == 0) {
        return false;
    }
    snprintf(word, WORD_BYTES, "%.*s", length < WORD_BYTES ? (int)length : WORD_BYTES - 1, *text);
    *text += length;
    return true;
}

/* names: what it may be. */
static const char *complain_of_name(const char *kind, const char *word, const char *const *names,
                                    size_t count)
{
    char what[2 * WORD_BYTES];
    snprintf(what, sizeof what, "names the unknown %s '%s'", kind, word);
    return option_words_unknown(what, word, "valid names", names, count);
}

static size_t list_fault_names(const char *names[FAULTING_KIND_COUNT + 2])
{
    for (unsigned i = 0; i < FAULT_KIND_COUNT; i++) {
        names[i] = fault_info((enum fault_kind)i)->name;
    }
    names[FAULTING_RETIRE] = "retire";
    names[FAULTING_KIND_COUNT] = "all";
    names[FAULTING_KIND_COUNT + 1] = "none";
    return FAULTING_KIND_COUNT + 2;
}

/* The bits that the word stands for. */
static const char *parse_fault(const char *word, uint32_t *bits)
{
    const char *names[FAULTING_KIND_COUNT + 2];
    const size_t count = list_fault_names(names);
    size_t i = 0;
    while (i < count && strcmp(names[i], word) != 0) {
        i++;
    }
    if (i == count) {
        return complain_of_name("fault", word, names, count);
    }
    *bits = i < FAULTING_KIND_COUNT    ? UINT32_C(1) << i
            : i == FAULTING_KIND_COUNT ? FAULTING_ALL
                                       : 0;
    return NULL;
}

const char *op_options_parse_faults(const char *text, struct fault_options *faults)
{
    char word[WORD_BYTES];
    uint32_t kinds = 0;
    size_t word_count = 0;
    bool stands_alone = false;
    while (read_word(&text, word)) {
        uint32_t bits = 0;
        const char *complaint = parse_fault(word, &bits);
        if (complaint != NULL) {
            return complaint;
        }
        stands_alone |= bits == 0 || bits == FAULTING_ALL;
        if ((kinds & bits) != 0 && !stands_alone) {
            return print_complaint("names '%s' twice", word);
        }
        kinds |= bits;
        word_count++;
    }
    if (word_count == 0) {
        return print_complaint("is empty; give none, all, or names from hbmstress list faults");
    }
    if (stands_alone && word_count > 1) {
        return print_complaint("adds names to 'all' or 'none', which must stand alone");
    }
    faults->kinds = kinds;
    return NULL;
}

static enum op_kind find_drawn_kind(const char *name, size_t length)
{
    const enum op_kind kind = op_kind_find(name, length);
    return generate_draws(kind) ? kind : OP_KIND_COUNT;
}

static const char *complain_unknown_kind(const char *word)
{
    const char *names[OP_KIND_COUNT];
    size_t count = 0;
    for (unsigned i = 0; i < OP_KIND_COUNT; i++) {
        if (generate_draws((enum op_kind)i)) {
            names[count++] = op_kind_info((enum op_kind)i)->name;
        }
    }
    return complain_of_name("kind of op", word, names, count);
}

static const char *parse_weight(char *word, uint16_t weights[OP_KIND_COUNT], uint32_t *seen)
{
    char *colon = strchr(word, ':');
    if (colon == NULL) {
        return print_complaint("is not a list of KIND:PERCENT: '%s'", word);
    }
    *colon = '\0';
    const enum op_kind kind = find_drawn_kind(word, strlen(word));
    if (kind == OP_KIND_COUNT) {
        return complain_unknown_kind(word);
    }
    if ((*seen >> kind & 1) != 0) {
        return print_complaint("names '%s' twice", word);
    }
    uint64_t percent;
    if (!number_parse(colon + 1, strlen(colon + 1), &percent) || percent > SETUP_WEIGHT_MAX) {
        return print_complaint("gives %s the weight '%s', which is not a number from 0 to %d", word,
                               colon + 1, SETUP_WEIGHT_MAX);
    }
    *seen |= UINT32_C(1) << kind;
    weights[kind] = (uint16_t)percent;
    return NULL;
}

const char *op_options_print_faults(const struct fault_options *faults, char *text,
                                    size_t text_bytes)
{
    const char *names[FAULTING_KIND_COUNT + 2];
    (void)list_fault_names(names);
    text[0] = '\0';
    if (faults->kinds == FAULTING_ALL) {
        snprintf(text, text_bytes, "all");
        return text;
    }
    for (unsigned i = 0; i < FAULTING_KIND_COUNT; i++) {
        const size_t used = strlen(text);
        if ((faults->kinds >> i & 1) != 0) {
            snprintf(text + used, text_bytes - used, "%s%s", used == 0 ? "" : ",", names[i]);
        }
    }
    return text;
}

const char *op_options_parse_weights(const char *text, uint16_t weights[OP_KIND_COUNT])
{
    struct setup parsed;
    char word[WORD_BYTES];
    uint32_t seen = 0;
    setup_init(&parsed); /* 100 each */
    while (read_word(&text, word)) {
        const char *complaint = parse_weight(word, parsed.weights, &seen);
        if (complaint != NULL) {
            return complaint;
        }
    }
    if (seen == 0) {
        return print_complaint("is empty; give KIND:PERCENT, as in alloc:300");
    }
    if (parsed.weights[OP_ALLOC] == 0 && parsed.weights[OP_OUTPUT] == 0) {
        return print_complaint("leaves no request: alloc or output must be above 0");
    }
    memcpy(weights, parsed.weights, sizeof parsed.weights);
    return NULL;
}

/* 18: the powers of ten in 64 bits. */
enum { DIGITS_MAX = 18 };

static const char wrong_rates[] =
    "is not a list of CLASS:RATE, with the classes plain, aligned and held, each at most once, and "
    "rates such as 1e-8, 0.001 or 1/1000 (at most 1)";

/* Appends the digits at *at to a number of at most DIGITS_MAX digits; returns how many, or
 * DIGITS_MAX + 1 when they are too many. */
static unsigned read_digits(const char **at, uint64_t *number)
{
    unsigned count = 0;
    while (**at >= '0' && **at <= '9' && count <= DIGITS_MAX) {
        if (__builtin_mul_overflow(*number, 10, number)) {
            return DIGITS_MAX + 1;
        }
        *number += (uint64_t)(**at - '0');
        (*at)++;
        count++;
    }
    return count;
}

static bool divide_by_ten(struct rate *rate, uint64_t times)
{
    for (uint64_t i = 0; i < times && rate->part > 0; i++) {
        if (__builtin_mul_overflow(rate->whole, 10, &rate->whole)) {
            return false;
        }
    }
    return true;
}

/* Digits, with a point or not, and an exponent that is not positive. */
static bool parse_decimal(const char *text, struct rate *rate)
{
    uint64_t exponent = 0;
    *rate = (struct rate){.whole = 1};
    const unsigned before = read_digits(&text, &rate->part);
    const bool has_point = before > 0 && *text == '.';
    text += has_point;
    const unsigned after = has_point ? read_digits(&text, &rate->part) : 0;
    if (before == 0 || before + after > DIGITS_MAX || (has_point && after == 0)) {
        return false;
    }
    if (*text == 'e' || *text == 'E') {
        const bool is_small = text[1] == '-';
        text += is_small ? 2 : 1;
        const unsigned count = read_digits(&text, &exponent);
        if (count == 0 || count > DIGITS_MAX || (!is_small && exponent > 0)) {
            return false;
        }
    }
    return *text == '\0' && divide_by_ten(rate, after) && divide_by_ten(rate, exponent);
}

static bool parse_rate(const char *text, struct rate *rate)
{
    const char *slash = strchr(text, '/');
    if (slash == NULL) {
        return parse_decimal(text, rate) && rate->part <= rate->whole;
    }
    return number_parse(text, (size_t)(slash - text), &rate->part) &&
           number_parse(slash + 1, strlen(slash + 1), &rate->whole) && rate->whole > 0 &&
           rate->part <= rate->whole;
}

static bool parse_word(const char *word, struct rate rates[OOM_CLASS_COUNT])
{
    for (unsigned i = 0; i < OOM_CLASS_COUNT; i++) {
        const char *name = oom_class_name((enum oom_class)i);
        const size_t length = strlen(name);
        if (strncmp(word, name, length) == 0 && word[length] == ':') {
            return rates[i].whole == 0 && parse_rate(word + length + 1, &rates[i]);
        }
    }
    return false;
}

const char *allowance_parse_rates(const char *text, struct rate rates[OOM_CLASS_COUNT])
{
    struct rate parsed[OOM_CLASS_COUNT] = {0};
    char word[WORD_BYTES];
    size_t word_count = 0;
    while (read_word(&text, word)) {
        if (strlen(word) == WORD_BYTES - 1 || !parse_word(word, parsed)) {
            return wrong_rates; /* one that was cut is none of ours */
        }
        word_count++;
    }
    if (word_count == 0) {
        return wrong_rates;
    }
    memcpy(rates, parsed, sizeof parsed);
    return NULL;
}

struct report_allowed allowance_of_run(const struct allowance *allowance, uint64_t ooms)
{
    __extension__ typedef unsigned __int128 wide;
    struct report_allowed allowed = {.has_unknown_rate = allowance->has_unknown_rate,
                                     .unrepeated = allowance->unrepeated};
    for (unsigned i = 0; i < OOM_CLASS_COUNT; i++) {
        const struct rate *rate = &allowance->unknown_rates[i];
        CHECK(rate->part <= rate->whole);
        allowed.unknown[i] = rate->whole == 0 ? 0
                                              : (uint64_t)((wide)rate->part * ooms / rate->whole);
    }
    return allowed;
}
