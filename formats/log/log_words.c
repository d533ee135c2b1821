/* Lines are told apart by a table of sentences; the first row that fits is taken. */
#include "formats/log/private/log_reading.h"

#include <assert.h>
#include <string.h>

/* A line fits when it has the words, and those besides them where the row has some. */
struct sentence {
    const char *words, *also;
    enum log_event_kind kind;
    enum log_form form;
    const char *asked_behind; /* the size stands behind these words; NULL: the line has none */
};

static const struct sentence of_memory[] = {
    {"memory allocation failed with OOM on device", NULL, LOG_EVENT_RETRY, LOG_FORM_TORCH,
     "trying to allocate"},
    {"attempting to defragment and retry", NULL, LOG_EVENT_RETRY, LOG_FORM_TPU_RUNTIME,
     "Attempting to allocate"},
    {"The caller indicates that this is not a failure", NULL, LOG_EVENT_RETRY, LOG_FORM_BFC,
     "trying to allocate"},
    {"CUDA_ERROR_OUT_OF_MEMORY", "from device", LOG_EVENT_RETRY, LOG_FORM_BFC,
     "failed to allocate"},
    {"out of memory happened", "retracted", LOG_EVENT_RETRY, LOG_FORM_TOKENS, NULL},
    {"ran out of memory, retrying batch", NULL, LOG_EVENT_RETRY, LOG_FORM_NO_SIZE, NULL},
    {"Attempting to allocate", NULL, LOG_EVENT_OOM, LOG_FORM_TPU_RUNTIME, "Attempting to allocate"},
    {"Attempting to reserve", NULL, LOG_EVENT_OOM, LOG_FORM_TPU_RUNTIME, "Attempting to reserve"},
    {"Could not allocate", "bytes in memory", LOG_EVENT_OOM, LOG_FORM_TPU_RUNTIME,
     "Could not allocate"},
    {"an out of memory in memory space vmem", NULL, LOG_EVENT_SCRATCHPAD, LOG_FORM_NONE, NULL},
    {"would exceed memory (size=", "space=vmem", LOG_EVENT_SCRATCHPAD, LOG_FORM_NONE, NULL},
    {"an out of memory in memory space", NULL, LOG_EVENT_OOM, LOG_FORM_COMPILE, "Used"},
    {"HLO temporaries", "exceeds available", LOG_EVENT_OOM, LOG_FORM_COMPILE, "HLO temporaries ("},
    {"would exceed memory (size=", NULL, LOG_EVENT_OOM, LOG_FORM_COMPILE, "Allocation (size="},
    {"unlikely to have enough memory", "Requires", LOG_EVENT_OOM, LOG_FORM_COMPILE, "Requires"},
    {"ut of memory. Tried to allocate", NULL, LOG_EVENT_OOM, LOG_FORM_TORCH, "Tried to allocate"},
    {"MPS backend out of memory", NULL, LOG_EVENT_OOM, LOG_FORM_TORCH, "Tried to allocate"},
    {"would exceed allowed memory", NULL, LOG_EVENT_OOM, LOG_FORM_TORCH, NULL},
    {"ran out of memory trying to allocate", NULL, LOG_EVENT_OOM, LOG_FORM_BFC,
     "trying to allocate"},
    {"OOM when allocating tensor", NULL, LOG_EVENT_OOM, LOG_FORM_BFC, NULL},
    {"ut of memory while trying to allocate", NULL, LOG_EVENT_OOM, LOG_FORM_XLA_GPU,
     "trying to allocate"},
    {"Failed to allocate request for", NULL, LOG_EVENT_OOM, LOG_FORM_XLA_GPU,
     "Failed to allocate request for"},
    {"Maximum pool size exceeded", NULL, LOG_EVENT_OOM, LOG_FORM_RMM, "failed to allocate"},
    {"std::bad_alloc: out_of_memory", NULL, LOG_EVENT_OOM, LOG_FORM_RMM, "failed to allocate"},
    {"cudaErrorMemoryAllocation", NULL, LOG_EVENT_OOM, LOG_FORM_RMM, "failed to allocate"},
    {"Failed to allocate memory for requested buffer of size", NULL, LOG_EVENT_OOM, LOG_FORM_ONNX,
     "buffer of size"},
    {"is smaller than requested bytes of", NULL, LOG_EVENT_OOM, LOG_FORM_ONNX,
     "requested bytes of"},
    {"Decode out of memory", NULL, LOG_EVENT_OOM, LOG_FORM_TOKENS, NULL},
    {"CUDA error: out of memory", NULL, LOG_EVENT_OOM, LOG_FORM_NO_SIZE, NULL},
    {"CUDA driver error: out of memory", NULL, LOG_EVENT_OOM, LOG_FORM_NO_SIZE, NULL},
    {"HIP error: out of memory", NULL, LOG_EVENT_OOM, LOG_FORM_NO_SIZE, NULL},
    {"CUDA_ERROR_OUT_OF_MEMORY", NULL, LOG_EVENT_OOM, LOG_FORM_NO_SIZE, NULL},
    {"larger than the available KV cache memory", NULL, LOG_EVENT_PLAN, LOG_FORM_NONE, NULL},
    {"No available memory for the cache blocks", NULL, LOG_EVENT_PLAN, LOG_FORM_NONE, NULL},
    {"node running low on memory", NULL, LOG_EVENT_HOST_OOM, LOG_FORM_NONE, NULL},
};

