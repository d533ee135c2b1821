/* The result of a trial as bytes: a worker sends it to its parent. */
#include "campaign/trials/trial_result.h"

#include "harness/base/array.h"

#include <stddef.h>
#include <string.h>

static struct child_piece piece_of_list(const struct op_list *ops)
{
    return (struct child_piece){ops->ops, ops->count * sizeof *ops->ops};
}

static struct child_piece piece_of_text(const struct writing *text)
{
    return (struct child_piece){text->bytes, text->length};
}

/* The head as it travels: all that lies before its findings, these, and the saved OOMs. */
enum { HEAD_FIXED_BYTES = offsetof(struct trial_result_head, findings) };

static size_t pack_head(const struct trial_result_head *head, struct child_piece *pieces)
{
    const struct run_finding *findings = head->findings.findings;
    pieces[0] = (struct child_piece){head, HEAD_FIXED_BYTES};
    pieces[1] = (struct child_piece){findings, head->finding_count * sizeof *findings};
    pieces[2] = (struct child_piece){head->saved, head->saved_count * sizeof *head->saved};
    return 3;
}

size_t trial_result_pack(struct trial_result *trial_result,
                         struct child_piece pieces[TRIAL_RESULT_PIECE_COUNT_MAX])
{
    struct trial_result_head *head = &trial_result->head;
    const struct writing *const texts[] = {&trial_result->all, &trial_result->notable,
                                           &trial_result->certificates, &trial_result->diagnoses,
                                           &trial_result->logs};
    size_t count = 0;
    head->op_count = trial_result->ops.count;
    head->oom_op_count = trial_result->oom_ops.count;
    head->all_bytes = trial_result->all.length;
    head->notable_bytes = trial_result->notable.length;
    head->certificates_bytes = trial_result->certificates.length;
    head->diagnoses_bytes = trial_result->diagnoses.length;
    head->finding_count = head->findings.count;
    for (size_t i = 0; i < RUN_FINDING_COUNT_MAX; i++) {
        head->list_op_counts[i] = trial_result->lists[i].count;
    }
    count += pack_head(head, pieces);
    if (head->has_list) {
        pieces[count++] = (struct child_piece){&trial_result->setup, sizeof trial_result->setup};
    }
    pieces[count++] = piece_of_list(&trial_result->ops);
    pieces[count++] = piece_of_list(&trial_result->oom_ops);
    for (size_t i = 0; i < RUN_FINDING_COUNT_MAX; i++) {
        pieces[count++] = piece_of_list(&trial_result->lists[i]);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        pieces[count++] = piece_of_text(texts[i]);
    }
    CHECK(count <= TRIAL_RESULT_PIECE_COUNT_MAX);
    return count;
}

/* The ops of all lists; UINT64_MAX: more than max. */
static uint64_t count_ops(const struct trial_result_head *head, uint64_t max)
{
    if (head->op_count > max || head->oom_op_count > max) {
        return UINT64_MAX;
    }
    uint64_t count = head->op_count + head->oom_op_count;
    for (size_t i = 0; i < RUN_FINDING_COUNT_MAX && count <= max; i++) {
        count = head->list_op_counts[i] > max ? UINT64_MAX : count + head->list_op_counts[i];
    }
    return count > max ? UINT64_MAX : count;
}

static bool are_lists_there(const struct run_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        if (findings->findings[i].list > RUN_FINDING_COUNT_MAX) {
            return false;
        }
    }
    return true;
}

/* The bytes of all logs; UINT64_MAX: more than max. */
static uint64_t count_log_bytes(const struct trial_result_head *head, uint64_t max)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < JOB_LOG_COUNT; i++) {
        if (head->log_bytes[i] > max - bytes) {
            return UINT64_MAX;
        }
        bytes += head->log_bytes[i];
    }
    return bytes;
}

/* The head at the front of so many bytes; *rest is what is behind it.  False: it is not whole. */
static bool unpack_head(const char *from, size_t length, struct trial_result_head *head,
                        size_t *rest)
{
    struct run_findings *findings = &head->findings;
    if (length < HEAD_FIXED_BYTES) {
        return false;
    }
    memcpy(head, from, HEAD_FIXED_BYTES);
    if (head->finding_count > RUN_FINDING_COUNT_MAX ||
        head->saved_count > TRIAL_RESULT_SAVED_COUNT_MAX) {
        return false;
    }
    const size_t findings_bytes = head->finding_count * sizeof findings->findings[0];
    const size_t saved_bytes = head->saved_count * sizeof head->saved[0];
    if (length - HEAD_FIXED_BYTES < findings_bytes + saved_bytes) {
        return false;
    }
    findings->count = head->finding_count;
    memcpy(findings->findings, from + HEAD_FIXED_BYTES, findings_bytes);
    memcpy(head->saved, from + HEAD_FIXED_BYTES + findings_bytes, saved_bytes);
    *rest = length - HEAD_FIXED_BYTES - findings_bytes - saved_bytes;
    return true;
}

