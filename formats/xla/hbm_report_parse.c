/* Finds reports in any noise, and takes their sections apart.  The lists of allocations are in
 * hbm_report_list.c. */
#include "formats/xla/private/hbm_report_list.h"

#include <string.h>

enum {
    SECTION_GAP_BYTES_MAX = 8192, /* what stands further apart belongs to different reports */
    ROW_NAME_BYTES_MAX = 40
};

/* What is under way while a text is read. */
struct parsing {
    struct phrase_cursor cursor;
    struct hbm_report *report;
    struct hbm_report scratch;       /* what a section of another report says */
    struct hbm_report_size request;  /* of a GPU, the last one seen */
    enum hbm_report_section section; /* the last one taken */
};

static bool is_beginning_here(const struct phrase_cursor *cursor);

static bool take_number(struct phrase_cursor *cursor, struct hbm_report *report,
                        enum hbm_report_number number)
{
    struct hbm_report_size *size = &report->numbers[number];
    struct size_range range;
    if (!phrase_take_size(cursor, &range)) {
        return false;
    }
    *size = (struct hbm_report_size){.is_said = true, .range = range, .at = cursor->at - 1};
    return true;
}

/* A word of letters, as the name of a memory space. */
static bool take_space(struct phrase_cursor *cursor, char space[HBM_REPORT_SPACE_BYTES])
{
    struct phrase_cursor ahead = *cursor;
    phrase_skip_gap(&ahead);
    const size_t begin = ahead.at;
    while (phrase_is_word(phrase_peek(&ahead))) {
        ahead.at++;
    }
    const size_t length = ahead.at - begin;
    if (length == 0 || length >= HBM_REPORT_SPACE_BYTES) {
        return false;
    }
    memcpy(space, ahead.text + begin, length);
    space[length] = '\0';
    *cursor = ahead;
    return true;
}

/* --- sections --- */

/* "Used S of S hbm. Exceeded hbm capacity by S" */
static bool parse_used(struct phrase_cursor *cursor, struct hbm_report *report)
{
    struct phrase_cursor ahead = *cursor;
    if (!phrase_take(&ahead, "Used") || !take_number(&ahead, report, HBM_USED) ||
        !phrase_take(&ahead, "of") || !take_number(&ahead, report, HBM_CAPACITY) ||
        !take_space(&ahead, report->space)) {
        report->numbers[HBM_USED].is_said = report->numbers[HBM_CAPACITY].is_said = false;
        return false;
    }
    *cursor = ahead;
    char again[HBM_REPORT_SPACE_BYTES];
    (void)phrase_take_character(&ahead, '.');
    if (phrase_take(&ahead, "Exceeded") && take_space(&ahead, again) &&
        phrase_take(&ahead, "capacity by") && take_number(&ahead, report, HBM_EXCEEDED)) {
        *cursor = ahead;
    }
    return true;
}

/* "Ran out of memory in memory space hbm." */
static bool parse_ran_out(struct phrase_cursor *cursor, struct hbm_report *report)
{
    if (!phrase_take(cursor, "Ran out of memory in memory space") ||
        !take_space(cursor, report->space)) {
        return false;
    }
    (void)phrase_take_character(cursor, '.');
    if (!parse_used(cursor, report) && phrase_take(cursor, "Used")) {
        (void)take_number(cursor, report, HBM_USED); /* the capacity is cut off */
    }
    return true;
}

struct row {
    const char *name;
    enum hbm_report_number number;
};

/* "reserved S", "program unknown size": rows of these names, as long as they come; others are
 * passed over. */
static bool take_row(struct phrase_cursor *cursor, struct hbm_report *report,
                     const struct row *rows, size_t row_count)
{
    for (size_t i = 0; i < row_count; i++) {
        struct phrase_cursor ahead = *cursor;
        if (!phrase_take(&ahead, rows[i].name)) {
            continue;
        }
        const bool is_size = take_number(&ahead, report, rows[i].number);
        if (is_size || phrase_take(&ahead, "unknown size")) {
            *cursor = ahead;
            return true;
        }
    }
    return false;
}

/* " (100.0% utilization: Unpadded (27.82G) Padded (27.82G), 4.6% fragmentation (1.35G))" */
static void skip_parentheses(struct phrase_cursor *cursor)
{
    struct phrase_cursor ahead = *cursor;
    int depth = 0;
    phrase_skip_gap(&ahead);
    if (phrase_peek(&ahead) != '(') {
        return;
    }
    for (; !phrase_is_at_end(&ahead) && ahead.at - cursor->at < 256; ahead.at++) {
        depth += phrase_peek(&ahead) == '(' ? 1 : phrase_peek(&ahead) == ')' ? -1 : 0;
        if (depth == 0) {
            ahead.at++;
            *cursor = ahead;
            return;
        }
    }
}

