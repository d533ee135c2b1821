/* Reports of one sentence, the compiler's estimate, and the statistics of XLA:GPU: each parser
 * takes what begins at the cursor, and leaves it where it was when it answers false. */
#ifndef FORMATS_XLA_PRIVATE_HBM_REPORT_SHORT_H
#define FORMATS_XLA_PRIVATE_HBM_REPORT_SHORT_H

#include "formats/common/phrase.h"
#include "formats/xla/private/hbm_report.h"

/* A printed size, and the name of a memory space: a word of letters. */
bool hbm_report_take_number(struct phrase_cursor *cursor, struct hbm_report *report,
                            enum compile_number number);
bool hbm_report_take_space(struct phrase_cursor *cursor, char space[HBM_REPORT_SPACE_BYTES]);
/* Parentheses, those in them too, on the line that the cursor is in: a prefix of the next line may
 * begin with one.  Nothing, where there are none. */
void hbm_report_skip_parentheses(struct phrase_cursor *cursor);

/* Each sets report->form, too; where it answers false, what it set is unspecified. */
bool hbm_report_parse_temporaries(struct phrase_cursor *cursor, struct hbm_report *report);
bool hbm_report_parse_estimate(struct phrase_cursor *cursor, struct hbm_report *report);
bool hbm_report_parse_allocation(struct phrase_cursor *cursor, struct hbm_report *report);
bool hbm_report_parse_cores(struct phrase_cursor *cursor, struct hbm_report *report);
bool hbm_report_parse_early(struct phrase_cursor *cursor, struct hbm_report *report);
bool hbm_report_parse_gpu(struct phrase_cursor *cursor, struct hbm_report *report);

/* "Out of memory while trying to allocate N bytes", later "1.97GiB."; "Failed to allocate request
 * for 154.06GiB (165425291480B)": what stands before the statistics. */
bool hbm_report_parse_gpu_request(struct phrase_cursor *cursor, struct compile_size *request);

#endif