static const struct sentence of_death[] = {
    {"Killed process", "total-vm", LOG_EVENT_HOST_OOM, LOG_FORM_NONE, NULL},
    {"oom-kill:constraint", NULL, LOG_EVENT_HOST_OOM, LOG_FORM_NONE, NULL},
    {"oom_kill event", NULL, LOG_EVENT_HOST_OOM, LOG_FORM_NONE, NULL},
    {"oom-kill event", NULL, LOG_EVENT_HOST_OOM, LOG_FORM_NONE, NULL},
    {"srun: error:", "Out Of Memory", LOG_EVENT_HOST_OOM, LOG_FORM_NONE, NULL},
    {"pod Evicted:", "memory", LOG_EVENT_HOST_OOM, LOG_FORM_NONE, NULL},
    {"pod Evicted:", NULL, LOG_EVENT_KILLED, LOG_FORM_NONE, NULL},
    {"pod Preempt", NULL, LOG_EVENT_KILLED, LOG_FORM_NONE, NULL},
    {"pod NodeLost:", NULL, LOG_EVENT_KILLED, LOG_FORM_NONE, NULL},
    {"pod DeadlineExceeded:", NULL, LOG_EVENT_KILLED, LOG_FORM_NONE, NULL},
    {"OOMKilled", NULL, LOG_EVENT_HOST_OOM, LOG_FORM_NONE, NULL},
    {"DataLoader worker", "killed by signal: Killed", LOG_EVENT_HOST_OOM, LOG_FORM_NONE, NULL},
    {"closing signal SIGTERM", NULL, LOG_EVENT_PEER, LOG_FORM_NONE, NULL},
    {"SYSTEM_ERROR", "Worker exit type", LOG_EVENT_PEER, LOG_FORM_NONE, NULL},
    {"srun: error:", ": Killed", LOG_EVENT_KILLED, LOG_FORM_NONE, NULL},
    {"srun: error:", ": Terminated", LOG_EVENT_KILLED, LOG_FORM_NONE, NULL},
    {"DUE TO TIME LIMIT", NULL, LOG_EVENT_KILLED, LOG_FORM_NONE, NULL},
    {"DUE TO PREEMPTION", NULL, LOG_EVENT_KILLED, LOG_FORM_NONE, NULL},
    {"exited on signal 9 (Killed)", NULL, LOG_EVENT_KILLED, LOG_FORM_NONE, NULL}, /* mpirun */
    {"exited on signal 15", NULL, LOG_EVENT_KILLED, LOG_FORM_NONE, NULL},
    {"exited on signal", NULL, LOG_EVENT_CRASH, LOG_FORM_NONE, NULL},
    {"SIGKILL", NULL, LOG_EVENT_KILLED, LOG_FORM_NONE, NULL},
    {"Segmentation fault", NULL, LOG_EVENT_CRASH, LOG_FORM_NONE, NULL},
    {"SIGSEGV", NULL, LOG_EVENT_CRASH, LOG_FORM_NONE, NULL},
    {"(core dumped)", NULL, LOG_EVENT_CRASH, LOG_FORM_NONE, NULL},
};