/* rest: the bytes behind the head. */
static bool is_whole(const struct trial_result_head *head, size_t rest)
{
    if (head->has_list && rest < sizeof(struct setup)) {
        return false;
    }
    rest -= head->has_list ? sizeof(struct setup) : 0;
    const uint64_t op_count = count_ops(head, rest / sizeof(struct op));
    const uint64_t log_bytes = count_log_bytes(head, rest);
    if (op_count == UINT64_MAX || log_bytes == UINT64_MAX || head->all_bytes > rest ||
        head->notable_bytes > rest || head->certificates_bytes > rest ||
        head->diagnoses_bytes > rest || !are_lists_there(&head->findings)) {
        return false;
    }
    for (size_t i = 0; i < head->saved_count; i++) {
        const struct saved_oom *oom = &head->saved[i];
        if (oom->certificate_start > head->certificates_bytes ||
            oom->certificate_bytes > head->certificates_bytes - oom->certificate_start ||
            oom->diagnosis_start > head->diagnoses_bytes ||
            oom->diagnosis_bytes > head->diagnoses_bytes - oom->diagnosis_start ||
            oom->all_end > head->all_bytes || oom->notable_end > head->notable_bytes) {
            return false;
        }
    }
    const uint64_t text_bytes = head->all_bytes + head->notable_bytes + head->certificates_bytes +
                                head->diagnoses_bytes + log_bytes;
    return op_count * sizeof(struct op) + text_bytes == rest;
}

/* Returns where the list ends. */
static const char *unpack_list(const char *from, uint64_t count, struct op_list *ops)
{
    for (uint64_t i = 0; i < count; i++, from += sizeof(struct op)) {
        struct op op;
        memcpy(&op, from, sizeof op);
        op_list_append(ops, &op);
    }
    return from;
}

/* Returns where the text ends. */
static const char *unpack_text(const char *from, uint64_t length, struct writing *text)
{
    writing_append_bytes(text, from, length);
    return from + length;
}

/* The list that begins at `from` moves to the front of the bytes, and these become its memory. */
static void take_over(struct writing *bytes, const char *from, uint64_t count, struct op_list *ops)
{
    if (count == 0) {
        return;
    }
    op_list_deinit(ops);
    memmove(bytes->bytes, from, count * sizeof *ops->ops);
    ops->ops = array_resized(bytes->bytes, count * sizeof *ops->ops);
    ops->count = ops->capacity = count;
    writing_init(bytes);
}

bool trial_result_unpack(struct writing *bytes, struct trial_result *trial_result)
{
    struct trial_result_head *head = &trial_result->head;
    size_t rest;
    if (!unpack_head(bytes->bytes, bytes->length, head, &rest) || !is_whole(head, rest)) {
        return false;
    }
    const char *from = bytes->bytes + (bytes->length - rest);
    if (head->has_list) {
        memcpy(&trial_result->setup, from, sizeof trial_result->setup);
        from += sizeof trial_result->setup;
    }
    const char *ops = from;
    from = unpack_list(from + head->op_count * sizeof(struct op), head->oom_op_count,
                       &trial_result->oom_ops);
    for (size_t i = 0; i < RUN_FINDING_COUNT_MAX; i++) {
        from = unpack_list(from, head->list_op_counts[i], &trial_result->lists[i]);
    }
    from = unpack_text(from, head->all_bytes, &trial_result->all);
    from = unpack_text(from, head->notable_bytes, &trial_result->notable);
    from = unpack_text(from, head->certificates_bytes, &trial_result->certificates);
    from = unpack_text(from, head->diagnoses_bytes, &trial_result->diagnoses);
    (void)unpack_text(from, count_log_bytes(head, UINT64_MAX), &trial_result->logs);
    take_over(bytes, ops, head->op_count, &trial_result->ops);
    writing_deinit(bytes);
    return true;
}
