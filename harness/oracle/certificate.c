#include "harness/oracle/certificate.h"

#include "harness/base/check.h"

#include <inttypes.h>

/* Larger sizes are printed as this one: it is larger than any device, too. */
#define SIZE_BYTES_MAX (UINT64_C(1) << 62)
/* Later times keep their order alone, so that every number of a document has 63 bits. */
#define TIME_NS_MAX (UINT64_C(1) << 62)

struct printer {
    const struct oom *oom;
    FILE *file;
    const char *separator; /* before the next member */
};

static void print_size(struct printer *printer, const char *name, uint64_t bytes)
{
    fprintf(printer->file, "%s\"%s\": %" PRIu64, printer->separator, name,
            bytes < SIZE_BYTES_MAX ? bytes : SIZE_BYTES_MAX);
    printer->separator = ", ";
}

/* -1 stands for `none`. */
static void print_or_none(struct printer *printer, const char *name, uint64_t value, uint64_t none)
{
    if (value == none) {
        fprintf(printer->file, "%s\"%s\": -1", printer->separator, name);
        return;
    }
    print_size(printer, name, value);
}

/* How many times of the document are late and earlier than this one: equal ones stay equal. */
static uint64_t late_rank(const struct oom *oom, uint64_t time_ns)
{
    uint64_t rank = 0;
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        rank += block->used_until_ns > TIME_NS_MAX && block->used_until_ns < time_ns;
        rank += block->freed_at_ns > TIME_NS_MAX && block->freed_at_ns < time_ns;
    }
    return rank;
}

static void print_time(struct printer *printer, const char *name, uint64_t time_ns)
{
    if (time_ns == DELAY_NEVER) {
        fprintf(printer->file, "%s\"%s\": -1", printer->separator, name);
        return;
    }
    const uint64_t printed = time_ns <= TIME_NS_MAX
                                 ? time_ns
                                 : TIME_NS_MAX + 1 + late_rank(printer->oom, time_ns);
    fprintf(printer->file, "%s\"%s\": %" PRIu64, printer->separator, name, printed);
}

static const char *truth_name(bool is_true)
{
    return is_true ? "true" : "false";
}

static void print_contract(struct printer *printer)
{
    static const char *const defrags[] = {"none", "slide", "repack"};
    const struct oom *oom = printer->oom;
    CHECK(oom->defrag <= DEFRAG_REPACK);
    fprintf(
        printer->file,
        " \"contract\": {\"defrag\": \"%s\", \"drains\": %s, \"evicts\": %s, \"program_evicts_program\": %s},\n",
        defrags[oom->defrag], truth_name(oom->drains), truth_name(oom->evicts),
        truth_name(oom->program_evicts_program));
    fprintf(printer->file, " \"refused\": {");
    for (unsigned i = 0; i < FAULT_CALL_COUNT; i++) {
        fprintf(printer->file, "%s\"%s\": %s", i == 0 ? "" : ", ",
                fault_info((enum fault_kind)i)->name, truth_name(oom->faults_fired >> i & 1));
    }
    fprintf(printer->file, "},\n");
}

/* The index of the program that is executed or loaded again; block_count when it is not among the
 * blocks. */
static size_t own_block(const struct oom *oom)
{
    size_t i = 0;
    while (i < oom->block_count && oom->blocks[i].op != oom->request.own_op) {
        i++;
    }
    return i;
}

static void print_request(struct printer *printer)
{
    const struct oom_request *request = &printer->oom->request;
    fprintf(printer->file, " \"request\": {\"class\": \"%s\"",
            request->class == REQUEST_BUFFER ? "buffer" : "program");
    printer->separator = ", ";
    print_size(printer, "bytes", request->size_bytes);
    print_size(printer, "align", request->align_bytes);
    print_size(printer, "stack", request->stack_bytes);
    print_or_none(printer, "program", own_block(printer->oom), printer->oom->block_count);
    fprintf(printer->file, "},\n");
}

static void print_block(struct printer *printer, const struct oom_block *block)
{
    static const char *const kinds[] = {"buffer", "output", "program", "retired"};
    CHECK(block->kind <= BLOCK_RETIRED);
    fprintf(printer->file, "{\"op\": %" PRIu32 ", \"kind\": \"%s\", \"state\": \"%s\"", block->op,
            kinds[block->kind], block->state == BLOCK_LIVE ? "live" : "dying");
    printer->separator = ", ";
    print_size(printer, "address", block->address);
    print_size(printer, "size", block->size_bytes);
    print_size(printer, "align", block->align_bytes);
    print_size(printer, "stack", block->stack_bytes);
    print_size(printer, "holds", block->hold_count);
    print_time(printer, "used_until", block->used_until_ns);
    print_time(printer, "freed_at", block->freed_at_ns);
    fprintf(printer->file, "}");
}

