/* Reports of one sentence, the compiler's estimate, and the statistics of XLA:GPU. */
#include "formats/xla/private/hbm_report.h"

#include <string.h>

enum {
    MODULE_BYTES_MAX = 256,
    TENTHS_MAX = 10000000 /* 1000 TiB in tenths of a GiB */
};

bool hbm_report_take_space(struct phrase_cursor *cursor, char space[HBM_REPORT_SPACE_BYTES])
{
    struct phrase_cursor ahead = *cursor;
    phrase_skip_gap(&ahead);
    const size_t length = phrase_word_length(&ahead);
    if (length == 0 || length >= HBM_REPORT_SPACE_BYTES) {
        return false;
    }
    memcpy(space, ahead.text + ahead.at, length);
    space[length] = '\0';
    ahead.at += length;
    *cursor = ahead;
    return true;
}

void hbm_report_skip_parentheses(struct phrase_cursor *cursor)
{
    struct phrase_cursor ahead = *cursor;
    int depth = 0;
    while (phrase_peek(&ahead) == ' ' || phrase_peek(&ahead) == '\t') {
        ahead.at++;
    }
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

/* --- one sentence --- */

/* The name of a module, to the next blank, without the full stop of the sentence. */
static void take_module(struct phrase_cursor *cursor, struct hbm_report *report)
{
    phrase_skip_gap(cursor);
    const size_t begin = cursor->at;
    while (!phrase_is_at_end(cursor) && cursor->at - begin < MODULE_BYTES_MAX &&
           (unsigned char)phrase_peek(cursor) > ' ' &&
           strchr("\\\"'", phrase_peek(cursor)) == NULL) {
        cursor->at++;
    }
    const bool has_stop = cursor->at > begin && cursor->text[cursor->at - 1] == '.';
    report->module = (struct hbm_report_span){begin, cursor->at - begin - (has_stop ? 1 : 0)};
}

/* "... HLO temporaries (S) exceeds available HBM (S). HLO module: NAME." */
bool hbm_report_parse_temporaries(struct phrase_cursor *cursor, struct hbm_report *report)
{
    struct phrase_cursor ahead = *cursor;
    (void)phrase_take(&ahead, "Ran out of memory on HBM,");
    if (!phrase_take(&ahead, "the total memory required for HLO temporaries (") ||
        !phrase_scan(&ahead, "%C", &report->numbers[COMPILE_USED])) {
        return false;
    }
    report->form = COMPILE_FORM_TEMPORARIES;
    report->numbers[COMPILE_ROW_TEMP] = report->numbers[COMPILE_USED];
    if (phrase_take(&ahead, ") exceeds available HBM (")) {
        (void)phrase_scan(&ahead, "%C [)]", &report->numbers[COMPILE_CAPACITY]);
    }
    if (phrase_scan(&ahead, "[.] HLO module:")) {
        take_module(&ahead, report);
    }
    memcpy(report->space, "hbm", sizeof "hbm");
    *cursor = ahead;
    return true;
}

/* "100.4 GB", which MaxText counts in units of 1024^3. */
static bool take_estimate(struct phrase_cursor *cursor, struct compile_size *size)
{
    struct phrase_cursor ahead = *cursor;
    struct decimal tenths;
    phrase_skip_gap(&ahead);
    ahead.at += decimal_parse(ahead.text + ahead.at, ahead.length - ahead.at, &tenths);
    if (tenths.fraction_digits != 1 || tenths.digits > TENTHS_MAX || !phrase_take(&ahead, "GB")) {
        return false;
    }
    const uint64_t unit = (uint64_t)1 << 30;
    const uint64_t half = unit / 20;
    const uint64_t nominal = tenths.digits * unit / 10;
    *size = (struct compile_size){.is_said = true,
                                  .at = cursor->at,
                                  .range = {.low = nominal > half ? nominal - half : 0,
                                            .high = nominal + half,
                                            .nominal = nominal}};
    *cursor = ahead;
    return true;
}

/* "Total estimated memory size: N GB, estimated output size: N GB, estimated temp size: N GB,
 * estimated argument size: N GB, ...": what the compiler expects of a program that it takes. */
bool hbm_report_parse_estimate(struct phrase_cursor *cursor, struct hbm_report *report)
{
    static const struct hbm_report_row rows[] = {{", estimated output size:", COMPILE_OUTPUT},
                                                 {", estimated temp size:", COMPILE_ROW_TEMP},
                                                 {", estimated argument size:", COMPILE_ARGUMENTS}};
    struct phrase_cursor ahead = *cursor;
    if (!phrase_take(&ahead, "Total estimated memory size:") ||
        !take_estimate(&ahead, &report->numbers[COMPILE_USED])) {
        return false;
    }
    report->form = COMPILE_FORM_ESTIMATE;
    memcpy(report->space, "hbm", sizeof "hbm");
    *cursor = ahead;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (phrase_take(&ahead, rows[i].name) &&
            take_estimate(&ahead, &report->numbers[rows[i].number])) {
            *cursor = ahead;
        }
    }
    const struct compile_size *numbers = report->numbers;
    const uint64_t sum = numbers[COMPILE_OUTPUT].range.nominal +
                         numbers[COMPILE_ROW_TEMP].range.nominal +
                         numbers[COMPILE_ARGUMENTS].range.nominal;
    const uint64_t total = numbers[COMPILE_USED].range.nominal;
    if (numbers[COMPILE_OUTPUT].is_said && numbers[COMPILE_ARGUMENTS].is_said && sum >= total) {
        /* The total counts outputs that are arguments once. */
        report->numbers[COMPILE_SHARED] = (struct compile_size){
            .is_said = true,
            .at = numbers[COMPILE_OUTPUT].at,
            .range = printed_size_exact(sum - total)};
    }
    return true;
}