/* A row of another name: words and a size. */
static bool skip_row(struct phrase_cursor *cursor)
{
    struct phrase_cursor ahead = *cursor;
    struct size_range range;
    if (!phrase_skip_gap(&ahead) || is_beginning_here(&ahead)) {
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
                       const struct row *rows, size_t row_count)
{
    while (take_row(cursor, report, rows, row_count) || skip_row(cursor)) {
        skip_parentheses(cursor);
    }
}

static bool parse_total(struct phrase_cursor *cursor, struct hbm_report *report)
{
    static const struct row rows[] = {
        {"reserved", HBM_RESERVED}, {"program", HBM_PROGRAM}, {"arguments", HBM_ARGUMENTS}};
    char space[HBM_REPORT_SPACE_BYTES];
    if (!phrase_take(cursor, "Total") || !take_space(cursor, space) ||
        !(phrase_take(cursor, "usage >=") ||
          phrase_take(cursor, "usage \\u003e=")) || /* as some write it in JSON */
        !take_number(cursor, report, HBM_TOTAL)) {
        return false;
    }
    (void)phrase_take_character(cursor, ':');
    parse_rows(cursor, report, rows, sizeof rows / sizeof rows[0]);
    return true;
}

/* "Output size S; shares S with arguments." */
static bool parse_output(struct phrase_cursor *cursor, struct hbm_report *report)
{
    if (!phrase_take(cursor, "Output size") || !take_number(cursor, report, HBM_OUTPUT)) {
        return false;
    }
    (void)phrase_take_character(cursor, ';');
    if (phrase_take(cursor, "shares")) {
        (void)take_number(cursor, report, HBM_SHARED);
    }
    return true;
}

static bool parse_requirement(struct phrase_cursor *cursor, struct hbm_report *report)
{
    static const struct row rows[] = {{"reserved", HBM_ROW_RESERVED},
                                      {"global", HBM_ROW_GLOBAL},
                                      {"scoped", HBM_ROW_SCOPED},
                                      {"HLO temp", HBM_ROW_TEMP},
                                      {"overlays", HBM_ROW_OVERLAYS}};
    char space[HBM_REPORT_SPACE_BYTES];
    if (!phrase_take(cursor, "Program") || !take_space(cursor, space) ||
        !phrase_take(cursor, "requirement") || !take_number(cursor, report, HBM_REQUIREMENT)) {
        return false;
    }
    if (report->space[0] == '\0') {
        memcpy(report->space, space, sizeof space);
    }
    (void)phrase_take_character(cursor, ':');
    parse_rows(cursor, report, rows, sizeof rows / sizeof rows[0]);
    return true;
}

/* --- short forms --- */

static bool take_exact(struct phrase_cursor *cursor, struct hbm_report *report,
                       enum hbm_report_number number)
{
    uint64_t count = 0;
    if (!phrase_take_count(cursor, &count)) {
        return false;
    }
    report->numbers[number] = (struct hbm_report_size){
        .is_said = true, .range = printed_size_exact(count), .at = cursor->at - 1};
    return true;
}

/* "Allocation (size=N) would exceed memory (size=N) :: #allocation25 [shape = 'u8[...]',
 * space=vmem, size = ...] ..."
 */
static bool parse_allocation(struct phrase_cursor *cursor, struct hbm_report *report)
{
    report->form = HBM_REPORT_ALLOCATION;
    if (!phrase_take(cursor, "Allocation (size=") || !take_exact(cursor, report, HBM_USED) ||
        !phrase_take(cursor, ") would exceed memory (size=") ||
        !take_exact(cursor, report, HBM_CAPACITY)) {
        report->numbers[HBM_USED].is_said = false;
        return false;
    }
    const size_t left = cursor->length - cursor->at;
    const size_t stop = cursor->at + (left < 512 ? left : 512);
    for (struct phrase_cursor ahead = *cursor; ahead.at < stop && phrase_peek(&ahead) != '\n';
         ahead.at++) {
        if (phrase_word_is_here(&ahead, "space=", 6)) {
            ahead.at += 6;
            (void)take_space(&ahead, report->space);
            *cursor = ahead;
            break;
        }
    }
    return true;
}

static bool parse_cores(struct phrase_cursor *cursor, struct hbm_report *report)
{
    report->form = HBM_REPORT_CORES;
    if (!phrase_take(cursor, "TensorCore Hbm usage:") || !take_number(cursor, report, HBM_USED)) {
        return false;
    }
    (void)phrase_take_character(cursor, ',');
    if (phrase_take(cursor, "SparseCore Hbm usage")) {
        (void)phrase_take_character(cursor, ':');
        (void)take_number(cursor, report, HBM_SPARSE_CORE);
        (void)phrase_take_character(cursor, ',');
    }
    if (phrase_take(cursor, "exceeding available bytes:")) {
        (void)take_number(cursor, report, HBM_CAPACITY);
    }
    memcpy(report->space, "hbm", sizeof "hbm");
    return true;
}

/* "Aborting compilation early because it's unlikely to have enough memory. Requires S, has S
 * available" */
static bool parse_early(struct phrase_cursor *cursor, struct hbm_report *report)
{
    report->form = HBM_REPORT_EARLY;
    if (!phrase_take(cursor,
                     "Aborting compilation early because it's unlikely to have enough memory")) {
        return false;
    }
    (void)phrase_take_character(cursor, '.');
    if (phrase_take(cursor, "Requires") && take_number(cursor, report, HBM_USED)) {
        (void)phrase_take_character(cursor, ',');
        if (phrase_take(cursor, "has")) {
            (void)take_number(cursor, report, HBM_CAPACITY);
        }
    }
    memcpy(report->space, "hbm", sizeof "hbm");
    return true;
}

/* --- XLA:GPU --- */

/* "10.04GiB", "24.6KiB", "112B": the same numbers with other units. */
static bool take_gpu_size(struct phrase_cursor *cursor, struct hbm_report_size *size)
{
    struct phrase_cursor ahead = *cursor;
    char text[SETUP_NAME_BYTES];
    size_t used = 0;
    phrase_skip_gap(&ahead);
    while (used < sizeof text - 1 &&
           (phrase_is_word(phrase_peek(&ahead)) || phrase_peek(&ahead) == '.')) {
        text[used++] = phrase_peek(&ahead);
        ahead.at++;
    }
    if (used > 0 && text[used - 1] == '.') { /* of the sentence */
        used--;
        ahead.at--;
    }
    used -= used > 3 && memcmp(text + used - 2, "iB", 2) == 0 ? 2 : 0;
    struct size_range range;
    if (phrase_is_at_end(&ahead) || !printed_size_parse(text, used, &range)) {
        return false;
    }
    *size = (struct hbm_report_size){.is_said = true, .range = range, .at = ahead.at - 1};
    *cursor = ahead;
    return true;
}

static bool parse_gpu(struct phrase_cursor *cursor, struct hbm_report *report)
{
    static const struct row rows[] = {{"parameter allocation:", HBM_GPU_PARAMETERS},
                                      {"constant allocation:", HBM_GPU_CONSTANTS},
                                      {"maybe_live_out allocation:", HBM_GPU_LIVE_OUT},
                                      {"preallocated temp allocation:", HBM_GPU_TEMP},
                                      {"preallocated temp fragmentation:", HBM_GPU_FRAGMENTATION},
                                      {"total allocation:", HBM_GPU_TOTAL}};
    report->form = HBM_REPORT_GPU;
    if (!phrase_take(cursor, "BufferAssignment OOM Debugging.") ||
        !phrase_take(cursor, "BufferAssignment stats:")) {
        return false;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct phrase_cursor ahead = *cursor;
        if (phrase_take(&ahead, rows[i].name) &&
            take_gpu_size(&ahead, &report->numbers[rows[i].number])) {
            skip_parentheses(&ahead);
            *cursor = ahead;
        }
    }
    return true;
}

/* "Out of memory while trying to allocate N bytes", later "1.97GiB."; "Failed to allocate request
 * for 154.06GiB (165425291480B)" */
static bool parse_gpu_request(struct phrase_cursor *cursor, struct hbm_report_size *request)
{
    struct phrase_cursor ahead = *cursor;
    uint64_t count = 0;
    if (phrase_take(&ahead, "Out of memory while trying to allocate")) {
        struct phrase_cursor exact = ahead;
        if (!phrase_take_count(&exact, &count) || !phrase_take(&exact, "bytes")) {
            const bool is_printed = take_gpu_size(&ahead, request);
            request->at = is_printed ? cursor->at : request->at;
            *cursor = is_printed ? ahead : *cursor;
            return is_printed;
        }
        ahead = exact;
    } else if (phrase_take(&ahead, "Failed to allocate request for")) {
        phrase_skip_gap(&ahead);
        while (phrase_is_word(phrase_peek(&ahead)) || phrase_peek(&ahead) == '.') {
            ahead.at++;
        }
        if (!phrase_take(&ahead, "(") || !phrase_take_count(&ahead, &count)) {
            return false;
        }
    } else {
        return false;
    }
    *request = (struct hbm_report_size){
        .is_said = true, .range = printed_size_exact(count), .at = cursor->at};
    *cursor = ahead;
    return true;
}

/* --- finding them --- */

/* How a section may begin. */
static const struct beginning {
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
    {"Allocation", HBM_SECTION_NONE, parse_allocation},
    {"TensorCore", HBM_SECTION_NONE, parse_cores},
    {"Aborting", HBM_SECTION_NONE, parse_early},
    {"BufferAssignment", HBM_SECTION_NONE, parse_gpu},
};
enum {
    BEGINNING_COUNT = sizeof beginnings / sizeof beginnings[0],
    BEGINNING_BYTES_MIN = 3 /* "Ran" */
};

/* Whether a word begins here: not in the middle of one, but behind a line break as text
 * ("\nTotal"), too. */
static bool is_word_start(const struct phrase_cursor *cursor)
{
    return cursor->at == 0 || !phrase_is_word(cursor->text[cursor->at - 1]) ||
           (cursor->at > 1 && cursor->text[cursor->at - 2] == '\\');
}

static const struct beginning *find_beginning(const struct phrase_cursor *cursor)
{
    if (cursor->length - cursor->at < BEGINNING_BYTES_MIN) {
        return NULL;
    }
    const char *here = cursor->text + cursor->at;
    for (int i = 0; i < BEGINNING_COUNT; i++) {
        const char *word = beginnings[i].word;
        if (here[0] == word[0] && here[1] == word[1] &&
            phrase_word_is_here(cursor, word, strlen(word)) && is_word_start(cursor)) {
            return &beginnings[i];
        }
    }
    return NULL;
}

static bool is_beginning_here(const struct phrase_cursor *cursor)
{
    return find_beginning(cursor) != NULL;
}

/* Another memory space in a later section is another report. */
static bool is_same_space(const struct hbm_report *report, const struct phrase_cursor *cursor)
{
    struct phrase_cursor ahead = *cursor;
    char space[HBM_REPORT_SPACE_BYTES];
    if (report->space[0] == '\0' ||
        !(phrase_take(&ahead, "Program") || phrase_take(&ahead, "Total")) ||
        !take_space(&ahead, space)) {
        return true;
    }
    return strcmp(report->space, space) == 0;
}

/* Whether a section that begins here goes on with the report; a list may be followed by another
 * list. */
static bool is_next(const struct parsing *parsing, const struct beginning *beginning)
{
    const struct hbm_report *report = parsing->report;
    if (parsing->section == HBM_SECTION_NONE) {
        return true;
    }
    const bool is_later = beginning->section > parsing->section ||
                          (beginning->section == HBM_SECTION_LIST &&
                           parsing->section == HBM_SECTION_LIST);
    return report->form == HBM_REPORT_COMPILE && beginning->section != HBM_SECTION_NONE &&
           is_later && parsing->cursor.at - report->end <= SECTION_GAP_BYTES_MAX &&
           is_same_space(report, &parsing->cursor);
}

static void take_section(struct parsing *parsing, const struct beginning *beginning,
                         const struct phrase_cursor *ahead)
{
    struct hbm_report *report = parsing->report;
    if (parsing->section == HBM_SECTION_NONE) {
        report->begin = parsing->cursor.at;
    }
    if (report->form == HBM_REPORT_GPU &&
        parsing->cursor.at - parsing->request.at <= SECTION_GAP_BYTES_MAX) {
        report->numbers[HBM_GPU_REQUEST] = parsing->request;
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
        parse_gpu_request(cursor, &parsing->request)) {
        return true;
    }
    const struct beginning *beginning = find_beginning(cursor);
    const bool is_ours = beginning != NULL && is_next(parsing, beginning);
    struct hbm_report *report = is_ours ? parsing->report : &parsing->scratch;
    const enum hbm_report_form form = report->form;
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

bool hbm_report_next(const char *text, size_t length, size_t *offset, struct hbm_report *report)
{
    struct parsing parsing = {.cursor = {.text = text, .length = length, .at = *offset},
                              .report = report};
    memset(report, 0, sizeof *report);
    while (!phrase_is_at_end(&parsing.cursor) && parse_here(&parsing)) {
        continue;
    }
    *offset = parsing.cursor.at;
    if (report->form == HBM_REPORT_COMPILE && report->sections == 1u << HBM_SECTION_LIST) {
        report->form = HBM_REPORT_ENTRIES;
    }
    return parsing.section != HBM_SECTION_NONE;
}
