/* Finds reports in any noise, and takes their sections apart.  The lists of allocations are in
 * hbm_report_list.c, reports of one sentence and those of XLA:GPU in hbm_report_short.c. */
#include "formats/xla/private/hbm_report.h"

#include <string.h>

enum {
    SECTION_GAP_BYTES_MAX = 8192, /* what stands further apart belongs to different reports */
    ROW_NAME_BYTES_MAX = 40,
    SENTENCE_BYTES_MAX = 400,
    SHARE_MAX = 1000000 /* hundredths of a percent */
};

/* The state while a text is read. */
struct parsing {
    struct phrase_cursor cursor;
    struct hbm_report *report;
    struct hbm_report scratch;       /* what a section of another report says */
    struct compile_size request;     /* of a GPU, the last one seen */
    enum hbm_report_section section; /* the last one taken */
};

static const struct section_beginning *find_beginning(const struct phrase_cursor *cursor);

/* --- sections --- */

/* "Used S of S hbm. Exceeded hbm capacity by S" */
static bool parse_used(struct phrase_cursor *cursor, struct hbm_report *report)
{
    struct compile_size *numbers = report->numbers;
    struct phrase_cursor ahead = *cursor;
    if (!phrase_scan(&ahead, "Used %C of %C", &numbers[COMPILE_USED], &numbers[COMPILE_CAPACITY]) ||
        !hbm_report_take_space(&ahead, report->space)) {
        numbers[COMPILE_USED].is_said = numbers[COMPILE_CAPACITY].is_said = false;
        return false;
    }
    *cursor = ahead;
    char again[HBM_REPORT_SPACE_BYTES];
    if (phrase_scan(&ahead, "[.] Exceeded") && hbm_report_take_space(&ahead, again) &&
        phrase_scan(&ahead, "capacity by %C", &numbers[COMPILE_EXCEEDED])) {
        *cursor = ahead;
    }
    return true;
}

/* "Ran out of memory in memory space hbm." */
static bool parse_ran_out(struct phrase_cursor *cursor, struct hbm_report *report)
{
    if (hbm_report_parse_temporaries(cursor, report)) {
        return true;
    }
    if (!phrase_take(cursor, "Ran out of memory in memory space") ||
        !hbm_report_take_space(cursor, report->space)) {
        return false;
    }
    (void)phrase_take_character(cursor, '.');
    if (!parse_used(cursor, report) && phrase_take(cursor, "Used")) {
        /* The capacity is cut off. */
        (void)phrase_scan(cursor, "%C", &report->numbers[COMPILE_USED]);
    }
    return true;
}

/* "35.7%" and any gap before it. */
static bool take_share(struct phrase_cursor *cursor, struct compile_share *share)
{
    struct phrase_cursor ahead = *cursor;
    struct decimal number;
    phrase_skip_gap(&ahead);
    const size_t length = decimal_parse(ahead.text + ahead.at, ahead.length - ahead.at, &number);
    ahead.at += length;
    for (; number.fraction_digits < 2; number.fraction_digits++) {
        number.digits *= 10;
    }
    for (; number.fraction_digits > 2; number.fraction_digits--) {
        number.digits /= 10;
    }
    if (length == 0 || number.digits > SHARE_MAX || !phrase_take_character(&ahead, '%')) {
        return false;
    }
    *share = (struct compile_share){.is_said = true, .hundredths = (unsigned)number.digits};
    *cursor = ahead;
    return true;
}

/* Parses the parentheses of "HLO temp": "(100.0% utilization: Unpadded (27.82G) Padded
 * (27.82G), 4.6% fragmentation (1.35G))", in 2019 "(24.2% utilization, 0.7% fragmentation
 * (293.84M))". */
static void parse_utilization(struct phrase_cursor ahead, struct hbm_report *report)
{
    struct compile_share share;
    if (!phrase_take(&ahead, "(") || !take_share(&ahead, &share) ||
        !phrase_take(&ahead, "utilization")) {
        return;
    }
    report->utilization = share;
    (void)phrase_scan(&ahead, ": Unpadded ( %C ) Padded ( %C )", &report->numbers[COMPILE_UNPADDED],
                      &report->numbers[COMPILE_PADDED]);
    if (phrase_take(&ahead, ",") && take_share(&ahead, &share) &&
        phrase_scan(&ahead, "fragmentation ( %C", &report->numbers[COMPILE_FRAGMENTATION])) {
        report->fragmentation = share;
    }
}

