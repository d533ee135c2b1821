#include "cli/manual/pages.h"

#include "harness/op/op.h"

#include <string.h>

/* A word of the file and what it means, as a list has them. */
struct meaning {
    const char *word, *text;
};

static const struct meaning heads[] = {
    {"scenario NAME", "the scenario that chose the ops; only a remark"},
    {"chip CHIP", "a name of hbmstress list chips; gives the capacity"},
    {"system NAME",
     "what the list comes from, for the words of explain, such as pytorch or xla_tpu"},
    {"capacity SIZE",
     "bytes of the device, up to 1P, a multiple of the granule (default: the chip's)"},
    {"granule SIZE", "a power of two from 1 to 64K (default: the target's own)"},
    {"rounding ROUNDING", "how large blocks may be: granule, any or classes=N [smallest=SIZE] "
                          "[overhead=SIZE] (default: the target's contract)"},
    {"hosts N", "1 to 64; each has a device of its own, unless they share one"},
    {"clocks own", "each host has a time of its own"},
    {"clock HOST ahead=DURATION drift=MILLIONTHS",
     "what the clock of a host shows, with clocks own"},
    {"collective_bound DURATION",
     "how long a host waits for a collective that others do not join, or "
     "never (default 5s)"},
    {"group NUMBER HOSTS \"NAME\"",
     "the members of a group, such as 3 0-3,8 \"data 0\"; up to 256 groups"},
    {"shares HOSTS [SIZE]",
     "hosts that share the memory of one device (default size: the capacity)"},
    {"coordinate XxYxZ_HBMn", "of the first host, as messages print it; the others follow in x"},
    {"target NAME", "a listed target, or the path of a plug-in, up to the end of the line"},
    {"option KEY=VALUE", "an option of the target; up to 16 of them, each key once"},
    {"seed N", "what the scenario was drawn from"},
    {"tag NUMBER \"NAME\"", "the name of a tag, 0 to 255"},
    {"search_nodes N",
     "the most nodes that the search for one verdict may visit; 0 is the default"},
    {"regret_max N", "more requests with regret than this break the promise regret"},
    {"until STEP", "the step that the job was headed for, from 1; explain projects to it"},
    {"check_races yes",
     "with lanes, plain accesses of an explored target must obey happens-before"},
    {"reported requested=LOW-HIGH free=LOW-HIGH [image=BYTES]",
     "what a message says of its request"},
};

static const struct meaning fields[] = {
    {"lane=N", "the client thread, 0 to 63; up to 16 can run"},
    {"host=N", "the host that makes the request"},
    {"spmd=GROUP", "the same request is made on every host of that group"},
    {"collective=GROUP", "the execution starts when every host of that group has enqueued its own"},
    {"call=FAULT", "of a fault: what goes wrong"},
    {"nth=N",
     "of a fault: which device call from now, 1 the next (default 1; 0 disarms the fault)"},
    {"for_ever=yes", "of a fault: it strikes that call and all later ones"},
    {"op=N", "of a switch: the op that is interrupted"},
    {"point=N", "of a switch: at which of its points"},
    {"to=LANE", "of a switch: the lane that goes on"},
    {"block=N", "the number of the op that made the block; %N is the N-th block that is live then"},
    {"program=N", "the number of the load that made the program, or %N"},
    {"recording=N", "the number of the record"},
    {"event=N",
     "the number of the op that made the event, or %N; of a switch: the event that completes"},
    {"delay=DURATION", "20us, 5ms, 30s, 10m, 8h, or never"},
    {"size=SIZE",
     "bytes such as 512, 4K, 8M, 16G; or what fits then: %hole, %free, %half, %block:N, "
     "%pair:N, some granules more or less, such as %hole+1"},
    {"address=ADDRESS", "of retire: the first byte of the range; %N is free memory at or above N"},
    {"stack=SIZE", "of load: the stack that the program needs at the bottom"},
    {"unpadded=SIZE", "the size without padding (default: the size)"},
    {"align=SIZE", "a power of two from 2 to 2M (default: the granule)"},
    {"tag=N", "the tag of the block"},
    {"retry=yes",
     "asks the op before again, with time pinned; skipped unless that one was answered "
     "out of memory"},
    {"stream=N", "the stream of a request, or of the op's own event, 0 to 63"},
};

static const char *const kinds[OP_KIND_COUNT] = {
    [OP_ALLOC] = "a user's buffer",
    [OP_OUTPUT] = "an output of a program",
    [OP_FREE] = "the block goes when its uses and holds have ended",
    [OP_FREE_AFTER] = "the block goes when the event is done, too",
    [OP_USE] = "the block is in use until then, and may not move",
    [OP_HOLD] = "takes an external reference to the block",
    [OP_RELEASE] = "releases an external reference to the block",
    [OP_DONATE] = "a new output takes over the block",
    [OP_LOAD] = "loads a program: its image, and the stack that it needs at the bottom",
    [OP_UNLOAD] = "unloads a program",
    [OP_EXECUTE] = "runs until the delay has passed; loads the program again when it was evicted",
    [OP_DEFRAGMENT] = "asks the allocator to defragment",
    [OP_COMPLETE] = "completes the event now, whatever its delay was",
    [OP_ADVANCE] = "virtual time passes: for all hosts, or with clocks own for the host of the op",
    [OP_TOUCH] = "the contents of the block are compared",
    [OP_REPORT] = "counters, holes and the allocations report are compared",
    [OP_FAULT] = "makes a device call go wrong",
    [OP_RETIRE] = "a range goes bad permanently; skipped unless it is free",
    [OP_SWITCH] = "of the schedule of lanes: another lane goes on, or an event completes",
    [OP_SLEEP] =
        "the allocator gives all memory of the device back; skipped while something is in use",
    [OP_WAKE] = "the allocator takes the memory again",
    [OP_RECORD] = "begins a recording; skipped unless the target records, and while one is open",
    [OP_RECORD_END] = "ends the recording that is open",
    [OP_RECORD_DROP] = "drops a recording that has ended",
};