static void print_blocks(struct printer *printer)
{
    fprintf(printer->file, " \"blocks\": [");
    for (size_t i = 0; i < printer->oom->block_count; i++) {
        fprintf(printer->file, i == 0 ? "\n  " : ",\n  ");
        print_block(printer, &printer->oom->blocks[i]);
    }
    fprintf(printer->file, "],\n");
}

static void print_moves(struct printer *printer, const struct proof_plan *plan)
{
    fprintf(printer->file, ",\n  \"moves\": [");
    for (size_t i = 0; i < plan->move_count; i++) {
        const struct proof_move *move = &plan->moves[i];
        fprintf(printer->file, "%s\n   {\"block\": %" PRIu32, i == 0 ? "" : ",", move->block);
        printer->separator = ", ";
        print_or_none(printer, "from", move->from, PROOF_IN_HOST_MEMORY);
        print_or_none(printer, "to", move->to, PROOF_IN_HOST_MEMORY);
        print_size(printer, "bytes", move->size_bytes);
        fprintf(printer->file, "}");
    }
    fprintf(printer->file, "]");
}

static void print_plan(struct printer *printer, const struct proof_plan *plan)
{
    printer->separator = ", ";
    print_time(printer, "until", plan->until_ns);
    print_or_none(printer, "address", plan->address, UINT64_MAX);
    fprintf(printer->file, ", \"evict\": [");
    for (size_t i = 0; i < plan->evicted_count; i++) {
        fprintf(printer->file, "%s%" PRIu32, i == 0 ? "" : ", ", plan->evicted[i]);
    }
    fprintf(printer->file, "]");
    print_moves(printer, plan);
}

/* The members of each kind of proof, beside its log and its plan: which numbers there are, under
 * which names. */
struct proof_member {
    enum proof_kind kind;
    const char *name;
    size_t offset;
};
static const struct proof_member proof_members[] = {
    {PROOF_ROUNDING, "unit", offsetof(struct proof, unit)},
    {PROOF_ROUNDING, "need", offsetof(struct proof, need)},
    {PROOF_ROUNDING, "have", offsetof(struct proof, have)},
    {PROOF_SEARCH, "least", offsetof(struct proof, least)},
    {PROOF_BUDGET, "nodes", offsetof(struct proof, nodes)},
    {PROOF_BUDGET, "need", offsetof(struct proof, need)},
    {PROOF_BUDGET, "have", offsetof(struct proof, have)},
};

static void print_proof(struct printer *printer, const struct proof *proof)
{
    fprintf(printer->file, " \"proof\": {\"kind\": \"%s\"", proof_kind_name(proof->kind));
    printer->separator = ", ";
    for (size_t i = 0; i < sizeof proof_members / sizeof proof_members[0]; i++) {
        const struct proof_member *member = &proof_members[i];
        if (member->kind == proof->kind) {
            print_size(printer, member->name,
                       *(const uint64_t *)((const char *)proof + member->offset));
        }
    }
    if (proof->log != NULL) {
        fprintf(printer->file, ", \"plain\": %s, \"log\": \"%s\"", truth_name(proof->is_plain),
                proof->log);
    }
    if (proof->kind == PROOF_PLAN) {
        print_plan(printer, &proof->plan);
    }
    fprintf(printer->file, "},\n");
}

/* Reasons are sentences of ours; what JSON would not take in a text is left out all the same. */
static void print_about(FILE *file, const struct verdict *verdict)
{
    fprintf(file, " \"about\": {\"op\": %" PRIu32 ", \"reason\": \"", verdict->op);
    for (const char *letter = verdict->reason; *letter != '\0'; letter++) {
        if (*letter >= ' ' && *letter <= '~' && *letter != '"' && *letter != '\\') {
            fputc(*letter, file);
        }
    }
    fprintf(file, "\"}}\n");
}

void certificate_print(const struct oom *oom, const struct proof *proof,
                       const struct verdict *verdict, FILE *file)
{
    struct printer printer = {.oom = oom, .file = file, .separator = ""};
    CHECK(proof->kind != PROOF_NONE);
    fprintf(
        file,
        "{\"format\": \"hbmstress-certificate\", \"version\": %d,\n \"claim\": \"%s\",\n \"device\": {",
        CERTIFICATE_VERSION, verdict_name(proof->claim));
    print_size(&printer, "capacity", oom->capacity_bytes);
    print_size(&printer, "granule", oom->granule_bytes);
    fprintf(file, "},\n");
    print_contract(&printer);
    print_request(&printer);
    print_blocks(&printer);
    print_proof(&printer, proof);
    print_about(file, verdict);
}