/* "reserved S", "program unknown size": rows of these names, as long as they come; others are
 * passed over. */
static bool take_row(struct phrase_cursor *cursor, struct hbm_report *report,
                     const struct hbm_report_row *rows, size_t row_count)
{
    for (size_t i = 0; i < row_count; i++) {
        struct phrase_cursor ahead = *cursor;
        if (!phrase_take(&ahead, rows[i].name)) {
            continue;
        }
        const bool is_size = phrase_scan(&ahead, "%C", &report->numbers[rows[i].number]);
        if (is_size && rows[i].number == COMPILE_ROW_TEMP) {
            parse_utilization(ahead, report);
        }
        if (is_size || phrase_take(&ahead, "unknown size")) {
            *cursor = ahead;
            return true;
        }
    }
    return false;
}

/* A row of another name: words and a size. */
static bool skip_row(struct phrase_cursor *cursor)
{
    struct phrase_cursor ahead = *cursor;
    struct size_range range;
    if (!phrase_skip_gap(&ahead) || find_beginning(&ahead) != NULL) {
        return false;
    }
    const size_t begin = ahead.at;
    while (ahead.at - begin < ROW_NAME_BYTES_MAX &&
           (phrase_is_word(phrase_peek(&ahead)) || phrase_peek(&ahead) == ' ') &&
           !(phrase_peek(&ahead) >= '0' && phrase_peek(&ahead) <= '9')) {
        ahead.at++;
    }
    if (ahead.at == begin || !phrase_take_size(&ahead, &range)) {
        return false;
    }
    *cursor = ahead;
    return true;
}

static void parse_rows(struct phrase_cursor *cursor, struct hbm_report *report,
                       const struct hbm_report_row *rows, size_t row_count)
{
    while (take_row(cursor, report, rows, row_count) || skip_row(cursor)) {
        hbm_report_skip_parentheses(cursor);
    }
}

static bool parse_total(struct phrase_cursor *cursor, struct hbm_report *report)
{
    static const struct hbm_report_row rows[] = {{"reserved", COMPILE_RESERVED},
                                                 {"program", COMPILE_PROGRAM},
                                                 {"arguments", COMPILE_ARGUMENTS}};
    char space[HBM_REPORT_SPACE_BYTES];
    if (hbm_report_parse_estimate(cursor, report)) {
        return true;
    }
    if (!phrase_take(cursor, "Total") || !hbm_report_take_space(cursor, space) ||
        !(phrase_take(cursor, "usage >=") ||
          phrase_take(cursor, "usage \\u003e=")) || /* as some write it in JSON */
        !phrase_scan(cursor, "%C [:]", &report->numbers[COMPILE_TOTAL])) {
        return false;
    }
    parse_rows(cursor, report, rows, sizeof rows / sizeof rows[0]);
    return true;
}

/* "Output size S; shares S with arguments." */
static bool parse_output(struct phrase_cursor *cursor, struct hbm_report *report)
{
    if (!phrase_scan(cursor, "Output size %C [;]", &report->numbers[COMPILE_OUTPUT])) {
        return false;
    }
    if (phrase_take(cursor, "shares")) {
        (void)phrase_scan(cursor, "%C", &report->numbers[COMPILE_SHARED]);
    }
    return true;
}

static bool parse_requirement(struct phrase_cursor *cursor, struct hbm_report *report)
{
    static const struct hbm_report_row rows[] = {{"reserved", COMPILE_ROW_RESERVED},
                                                 {"global", COMPILE_ROW_GLOBAL},
                                                 {"scoped", COMPILE_ROW_SCOPED},
                                                 {"HLO temp", COMPILE_ROW_TEMP},
                                                 {"overlays", COMPILE_ROW_OVERLAYS}};
    char space[HBM_REPORT_SPACE_BYTES];
    if (!phrase_take(cursor, "Program") || !hbm_report_take_space(cursor, space) ||
        !phrase_scan(cursor, "requirement %C", &report->numbers[COMPILE_REQUIREMENT])) {
        return false;
    }
    if (report->space[0] == '\0') {
        memcpy(report->space, space, sizeof space);
    }
    (void)phrase_take_character(cursor, ':');
    parse_rows(cursor, report, rows, sizeof rows / sizeof rows[0]);
    return true;
}

