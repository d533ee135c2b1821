#include "explore/private/baton.h"

#include "explore/private/check.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_IN_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_IN_ASAN 1
#endif
#endif
#ifdef FIBER_IN_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

/* Judging runs on these stacks, too.  Only what is touched takes memory. */
enum { STACK_BYTES = 4 << 20 };

void fiber_init(struct fiber *fiber)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *fiber = (struct fiber){.stack_bytes = STACK_BYTES, .has_own_stack = true};
    unsigned char *at = mmap(NULL, STACK_BYTES + page, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    EXPLORE_CHECK(at != MAP_FAILED);
    EXPLORE_CHECK(mprotect(at, page, PROT_NONE) == 0);
    fiber->stack = at + page;
}

void fiber_deinit(struct fiber *fiber)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (fiber->has_own_stack) {
        munmap(fiber->stack - page, fiber->stack_bytes + page);
    }
    *fiber = (struct fiber){0};
}

/* --- the switch itself --- */

#if defined(__x86_64__)

/* Saves what a call must keep (System V ABI for AMD64, section 3.2.1), the control words included,
 * on the old stack, and takes it from the new one. */
void explore_context_switch(void **saved, void *next);
__asm__(".text\n"
        ".globl explore_context_switch\n"
        ".hidden explore_context_switch\n"
        ".type explore_context_switch, @function\n"
        "explore_context_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    subq $8, %rsp\n"
        "    stmxcsr (%rsp)\n"
        "    fnstcw 4(%rsp)\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    ldmxcsr (%rsp)\n"
        "    fldcw 4(%rsp)\n"
        "    addq $8, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size explore_context_switch, . - explore_context_switch\n");

/* A new fiber begins here: its first "return" comes here, with rbx naming it. */
void explore_fiber_begin(struct fiber *fiber);
void explore_fiber_entry(void);
__asm__(".text\n"
        ".globl explore_fiber_entry\n"
        ".hidden explore_fiber_entry\n"
        ".type explore_fiber_entry, @function\n"
        "explore_fiber_entry:\n"
        "    xorl %ebp, %ebp\n"
        "    movq %rbx, %rdi\n"
        "    call explore_fiber_begin\n"
        "    ud2\n"
        ".size explore_fiber_entry, . - explore_fiber_entry\n");

/* The words that explore_context_switch takes, in its order from the lowest address. */
enum {
    WORD_CONTROL,
    WORD_R15,
    WORD_R14,
    WORD_R13,
    WORD_R12,
    WORD_RBX,
    WORD_RBP,
    WORD_RETURN,
    WORD_ABOVE,
    WORD_COUNT
};

static void prepare_stack(struct fiber *fiber)
{
    uint64_t *words = (uint64_t *)(void *)(fiber->stack + fiber->stack_bytes) - WORD_COUNT - 1;
    uint32_t control[2] = {0, 0};
    __asm__ volatile("stmxcsr %0\n fnstcw %1" : "=m"(control[0]), "=m"(control[1]));
    words[WORD_CONTROL] = control[0] | (uint64_t)control[1] << 32;
    words[WORD_R15] = words[WORD_R14] = words[WORD_R13] = words[WORD_R12] = words[WORD_RBP] = 0;
    words[WORD_RBX] = (uint64_t)(uintptr_t)fiber;
    words[WORD_RETURN] = (uint64_t)(uintptr_t)explore_fiber_entry;
    words[WORD_ABOVE] = 0; /* a return address of nobody: traces end here */
    fiber->saved = words;
}

static void switch_stack(struct fiber *from, struct fiber *to)
{
    explore_context_switch(&from->saved, to->saved);
}

#else

#include <stdlib.h>
#include <ucontext.h>

void explore_fiber_begin(struct fiber *fiber);

/* A pointer goes through two ints, which is all that makecontext passes on. */
static void enter_body(unsigned high, unsigned low)
{
    explore_fiber_begin((struct fiber *)((uintptr_t)high << 32 | low));
}

static ucontext_t *context_of_fiber(struct fiber *fiber)
{
    if (fiber->saved == NULL) {
        fiber->saved = calloc(1, sizeof(ucontext_t));
        EXPLORE_CHECK(fiber->saved != NULL);
    }
    return fiber->saved;
}

static void prepare_stack(struct fiber *fiber)
{
    ucontext_t *at = context_of_fiber(fiber);
    const uint64_t self = (uint64_t)(uintptr_t)fiber;
    EXPLORE_CHECK(getcontext(at) == 0);
    at->uc_stack.ss_sp = fiber->stack;
    at->uc_stack.ss_size = fiber->stack_bytes;
    makecontext(at, (void (*)(void))enter_body, 2, (unsigned)(self >> 32), (unsigned)self);
}

static void switch_stack(struct fiber *from, struct fiber *to)
{
    EXPLORE_CHECK(swapcontext(context_of_fiber(from), context_of_fiber(to)) == 0);
}

#endif

/* --- with the address sanitizer told --- */

#ifdef FIBER_IN_ASAN
static struct fiber *switched_from;

static void report_switch_begin(struct fiber *from, const struct fiber *to)
{
    switched_from = from;
    __sanitizer_start_switch_fiber(&from->shadow, to->stack, to->stack_bytes);
}

/* The bounds of a thread's own stack are told to whoever came from it. */
static void report_switch_end(const struct fiber *self)
{
    const void *bottom = NULL;
    size_t bytes = 0;
    __sanitizer_finish_switch_fiber(self->shadow, &bottom, &bytes);
    if (!switched_from->has_own_stack) {
        switched_from->stack = (unsigned char *)(uintptr_t)bottom;
        switched_from->stack_bytes = bytes;
    }
}

static void forget_frames(const struct fiber *fiber)
{
    __asan_unpoison_memory_region(fiber->stack, fiber->stack_bytes);
}
#else
static void report_switch_begin(struct fiber *from, const struct fiber *to)
{
    (void)from;
    (void)to;
}
static void report_switch_end(const struct fiber *self)
{
    (void)self;
}
static void forget_frames(const struct fiber *fiber)
{
    (void)fiber;
}
#endif

void explore_fiber_begin(struct fiber *fiber)
{
    report_switch_end(fiber);
    fiber->body(fiber->context);
    EXPLORE_CHECK(false);
}

void fiber_start(struct fiber *fiber, void (*body)(void *context), void *context)
{
    EXPLORE_CHECK(fiber->has_own_stack);
    fiber->body = body;
    fiber->context = context;
    fiber->shadow = NULL;
    forget_frames(fiber);
    prepare_stack(fiber);
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
    report_switch_begin(from, to);
    switch_stack(from, to);
    report_switch_end(from);
}
