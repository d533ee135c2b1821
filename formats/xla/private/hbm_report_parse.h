/* The parts of which reports are: each parser takes what begins at the cursor.  Where it answers
 * false, what it set is unspecified. */
#ifndef FORMATS_XLA_PRIVATE_HBM_REPORT_PARSE_H
#define FORMATS_XLA_PRIVATE_HBM_REPORT_PARSE_H

#include "formats/common/phrase.h"
#include "formats/xla/private/hbm_report.h"

/* The name of a memory space: a word of letters. */
bool hbm_report_take_space(struct phrase_cursor *cursor, char space[HBM_REPORT_SPACE_BYTES]);
/* Parentheses, those in them too, on the line that the cursor is in: a prefix of the next line may
 * begin with one.  Nothing, where there are none. */
void hbm_report_skip_parentheses(struct phrase_cursor *cursor);
/* "10.04GiB", "24.6KiB", "112B": sizes with the units of XLA:GPU, after any gap. */
bool hbm_report_take_binary_size(struct phrase_cursor *cursor, struct compile_size *size);

/* Reports of one sentence, the compiler's estimate, and the statistics of XLA:GPU.  Each sets
 * report->form, too. */
bool hbm_report_parse_temporaries(struct phrase_cursor *cursor, struct hbm_report *report);
bool hbm_report_parse_estimate(struct phrase_cursor *cursor, struct hbm_report *report);
bool hbm_report_parse_allocation(struct phrase_cursor *cursor, struct hbm_report *report);
bool hbm_report_parse_cores(struct phrase_cursor *cursor, struct hbm_report *report);
bool hbm_report_parse_early(struct phrase_cursor *cursor, struct hbm_report *report);
bool hbm_report_parse_gpu(struct phrase_cursor *cursor, struct hbm_report *report);

/* "Out of memory while trying to allocate N bytes", later "1.97GiB."; "Failed to allocate request
 * for 154.06GiB (165425291480B)": what stands before the statistics. */
bool hbm_report_parse_gpu_request(struct phrase_cursor *cursor, struct compile_size *request);

/* Lists of allocations: entries with operator, shape, sizes and type.  "Largest program allocations
 * in hbm:", or "... arguments and outputs ...", and the entries below.  False: it is neither. */
bool hbm_report_parse_list(struct phrase_cursor *cursor, struct hbm_report *report);
/* "Unpadded size: S" of an entry that began before the text did. */
bool hbm_report_parse_entry_end(struct phrase_cursor *cursor, struct hbm_report *report);
/* "Peak buffers:" of XLA:GPU and the buffers below; nothing, where there are none. */
void hbm_report_parse_peak(struct phrase_cursor *cursor, struct hbm_report *report);

#endif