/* --- finding them --- */

/* The words that may begin a section. */
static const struct section_beginning {
    char word[24];
    enum hbm_report_section section; /* NONE: a report of its own */
    bool (*parse)(struct phrase_cursor *cursor, struct hbm_report *report);
} beginnings[] = {
    {"Ran", HBM_SECTION_USED, parse_ran_out},
    {"Used", HBM_SECTION_USED, parse_used},
    {"Total", HBM_SECTION_TOTAL, parse_total},
    {"Output", HBM_SECTION_OUTPUT, parse_output},
    {"Program", HBM_SECTION_REQUIREMENT, parse_requirement},
    {"Largest", HBM_SECTION_LIST, hbm_report_parse_list},
    {"Unpadded", HBM_SECTION_LIST, hbm_report_parse_entry_end},
    {"Allocation", HBM_SECTION_NONE, hbm_report_parse_allocation},
    {"TensorCore", HBM_SECTION_NONE, hbm_report_parse_cores},
    {"Aborting", HBM_SECTION_NONE, hbm_report_parse_early},
    {"BufferAssignment", HBM_SECTION_NONE, hbm_report_parse_gpu},
};
enum {
    BEGINNING_COUNT = sizeof beginnings / sizeof beginnings[0],
    BEGINNING_BYTES_MIN = 3 /* "Ran" */
};

/* The section that begins here: not in the middle of a word, but behind a line break as text
 * ("\nTotal"), too.  NULL: none. */
static const struct section_beginning *find_beginning(const struct phrase_cursor *cursor)
{
    const char *here = cursor->text + cursor->at;
    if (cursor->length - cursor->at < BEGINNING_BYTES_MIN ||
        (cursor->at > 0 && phrase_is_word(here[-1]) && (cursor->at == 1 || here[-2] != '\\'))) {
        return NULL;
    }
    for (int i = 0; i < BEGINNING_COUNT; i++) {
        const char *word = beginnings[i].word;
        if (here[0] == word[0] && here[1] == word[1] &&
            phrase_word_is_here(cursor, word, strlen(word))) {
            return &beginnings[i];
        }
    }
    return NULL;
}

/* Another memory space in a later section is another report. */
static bool is_same_space(const struct hbm_report *report, const struct phrase_cursor *cursor)
{
    struct phrase_cursor ahead = *cursor;
    char space[HBM_REPORT_SPACE_BYTES];
    return report->space[0] == '\0' ||
           !(phrase_take(&ahead, "Program") || phrase_take(&ahead, "Total")) ||
           !hbm_report_take_space(&ahead, space) || strcmp(report->space, space) == 0;
}

/* True if a section that begins here goes on with the report; a list may be followed by another
 * list. */
static bool is_next(const struct parsing *parsing, const struct section_beginning *beginning)
{
    const struct hbm_report *report = parsing->report;
    if (parsing->section == HBM_SECTION_NONE) {
        return true;
    }
    const bool is_later = beginning->section > parsing->section ||
                          (beginning->section == HBM_SECTION_LIST &&
                           parsing->section == HBM_SECTION_LIST);
    return report->form == COMPILE_FORM_SECTIONS && beginning->section != HBM_SECTION_NONE &&
           is_later && parsing->cursor.at - report->end <= SECTION_GAP_BYTES_MAX &&
           is_same_space(report, &parsing->cursor);
}

/* The first section is a sentence of a few facts, or a heading with rows, or stands below the
 * sentence of a request. */