/* "Allocation (size=N) would exceed memory (size=N) :: #allocation25 [shape = 'u8[...]',
 * space=vmem, size = ...] ..."
 */
bool hbm_report_parse_allocation(struct phrase_cursor *cursor, struct hbm_report *report)
{
    report->form = COMPILE_FORM_ALLOCATION;
    if (!phrase_scan(cursor, "Allocation (size= %E ) would exceed memory (size= %E",
                     &report->numbers[COMPILE_USED], &report->numbers[COMPILE_CAPACITY])) {
        report->numbers[COMPILE_USED].is_said = false;
        return false;
    }
    const size_t left = cursor->length - cursor->at;
    const size_t stop = cursor->at + (left < 512 ? left : 512);
    for (struct phrase_cursor ahead = *cursor; ahead.at < stop && phrase_peek(&ahead) != '\n';
         ahead.at++) {
        if (phrase_word_is_here(&ahead, "space=", 6)) {
            ahead.at += 6;
            (void)hbm_report_take_space(&ahead, report->space);
            *cursor = ahead;
            break;
        }
    }
    return true;
}

bool hbm_report_parse_cores(struct phrase_cursor *cursor, struct hbm_report *report)
{
    report->form = COMPILE_FORM_CORES;
    if (!phrase_scan(cursor, "TensorCore Hbm usage: %C [,]", &report->numbers[COMPILE_USED])) {
        return false;
    }
    if (phrase_scan(cursor, "SparseCore Hbm usage [:]")) {
        (void)phrase_scan(cursor, "%C", &report->numbers[COMPILE_SPARSE_CORE]);
        (void)phrase_take_character(cursor, ',');
    }
    if (phrase_take(cursor, "exceeding available bytes:")) {
        (void)phrase_scan(cursor, "%C", &report->numbers[COMPILE_CAPACITY]);
    }
    memcpy(report->space, "hbm", sizeof "hbm");
    return true;
}

/* "Aborting compilation early because it's unlikely to have enough memory. Requires S, has S
 * available" */
bool hbm_report_parse_early(struct phrase_cursor *cursor, struct hbm_report *report)
{
    report->form = COMPILE_FORM_EARLY;
    if (!phrase_scan(
            cursor, "Aborting compilation early because it's unlikely to have enough memory [.]")) {
        return false;
    }
    if (phrase_take(cursor, "Requires") &&
        phrase_scan(cursor, "%C [,]", &report->numbers[COMPILE_USED]) &&
        phrase_take(cursor, "has")) {
        (void)phrase_scan(cursor, "%C", &report->numbers[COMPILE_CAPACITY]);
    }
    memcpy(report->space, "hbm", sizeof "hbm");
    return true;
}

/* --- XLA:GPU --- */

/* "10.04GiB", "24.6KiB", "112B": the same numbers with other units. */
bool hbm_report_take_binary_size(struct phrase_cursor *cursor, struct compile_size *size)
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
    *size = (struct compile_size){.is_said = true, .range = range, .at = ahead.at - 1};
    *cursor = ahead;
    return true;
}

bool hbm_report_parse_gpu(struct phrase_cursor *cursor, struct hbm_report *report)
{
    static const struct hbm_report_row rows[] = {
        {"parameter allocation:", COMPILE_GPU_PARAMETERS},
        {"constant allocation:", COMPILE_GPU_CONSTANTS},
        {"maybe_live_out allocation:", COMPILE_GPU_LIVE_OUT},
        {"preallocated temp allocation:", COMPILE_GPU_TEMP},
        {"preallocated temp fragmentation:", COMPILE_GPU_FRAGMENTATION},
        {"total allocation:", COMPILE_GPU_TOTAL},
        {"total fragmentation:", COMPILE_GPU_TOTAL_FRAGMENTATION}};
    report->form = COMPILE_FORM_GPU;
    if (!phrase_take(cursor, "BufferAssignment OOM Debugging.") ||
        !phrase_take(cursor, "BufferAssignment stats:")) {
        return false;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct phrase_cursor ahead = *cursor;
        if (phrase_take(&ahead, rows[i].name) &&
            hbm_report_take_binary_size(&ahead, &report->numbers[rows[i].number])) {
            hbm_report_skip_parentheses(&ahead);
            *cursor = ahead;
        }
    }
    memcpy(report->space, "hbm", sizeof "hbm");
    hbm_report_parse_peak(cursor, report);
    return true;
}

bool hbm_report_parse_gpu_request(struct phrase_cursor *cursor, struct compile_size *request)
{
    struct phrase_cursor ahead = *cursor;
    struct compile_size found;
    bool is_there = false;
    if (phrase_take(&ahead, "Out of memory while trying to allocate")) {
        is_there = phrase_scan(&ahead, "%E bytes", &found) ||
                   hbm_report_take_binary_size(&ahead, &found);
    } else if (phrase_take(&ahead, "Failed to allocate request for")) {
        phrase_skip_gap(&ahead);
        while (phrase_is_word(phrase_peek(&ahead)) || phrase_peek(&ahead) == '.') {
            ahead.at++;
        }
        is_there = phrase_scan(&ahead, "( %E", &found);
    }
    if (is_there) {
        *request = found;
        request->at = cursor->at;
        *cursor = ahead;
    }
    return is_there;
}