static void append_meanings(struct writing *text, const struct meaning *meanings, size_t count)
{
    writing_append(text, ".Bl -tag -width Ds\n");
    for (size_t i = 0; i < count; i++) {
        writing_append(text, ".It Ic ");
        mdoc_argument(text, meanings[i].word, strlen(meanings[i].word));
        writing_append(text, "\n");
        mdoc_line(text, meanings[i].text, strlen(meanings[i].text));
    }
    writing_append(text, ".El\n");
}

/* The fields that the kind has, of those that not every kind has. */
static void append_kind_fields(struct writing *text, const struct op_kind_info *info)
{
    const struct {
        bool has;
        const char *name;
    } own[] = {{info->has_block, "block"},      {info->has_program, "program"},
               {info->has_event, "event"},      {info->has_delay, "delay"},
               {info->has_size, "size"},        {info->has_address, "address"},
               {info->has_stack, "stack"},      {info->has_unpadded, "unpadded"},
               {info->has_align, "align"},      {info->has_tag, "tag"},
               {info->can_be_refused, "retry"}, {info->has_stream, "stream"}};
    const char *before = "Fields: ";
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (own[i].has) {
            writing_append_format(text, "%s%s", before, own[i].name);
            before = ", ";
        }
    }
    writing_append(text, before[0] == ',' ? ".\n" : "");
}

static void append_kinds(struct writing *text)
{
    writing_append(text, ".Bl -tag -width Ds\n");
    for (int kind = 0; kind < OP_KIND_COUNT; kind++) {
        const struct op_kind_info *info = op_kind_info((enum op_kind)kind);
        writing_append_format(text, ".It Ic %s\n", info->name);
        writing_append_format(text, "%s.\n", kinds[kind]);
        if (kind == OP_FAULT) {
            writing_append(text, "Fields: call, nth, delay, for_ever.\n");
        } else if (kind == OP_SWITCH) {
            writing_append(text, "Fields: op, point, to, event.\n");
        } else if (kind == OP_RECORD_DROP) {
            writing_append(text, "Fields: recording.\n");
        } else {
            append_kind_fields(text, info);
        }
    }
    writing_append(text, ".El\n");
}

static void append_faults(struct writing *text)
{
    writing_append(text, ".Bl -tag -width Ds\n");
    for (int i = 0; i < FAULT_KIND_COUNT; i++) {
        const struct fault_info *fault = fault_info((enum fault_kind)i);
        writing_append_format(text, ".It Ic %s\n", fault->name);
        mdoc_line(text, fault->summary, strlen(fault->summary));
    }
    writing_append(text, ".El\n");
}

void page_ops(struct writing *text, const char *date, const char *version)
{
    const struct mdoc_page page = {"hbmstress-ops", "a run of an allocator as text", 5, date,
                                   version};
    mdoc_begin(text, &page);
    mdoc_section(text, "DESCRIPTION");
    mdoc_paragraphs(
        text, "An op list is text that people read and edit.\n"
              "The first line is the version, hbmstress-ops 1.\n"
              "The head follows: one word and its value on each line, in any order.\n"
              "All of it may be left out.\n\n"
              "One op stands on each line: a number and a colon, the kind, and KEY=VALUE fields.\n"
              "Numbers ascend but may have gaps, so that a line can be deleted.\n"
              "An op that names another op which is not there is skipped.\n"
              "A line that begins with # is a comment.\n"
              "Sizes are powers of 1024: 512, 4K, 8M, 16G.");
    mdoc_section(text, "HEAD");
    append_meanings(text, heads, sizeof heads / sizeof *heads);
    mdoc_section(text, "OPS");
    append_kinds(text);
    mdoc_section(text, "FIELDS");
    writing_append(text, "Every op may have lane, host and spmd.\n");
    append_meanings(text, fields, sizeof fields / sizeof *fields);
    mdoc_section(text, "FAULTS");
    append_faults(text);
    mdoc_section(text, "EXAMPLES");
    mdoc_display(text,
                 "hbmstress-ops 1\nchip v5e\ncapacity 64M\ntarget hbm\noption defrag=slide\n"
                 "seed 1\ntag 3 \"losses\"\n\n0: alloc size=8M tag=3\n1: use block=0 delay=5ms\n"
                 "2: free_after block=0 event=1");
    mdoc_section(text, "SEE ALSO");
    writing_append(text,
                   ".Xr hbmstress-convert 1 ,\n.Xr hbmstress-list 1 ,\n.Xr hbmstress-replay 1\n");
}