static void set_sentence(struct parsing *parsing, enum hbm_report_section section, size_t end)
{
    struct hbm_report *report = parsing->report;
    const struct phrase_cursor *cursor = &parsing->cursor;
    const bool is_gpu = report->form == COMPILE_FORM_GPU;
    size_t begin = cursor->at;
    if (is_gpu && parsing->request.is_said &&
        cursor->at - parsing->request.at < SECTION_GAP_BYTES_MAX) {
        begin = parsing->request.at;
    }
    const bool is_heading = is_gpu || (section != HBM_SECTION_USED && section != HBM_SECTION_NONE);
    const size_t limit = cursor->length - begin < SENTENCE_BYTES_MAX ? cursor->length - begin
                                                                     : SENTENCE_BYTES_MAX;
    size_t length = is_heading ? 0 : end - begin;
    while (is_heading && length < limit && cursor->text[begin + length] != '\n' &&
           cursor->text[begin + length] != '\\') {
        length++;
    }
    length = length < limit ? length : limit;
    length += length < limit && cursor->text[begin + length] == '.' ? 1 : 0;
    report->sentence = (struct hbm_report_span){begin, length};
}

static void take_section(struct parsing *parsing, const struct section_beginning *beginning,
                         const struct phrase_cursor *ahead)
{
    struct hbm_report *report = parsing->report;
    if (parsing->section == HBM_SECTION_NONE) {
        report->begin = parsing->cursor.at;
        set_sentence(parsing, beginning->section, ahead->at);
    }
    if (report->form == COMPILE_FORM_GPU &&
        parsing->cursor.at - parsing->request.at <= SECTION_GAP_BYTES_MAX) {
        report->numbers[COMPILE_GPU_REQUEST] = parsing->request;
    }
    report->sections |= 1u << beginning->section;
    report->end = ahead->at;
    parsing->section = beginning->section == HBM_SECTION_NONE ? HBM_SECTION_LIST
                                                              : beginning->section;
    parsing->cursor = *ahead;
}

/* A section that begins here, if there is one.  False: the report ended before it. */
static bool parse_here(struct parsing *parsing)
{
    struct phrase_cursor *cursor = &parsing->cursor;
    cursor->at = phrase_next_beginning(cursor->text, cursor->length, cursor->at);
    if (phrase_is_at_end(cursor)) {
        return true;
    }
    if ((phrase_peek(cursor) == 'O' || phrase_peek(cursor) == 'F') &&
        hbm_report_parse_gpu_request(cursor, &parsing->request)) {
        return true;
    }
    const struct section_beginning *beginning = find_beginning(cursor);
    const bool is_ours = beginning != NULL && is_next(parsing, beginning);
    struct hbm_report *report = is_ours ? parsing->report : &parsing->scratch;
    const enum compile_form form = report->form;
    struct phrase_cursor ahead = *cursor;
    if (beginning == NULL || !beginning->parse(&ahead, report)) {
        report->form = form;
        cursor->at++;
        return true;
    }
    if (is_ours) {
        take_section(parsing, beginning, &ahead);
    }
    return is_ours;
}

bool hbm_report_find_temporaries(const char *text, size_t length, struct hbm_report *report)
{
    static const char begin[] = "the total memory required for HLO temporaries (";
    const char *found = memmem(text, length, begin, sizeof begin - 1);
    memset(report, 0, sizeof *report);
    if (found == NULL) {
        return false;
    }
    struct phrase_cursor cursor = {.text = text, .length = length, .at = (size_t)(found - text)};
    report->begin = cursor.at;
    if (!hbm_report_parse_temporaries(&cursor, report)) {
        return false;
    }
    report->end = cursor.at;
    report->sentence = (struct hbm_report_span){report->begin, cursor.at - report->begin};
    return true;
}

bool hbm_report_next(const char *text, size_t length, size_t *offset, struct hbm_report *report)
{
    struct parsing parsing = {.cursor = {.text = text, .length = length, .at = *offset},
                              .report = report};
    memset(report, 0, sizeof *report);
    while (!phrase_is_at_end(&parsing.cursor) && parse_here(&parsing)) {
        continue;
    }
    *offset = parsing.cursor.at;
    if (report->form == COMPILE_FORM_SECTIONS && report->sections == 1u << HBM_SECTION_LIST) {
        report->form = COMPILE_FORM_ENTRIES;
    }
    return parsing.section != HBM_SECTION_NONE;
}