/* Lines that have one of the words. */
enum { WORDS_COUNT_MAX = 20 };
static const struct {
    enum log_event_kind kind;
    const char *words[WORDS_COUNT_MAX];
} of_waiting[] = {
    {LOG_EVENT_TIMEOUT,
     {"collective operation timeout", "detected by watchdog at work", "watchdog got stuck",
      "eartbeat monitor timed out", "heartbeat timeout", "Barrier timed out", "DEADLINE_EXCEEDED",
      "Timed out waiting", "Socket Timeout"}},
    {LOG_EVENT_PEER,
     {"distributed service detected fatal errors", "NCCL operations have failed or timed out",
      "NCCL communicator was aborted", "remote process exited", "onnection closed by peer",
      "onnection reset by peer", "BrokenPipeError", "EngineDeadError",
      "EngineCore encountered an issue", "Engine core initialization failed", "died unexpectedly",
      "ActorDiedError", "RayActorError", "WorkerCrashedError", "ChildFailedError", "EOFError"}},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* memmem prepares a table, which in a line takes longer than to look. */
static const char *find_words(const char *text, size_t length, const char *words)
{
    const size_t words_length = strlen(words);
    const char *end = text + length;
    for (const char *at = text; words_length > 0 && (size_t)(end - at) >= words_length; at++) {
        at = memchr(at, words[0], (size_t)(end - at) - words_length + 1);
        if (at == NULL) {
            return NULL;
        }
        if (memcmp(at, words, words_length) == 0) {
            return at;
        }
    }
    return words_length == 0 ? text : NULL;
}

bool log_has_words(const char *text, size_t length, const char *words)
{
    return find_words(text, length, words) != NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool log_number_behind(const char *text, size_t length, const char *words, uint64_t *number)
{
    const char *end = text + length;
    const char *at = find_words(text, length, words);
    uint64_t value = 0;
    if (at == NULL) {
        return false;
    }
    at += strlen(words);
    while (at < end && *at != '\0' && strchr(" \t:=(", *at) != NULL) {
        at++;
    }
    const char *begin = at;
    for (; at < end && is_digit(*at) && at - begin < 18; at++) {
        value = value * 10 + (uint64_t)(*at - '0');
    }
    const bool is_fraction = at + 1 < end && *at == '.' && is_digit(at[1]);
    if (at == begin || is_fraction || (at < end && is_digit(*at))) {
        return false;
    }
    *number = value;
    return true;
}

/* --- printed sizes --- */

/* The bytes of one of the unit behind a number: "B", "bytes", "M", "MiB", " GiB". */
static double read_unit(const char *at, const char *end)
{
    static const char letters[] = "KMGT";
    while (at < end && *at == ' ') {
        at++;
    }
    const char *letter = at < end && *at != '\0' ? strchr(letters, *at) : NULL;
    double unit = 1;
    for (size_t i = 0; letter != NULL && i <= (size_t)(letter - letters); i++) {
        unit *= 1024;
    }
    return unit;
}

/* Behind "1.00GiB": " (1073741824B)". */
static bool read_exact(const char *at, const char *end, struct log_words *words)
{
    uint64_t bytes = 0;
    while (at < end && *at != '\0' && strchr(" KMGTiB", *at) != NULL) {
        at++;
    }
    if (at == end || *at++ != '(' || at == end || !is_digit(*at)) {
        return false;
    }
    for (const char *begin = at; at < end && is_digit(*at) && at - begin < 18; at++) {
        bytes = bytes * 10 + (uint64_t)(*at - '0');
    }
    if (at == end || *at != 'B') {
        return false;
    }
    words->low_bytes = words->high_bytes = bytes;
    return true;
}

/* "6.43M", "192.00 MiB", "20971520 bytes": every size that prints so. */
static void read_size(const char *at, const char *end, struct log_words *words)
{
    double value = 0;
    double digit = 1;
    uint64_t whole = 0; /* counts of bytes are exact */
    bool has_point = false;
    while (at < end && (*at == ' ' || *at == '(')) {
        at++;
    }
    const char *begin = at;
    for (; at < end && at - begin < 20 && (is_digit(*at) || (*at == '.' && !has_point)); at++) {
        has_point = has_point || *at == '.';
        digit = has_point && *at != '.' ? digit / 10 : digit;
        value = *at == '.' ? value : value * 10 + (*at - '0');
        whole = *at == '.' ? whole : whole * 10 + (uint64_t)(*at - '0');
    }
    const double unit = read_unit(at, end);
    const double bytes = value * digit * unit;
    /* Some round, some cut. */
    const double slack = unit > 1 ? digit * unit + 1 : 0;
    if (at > begin && unit > 1 && read_exact(at, end, words)) {
        return;
    }
    if (at > begin && bytes < 9e18) {
        const bool is_count = unit <= 1 && !has_point;
        words->low_bytes = is_count ? whole : bytes < slack ? 0 : (uint64_t)(bytes - slack);
        words->high_bytes = is_count ? whole : (uint64_t)(bytes + slack);
    }
}

/* --- sentences --- */

static bool read_sentences(const char *text, size_t length, const struct sentence *sentences,
                           size_t count, struct log_words *words)
{
    for (size_t i = 0; i < count; i++) {
        const struct sentence *sentence = &sentences[i];
        const char *at = find_words(text, length, sentence->words);
        if (at != NULL && (sentence->also == NULL || log_has_words(text, length, sentence->also))) {
            words->kind = sentence->kind;
            words->form = sentence->form;
            words->at = (size_t)(at - text);
            const char *asked = sentence->asked_behind;
            const char *behind = asked == NULL ? NULL : find_words(text, length, asked);
            if (behind != NULL) {
                read_size(behind + strlen(asked), text + length, words);
            }
            return true;
        }
    }
    return false;
}

static void read_waiting(const char *text, size_t length, struct log_words *words)
{
    for (size_t i = 0; i < COUNT(of_waiting); i++) {
        for (size_t j = 0; j < WORDS_COUNT_MAX && of_waiting[i].words[j] != NULL; j++) {
            const char *at = find_words(text, length, of_waiting[i].words[j]);
            if (at != NULL) {
                words->kind = of_waiting[i].kind;
                words->at = (size_t)(at - text);
                return;
            }
        }
    }
}

enum log_event_kind log_kind_of_exit(uint64_t code)
{
    static const struct {
        uint64_t code;
        enum log_event_kind kind;
    } codes[] = {{137, LOG_EVENT_KILLED},
                 {143, LOG_EVENT_KILLED},
                 {139, LOG_EVENT_CRASH},
                 {135, LOG_EVENT_CRASH},
                 {134, LOG_EVENT_CRASH}};
    for (size_t i = 0; i < COUNT(codes); i++) {
        if (codes[i].code == code) {
            return codes[i].kind;
        }
    }
    return LOG_EVENT_NONE;
}

/* "exit code 137", "EXIT_CODE=143". */
static bool read_exit_code(const char *text, size_t length, struct log_words *words)
{
    static const char *const before[] = {"xit code", "XIT_CODE", "xit Code", "xit status"};
    uint64_t code = 0;
    for (size_t i = 0; i < COUNT(before); i++) {
        if (log_number_behind(text, length, before[i], &code)) {
            words->kind = log_kind_of_exit(code);
            return words->kind != LOG_EVENT_NONE;
        }
    }
    if (log_has_words(text, length, "exitcode") && /* torchrun: a signal is negative */
        log_number_behind(text, length, ": -", &code) && code < 64) {
        words->kind = log_kind_of_exit(128 + code);
    }
    return words->kind != LOG_EVENT_NONE;
}

/* A shell's word for it: "Killed", or "run.sh: line 22: 103525 Killed   python train.py". */
static bool is_shell_killed(const char *text, size_t length)
{
    static const char word[] = "Killed";
    while (length > 0 && strchr(" \t", text[length - 1]) != NULL && text[length - 1] != '\0') {
        length--;
    }
    if (length == sizeof word - 1 && memcmp(text, word, length) == 0) {
        return true;
    }
    const char *killed = find_words(text, length, " Killed ");
    const char *line = find_words(text, length, ": line ");
    return killed != NULL && line != NULL && line < killed && killed > text && is_digit(killed[-1]);
}

/* --- after a failure --- */

/* True if the text says that a job goes on after an out-of-memory.  Advice does not: "try reducing
 * the batch size to 8". */
static bool read_gone_on(const char *text, size_t length)
{
    static const char *const numbered[] = {
        "ing batch size to",     "ing the batch size to",        "ing batch size from",
        "trying batch size",     "etrying with batch size",      "etrying with batch_size",
        "etrying at batch size", "etrying with micro batch size"};
    static const char *const plain[] = {
        "etrying with a smaller", "etrying with smaller", "kipping batch",
        "kipping this batch",     "kipping the batch",    "to recover from OOM",
        "raining finished",       "raining complete",     "inished training",
        "raining has finished",   "raining is complete"};
    static const char *const others[] = {"try ", "Try ",  "onsider", "lease", "not ",
                                         "rror", "ailed", "efore",   "ntil",  "hen "};
    uint64_t size;
    for (size_t i = 0; i < COUNT(others); i++) {
        if (log_has_words(text, length, others[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < COUNT(numbered); i++) {
        if (log_number_behind(text, length, numbered[i], &size)) {
            return true;
        }
    }
    for (size_t i = 0; i < COUNT(plain); i++) {
        if (log_has_words(text, length, plain[i])) {
            return true;
        }
    }
    return false;
}

/* --- signs: each line is looked through once, and most have none --- */

enum sign {
    SIGN_MEMORY = 1,
    SIGN_DEATH = 2,
    SIGN_WAITING = 4,
    SIGN_STEP = 8,
    SIGN_WORLD = 16,
    SIGN_BLAME = 32,
    SIGN_GOES_ON = 64
};

/* Each sentence has one of the words of its table's sign. */
enum { SIGN_WORDS_MAX = 24 };
static const struct {
    enum sign sign;
    const char *words[SIGN_WORDS_MAX];
} signs[] = {
    {SIGN_MEMORY,
     {"OOM", "OUT_OF_MEM", "ut of memory", "out_of_memory", "Attempting to", "attempting to d",
      "memory space", "would exceed", "enough memory", "ailed to allocate", "Could not alloc",
      "ErrorMemoryAll", "pool size exc", "requested bytes", "temporaries", "KV cache memory",
      "cache blocks", "low on memory", "is not a failure"}},
    {SIGN_DEATH,
     {"illed",       "KILL",          "oom_kill",     "oom-kill",     "OOMKilled", "pod Evicted",
      "pod Preempt", "pod NodeLost",  "pod Deadline", "xit code",     "xit Code",  "XIT_CODE",
      "xit status",  "xitcode",       "Out Of Mem",   "SIGTERM",      "SIGSEGV",   "tation fault",
      "dumped",      "exited on sig", "DUE TO",       ": Terminated", "SYSTEM_ERR"}},
    {SIGN_WAITING, {"timeout",  "Timeout",      "timed out",      "Timed out",      "watchdog",
                    "EXCEEDED", "fatal errors", "NCCL comm",      "process exited", "by peer",
                    "PipeErr",  "DeadErr",      "EngineCore enc", "Engine core",    "died unexp",
                    "DiedErr",  "ActorErr",     "CrashedErr",     "FailedErr",      "EOFErr"}},
    {SIGN_STEP, {"step", "Step", "iteration", "%|"}},
    {SIGN_WORLD, {"orld", "ORLD_SIZE"}},
    {SIGN_BLAME, {"Root Cause", "ChildFailedErr"}},
    {SIGN_GOES_ON, {"etrying ", "batch size", "kipping ", "to recover", "raining ", "inished tr"}},
};

/* For each byte that a word may begin with, whether the next one may follow, and the words: chains
 * of indices + 1, 0 ends one. */
struct beginnings {
    uint64_t followers[256][4];
    struct {
        const char *word;
        uint8_t length, next;
        enum sign sign;
    } words[COUNT(signs) * SIGN_WORDS_MAX];
    uint8_t first[256];
};
static_assert(COUNT(signs) * SIGN_WORDS_MAX < UINT8_MAX, "an index + 1 fits into a byte");

static void add_beginning(struct beginnings *beginnings, uint8_t index, const char *text,
                          enum sign sign)
{
    const unsigned char *word = (const unsigned char *)text;
    beginnings->followers[word[0]][word[1] / 64] |= UINT64_C(1) << word[1] % 64;
    beginnings->words[index].word = text;
    beginnings->words[index].length = (uint8_t)strlen(text);
    beginnings->words[index].sign = sign;
    beginnings->words[index].next = beginnings->first[word[0]];
    beginnings->first[word[0]] = (uint8_t)(index + 1);
}

static const struct beginnings *find_beginnings(void)
{
    static struct beginnings beginnings;
    static bool is_made;
    uint8_t count = 0;
    for (size_t i = 0; !is_made && i < COUNT(signs); i++) {
        for (size_t j = 0; j < SIGN_WORDS_MAX && signs[i].words[j] != NULL; j++) {
            add_beginning(&beginnings, count++, signs[i].words[j], signs[i].sign);
        }
    }
    is_made = true;
    return &beginnings;
}

static unsigned find_signs(const char *text, size_t length)
{
    const struct beginnings *beginnings = find_beginnings();
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned found = 0;
    for (size_t i = 0; i + 1 < length; i++) {
        if ((beginnings->followers[bytes[i]][bytes[i + 1] / 64] >> bytes[i + 1] % 64 & 1) == 0) {
            continue;
        }
        for (size_t j = beginnings->first[bytes[i]]; j != 0; j = beginnings->words[j - 1].next) {
            const uint8_t word_length = beginnings->words[j - 1].length;
            if (length - i >= word_length &&
                memcmp(text + i, beginnings->words[j - 1].word, word_length) == 0) {
                found |= beginnings->words[j - 1].sign;
            }
        }
    }
    return found;
}

void log_words_read(const char *text, size_t length, struct log_words *words)
{
    const unsigned found = find_signs(text, length);
    *words = (struct log_words){.may_have_step = (found & SIGN_STEP) != 0,
                                .may_have_world_size = (found & SIGN_WORLD) != 0,
                                .may_be_blame = (found & SIGN_BLAME) != 0,
                                .has_gone_on = (found & SIGN_GOES_ON) != 0 &&
                                               read_gone_on(text, length)};
    if ((found & SIGN_MEMORY) != 0 &&
        read_sentences(text, length, of_memory, COUNT(of_memory), words)) {
        return;
    }
    if ((found & SIGN_DEATH) != 0) {
        if (read_sentences(text, length, of_death, COUNT(of_death), words) ||
            read_exit_code(text, length, words)) {
            return;
        }
        if (log_has_words(text, length, "container ") &&
            log_has_words(text, length, "ended with exit code")) { /* log_pods.c */
            words->kind = LOG_EVENT_EXCEPTION;
            words->is_blame = true;
            return;
        }
        if (is_shell_killed(text, length)) {
            words->kind = LOG_EVENT_KILLED;
            return;
        }
    }
    if ((found & SIGN_WAITING) != 0) {
        read_waiting(text, length, words);
    }
}

/* --- steps --- */

/* tqdm: " 12%|###   | 7/100 [00:12<02:40,  1.7s/it]", without a description but "Epoch 3". */
static bool read_bar(const char *text, size_t length, uint64_t *step)
{
    const char *bar = find_words(text, length, "%|");
    const char *end = text + length;
    if (bar == NULL ||
        (!log_has_words(text, length, "it/s") && !log_has_words(text, length, "s/it"))) {
        return false;
    }
    size_t described = 0;
    while (described < (size_t)(bar - text) &&
           (text[described] == ' ' || is_digit(text[described]))) {
        described++;
    }
    if (described < (size_t)(bar - text) &&
        memcmp(text, "Epoch", (size_t)(bar - text) < 5 ? 0 : 5) != 0) {
        return false;
    }
    const char *at = memchr(bar + 2, '|', (size_t)(end - bar - 2));
    const char *slash = at == NULL ? NULL : memchr(at, '/', (size_t)(end - at));
    return slash != NULL && slash - at < 24 &&
           log_number_behind(at, (size_t)(slash - at), "|", step);
}

/* "step" that is a word of its own, or the end of one such as "global_step". */
static bool read_word_step(const char *text, size_t length, const char *word, uint64_t *step)
{
    const char *at = find_words(text, length, word);
    if (at == NULL ||
        (at > text && ((at[-1] >= 'a' && at[-1] <= 'z') || (at[-1] >= 'A' && at[-1] <= 'Z')))) {
        return false;
    }
    return log_number_behind(at, length - (size_t)(at - text), word, step);
}

bool log_step_read(const char *text, size_t length, uint64_t *step)
{
    static const char *const before[] = {"step", "Step", "iteration"};
    if (read_bar(text, length, step)) {
        return true;
    }
    for (size_t i = 0; i < COUNT(before); i++) {
        if (read_word_step(text, length, before[i], step)) {
            return true;
        }
    }
    return false;
}
