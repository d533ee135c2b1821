#include "campaign/plan/op_options.h"

#include "campaign/base/message.h"
#include "harness/base/size.h"
#include "harness/generate/faulting.h"
#include "harness/generate/generate.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WORD_BYTES = 64 };
static const char separators[] = ", \t";

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

static const char *complain_unknown(const char *what, const char *word, const char *const *names,
                                    size_t count)
{
    const char *near = message_nearest(word, names, count);
    if (near != NULL) {
        return print_complaint("names the unknown %s '%s'; did you mean '%s'?", what, word, near);
    }
    char valid[sizeof wrong / 2] = "";
    for (size_t i = 0; i < count; i++) {
        const size_t used = strlen(valid);
        snprintf(valid + used, sizeof valid - used, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    return print_complaint("names the unknown %s '%s'; valid names: %s", what, word, valid);
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
        return complain_unknown("fault", word, names, count);
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
    return complain_unknown("kind of op", word, names, count);
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
