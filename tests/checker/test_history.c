/* The checker makes facts again from a list and its log: each rule of docs/certificate.md has a
 * story whose facts are written by hand, and which no other number tells as well. */
#include "tests/checker/story.h"
#include "tests/helpers/suite.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct story_texts texts;
static char reason[CERTIFICATE_REASON_BYTES], changed[STORY_TEXT_BYTES];

static const char by_state[] =
    "justified, spans; the state is that of the list and its observations";
static const char by_list[] = "justified, spans; the op is that of the list";

#define TWO_HOSTS PROMISED("granule", "none") ", " PROMISED("granule", "none")
#define OWN_TIME "hosts 2\nclocks own\n"
#define CLASSES "rounding classes=4\nhosts 1\n"
#define STREAMED PROMISED_MORE("'stream_ordered': true")
#define RECORDED PROMISED_MORE("'records': true, 'stream_ordered': false")
#define BOTH PROMISED_MORE("'records': true, 'stream_ordered': true")
#define HIDDEN PROMISED_MORE("'placement': 'hidden', 'header': 0, 'stream_ordered': true")
#define SHOWS_KEPT .contract = PLACED_CONTRACT(ranges)
#define CLASSED PROMISED("classes=4", "none")

static const struct story stories[] = {
    /* A new block has its own align, and its place as answered. */
    {.steps = {MADE("output size=512", 0, 512), MADE("alloc size=1000 align=4K", 4096, 1024)},
     .blocks = FACT(0, output, live, 0, 512, 512, 0, 0, 0, 0) "," FACT(1, buffer, live, 4096, 1024,
                                                                       4096, 0, 0, 0, 0)},
    /* Holds are counted, and keep what was freed. */
    {.steps = {MADE("alloc size=512", 0, 512), DID("hold block=0"), DID("hold block=0"),
               DID("release block=0"), MADE("alloc size=512", 512, 512), DID("hold block=4"),
               DID("free block=4")},
     .blocks = FACT(0, buffer, live, 0, 512, 512, 0, 1, 0, 0) "," FACT(4, buffer, dying, 512, 512,
                                                                       512, 0, 1, 0, 0)},
    /* What is dying may be released, and is gone with its last hold. */
    {.steps = {MADE("alloc size=512", 0, 512), DID("hold block=0"), DID("hold block=0"),
               DID("free block=0"), DID("release block=0"), MADE("alloc size=512", 512, 512),
               DID("hold block=5"), DID("free block=5"), DID("release block=5")},
     .blocks = FACT(0, buffer, dying, 0, 512, 512, 0, 1, 0, 0)},
    /* What is freed and awaits nothing is gone, and its place may be another's. */
    {.steps = {MADE("alloc size=512", 0, 512), DID("free block=0"), MADE("alloc size=1K", 0, 1024)},
     .blocks = FACT(2, buffer, live, 0, 1024, 512, 0, 0, 0, 0)},
    /* A use counts from when its op began, a free by the same clock. */
    {.steps = {MADE("alloc size=512", 0, 512), STEP("advance delay=1us", 1000, ""),
               STEP("use block=0 delay=5ns", 2000, ""), MADE("alloc size=512", 512, 512),
               STEP("free_after block=3 delay=7us", 2000, "")},
     .blocks = FACT(0, buffer, live, 0, 512, 512, 0, 0, 1005, 0) "," FACT(3, buffer, dying, 512,
                                                                          512, 512, 0, 0, 0, 7000)},
    /* A free that follows a use awaits both; the later one decides. */
    {.steps = {MADE("alloc size=512", 0, 512), STEP("use block=0 delay=9s", 0, ""),
               STEP("use block=0 delay=2m", 0, ""), STEP("free_after block=0 delay=1h", 0, "")},
     .blocks = FACT(0, buffer, dying, 0, 512, 512, 0, 0, 120000000000, 3600000000000)},
    /* One event is awaited by two blocks; what is done is over. */
    {.steps = {MADE("alloc size=512", 0, 512), MADE("alloc size=512", 512, 512),
               STEP("use block=0 delay=3ms", 0, ""), DID("free_after block=1 event=2"),
               DID("use block=0 event=2"), STEP("use block=0 delay=2ms", 0, ""),
               STEP("report", 4, ", 'done': [5]")},
     .blocks = FACT(0, buffer, live, 0, 512, 512, 0, 0, 3000000,
                    0) "," FACT(1, buffer, dying, 512, 512, 512, 0, 0, 0, 3000000)},
    /* With its event the block goes. */
    {.steps = {MADE("alloc size=512", 0, 512), STEP("free_after block=0 delay=1s", 0, ""),
               STEP("complete event=1", 0, ", 'done': [1]")}},
    /* The last time that the log says is the one; an event may be lost. */
    {.steps = {MADE("alloc size=512", 0, 512), MADE("alloc size=512", 512, 512),
               STEP("use block=0 delay=1ms", 0, ", 'due': [[2, '77']]"),
               STEP("use block=1 delay=1ms", 0, ""),
               STEP("report", 0, ", 'due': [[2, '88'], [3, 'never']]")},
     .blocks = FACT(0, buffer, live, 0, 512, 512, 0, 0, 88, 0) "," FACT(1, buffer, live, 512, 512,
                                                                        512, 0, 0, -1, 0)},
    {.steps = {MADE("alloc size=512", 0, 512),
               STEP("use block=0 delay=1ms", 0, ", 'due': [[1, '77']]")},
     .blocks = FACT(0, buffer, live, 0, 512, 512, 0, 0, 77, 0)},
    /* Never, and later than any time, are the same. */
    {.steps = {MADE("alloc size=512", 0, 512), MADE("alloc size=512", 512, 512),
               MADE("alloc size=512", 1024, 512), STEP("advance delay=4ns", 4, ""),
               STEP("use block=0 delay=never", 4, ""),
               STEP("use block=1 delay=18446744073709551611ns", 4, ""),
               STEP("use block=2 delay=18446744073709551610ns", 4, "")},
     .blocks = FACT(0, buffer, live, 0, 512, 512, 0, 0, -1, 0) "," FACT(
         1, buffer, live, 512, 512, 512, 0, 0, -1, 0) "," FACT(2, buffer, live, 1024, 512, 512, 0,
                                                               0, 4611686018427387905, 0)},
    /* Late times keep their order: equal ones are counted one by one. */
    {.steps = {MADE("alloc size=512", 0, 512), MADE("alloc size=512", 512, 512),
               MADE("alloc size=512", 1024, 512), MADE("alloc size=512", 1536, 512),
               STEP("use block=0 delay=6000000000000000000ns", 0, ""),
               STEP("use block=1 delay=5000000000000000000ns", 0, ""),
               STEP("free_after block=1 event=5", 0, ""),
               STEP("use block=2 delay=4611686018427387905ns", 0, ""),
               STEP("use block=3 delay=4611686018427387904ns", 0, "")},
     .blocks = FACT(0, buffer, live, 0, 512, 512, 0, 0, 4611686018427387908, 0) "," FACT(
         1, buffer, dying, 512, 512, 512, 0, 0, 4611686018427387906,
         4611686018427387906) "," FACT(2, buffer, live, 1024, 512, 512, 0, 0, 4611686018427387905,
                                       0) "," FACT(3, buffer, live, 1536, 512, 512, 0, 0,
                                                   4611686018427387904, 0)},
    /* An execution counts from when its call returned; a collective has 5 s. */
    {.steps = {MADE("load size=1K stack=100", 1024, 1024), MADE("load size=1K stack=0", 2048, 1024),
               STEP("execute program=0 delay=10ns", 300, ", 'address': 1024, 'size': 1024"),
               STEP("execute program=1 delay=10ns collective=4", 400,
                    ", 'address': 2048, 'size': 1024")},
     .blocks = FACT(0, program, live, 1024, 1024, 512, 512, 0, 310,
                    0) "," FACT(1, program, live, 2048, 1024, 512, 0, 0, 5000000400, 0)},
    /* An unloaded program that still runs is dying. */
    {.steps = {MADE("load size=1K stack=0", 0, 1024),
               STEP("execute program=0 delay=10ns", 300, ", 'address': 0, 'size': 1024"),
               STEP("unload program=0", 300, "")},
     .blocks = FACT(0, program, dying, 0, 1024, 512, 0, 0, 310, 310)},
    /* An evicted image is not on the device; it comes back elsewhere, or goes with the program. */
    {.steps = {MADE("load size=1K stack=0", 0, 1024), MADE("load size=1K stack=0", 1024, 1024),
               MADE("load size=1K stack=0", 2048, 1024),
               STEP("defragment", 0, ", 'evicted': [0, 1, 2]"),
               MADE("execute program=0 delay=0s", 4096, 1024), DID("unload program=1")},
     .last_more = ", 'done': [4]",
     .blocks = FACT(0, program, live, 4096, 1024, 512, 0, 0, 0, 0)},
    /* A program that is dying when its image goes is gone. */
    {.steps = {MADE("load size=1K stack=0", 0, 1024), MADE("execute program=0 delay=1s", 0, 1024),
               DID("unload program=0")},
     .last_more = ", 'evicted': [0]"},
    /* What is moved or evicted and is not there is passed over. */
    {.steps = {{"load size=1K stack=0", "no_memory", "0", ""},
               {"alloc size=512", "failed", "0", ""},
               STEP("defragment", 0, ", 'moved': [[1, 512]], 'evicted': [0]")}},
    /* A donated block belongs to its new op; its uses and what its size may be stay. */
    {.steps = {MADE("alloc size=512 align=2K", 2048, 1024), STEP("use block=0 delay=5ns", 0, ""),
               MADE("donate block=0 size=100", 9728, 7)},
     .blocks = FACT(2, output, live, 2048, 512, 512, 0, 0, 5, 0)},
    {.steps = {MADE("alloc size=512", 0, 512), MADE("donate block=0 size=512", 0, 512),
               STEP("defragment", 0, ", 'moved': [[1, 1024]]")},
     .last = "output size=1M",
     .blocks = FACT(1, output, live, 1024, 512, 512, 0, 0, 0, 0)},
    /* Bad memory is held. */
    {.steps = {DID("retire size=1K address=60K")},
     .blocks = FACT(0, retired, live, 61440, 1024, 512, 0, 1, 0, 0)},
    /* Blocks move, and may be in host memory; their order there is of no matter. */
    {.steps = {MADE("alloc size=512", 0, 512), MADE("alloc size=512", 512, 512),
               MADE("alloc size=512", 1024, 512), MADE("alloc size=512", 1536, 512),
               STEP("defragment", 0, ", 'moved': [[0, 8192], [1, -1], [2, -1]]"),
               STEP("defragment", 0, ", 'moved': [[0, 4096]]")},
     .last_more = ", 'moved': [[3, 0]]",
     .hosts = PROMISED("granule", "repack"),
     .contract = REPACK_CONTRACT,
     .proof = TOO_LARGE,
     .blocks = FACT(3, buffer, live, 0, 512, 512, 0, 0, 0,
                    0) "," FACT(0, buffer, live, 4096, 512, 512, 0, 0, 0,
                                0) "," FACT(2, buffer, live, -1, 512, 512, 0, 0, 0,
                                            0) "," FACT(1, buffer, live, -1, 512, 512, 0, 0, 0, 0)},
    /* So may programs, outputs, and memory that turned out to be bad where they are. */
    {.steps = {MADE("load size=512 stack=0", 0, 512), DID("retire size=512 address=512"),
               MADE("output size=512", 1024, 512),
               STEP("defragment", 0, ", 'moved': [[0, 8192], [1, 4096], [2, 0]]")},
     .blocks = FACT(2, output, live, 0, 512, 512, 0, 0, 0,
                    0) "," FACT(1, retired, live, 4096, 512, 512, 0, 1, 0,
                                0) "," FACT(0, program, live, 8192, 512, 512, 0, 0, 0, 0)},
    /* Other answers than ok change nothing. */
    {.steps = {MADE("alloc size=512", 0, 512),
               {"alloc size=512", "no_memory", "0", ""},
               {"hold block=0", "failed", "0", ""},
               {"free block=0", "skipped", "0", ""},
               {"alloc size=0", "invalid", "0", ""}},
     .blocks = FACT(0, buffer, live, 0, 512, 512, 0, 0, 0, 0)},
    /* Ops of the world change nothing. */
    {.steps = {MADE("alloc size=512 tag=255 unpadded=500 retry=yes spmd=65535", 0, 512),
               DID("fault call=event_others nth=4294967295 delay=1m for_ever=yes"),
               DID("touch block=0"), DID("touch block=none"), DID("complete event=none")},
     .head = "hosts 1\nregret_max 3\nsearch_nodes 9\ncheck_races yes\ntag 3 \"a b\"\nchip v2\n",
     .blocks = FACT(0, buffer, live, 0, 512, 512, 0, 0, 0, 0)},
    /* A size counts up to what its class allows, and so does the request. */
    {.steps = {MADE("alloc size=2049", 0, 4096), MADE("alloc size=600", 4096, 512),
               MADE("load size=9500 stack=0", 8192, 16384)},
     .head = CLASSES,
     .hosts = CLASSED,
     .last = "alloc size=1048577",
     .request = ASKED(buffer, 1310720, 512, 0, -1),
     .blocks = FACT(0, buffer, live, 0, 2560, 512, 0, 0, 0,
                    0) "," FACT(1, buffer, live, 4096, 512, 512, 0, 0, 0,
                                0) "," FACT(2, program, live, 8192, 10240, 512, 0, 0, 0, 0)},
    {.steps = {MADE("alloc size=1", 0, 65536)},
     .head = "hosts 1\nrounding granule overhead=16\n",
     .hosts = PROMISED("granule overhead=16", "none"),
     .last = "alloc size=1M",
     .request = ASKED(buffer, 1049088, 512, 0, -1),
     .blocks = FACT(0, buffer, live, 0, 512, 512, 0, 0, 0, 0)},
    {.steps = {MADE("alloc size=1", 0, 4096)},
     .head = "hosts 1\nrounding classes=1 smallest=1K overhead=1\n",
     .hosts = PROMISED("classes=1 smallest=1K overhead=1", "none"),
     .last = "alloc size=1048577",
     .request = ASKED(buffer, 2097664, 512, 0, -1),
     .blocks = FACT(0, buffer, live, 0, 1536, 512, 0, 0, 0, 0)},
    {.steps = {MADE("alloc size=1", 0, 4096)},
     .head = "hosts 1\nrounding any\n",
     .hosts = PROMISED("any", "none"),
     .last = "alloc size=1000001",
     .request = ASKED(buffer, 1000001, 512, 0, -1),
     .blocks = FACT(0, buffer, live, 0, 4096, 512, 0, 0, 0, 0)},
    /* Each host has its own blocks; events are of all. */
    {.steps = {MADE("alloc size=512", 0, 512), MADE("alloc size=1K host=1", 0, 1024),
               STEP("use block=0 delay=1s", 0, ""), STEP("use block=1 event=2 host=1", 0, ""),
               STEP("use block=1 delay=2s host=1", 0, ""),
               STEP("advance delay=1ns", 1, ", 'done': [4]")},
     .head = "hosts 2\n",
     .hosts = TWO_HOSTS,
     .last = "alloc size=1M host=1",
     .host = 1,
     .blocks = FACT(1, buffer, live, 0, 1024, 512, 0, 0, 1000000000, 0)},
    /* With a time of its own, each host goes on from when its own last op ended. */
    {.steps = {MADE("alloc size=512", 0, 512), MADE("alloc size=1K host=1", 0, 1024),
               STEP("advance delay=1us", 1000, ""), STEP("use block=1 delay=5ns host=1", 0, ""),
               STEP("advance delay=3ns host=1", 3, ""), STEP("use block=0 delay=7ns", 1000, ""),
               STEP("free_after block=1 delay=9ns host=1", 3, "")},
     .head = OWN_TIME,
     .hosts = TWO_HOSTS,
     .last = "alloc size=1M host=1",
     .host = 1,
     .blocks = FACT(1, buffer, dying, 0, 1024, 512, 0, 0, 5, 12)},
    {.steps = {MADE("alloc size=512", 0, 512), STEP("advance delay=1us", 1000, ""),
               STEP("advance delay=3ns host=1", 3, ""), STEP("use block=0 delay=7ns", 1000, "")},
     .head = OWN_TIME "clock 1 ahead=4ms drift=-3\ngroup 7 0,1 \"data\"\n",
     .hosts = TWO_HOSTS,
     .blocks = FACT(0, buffer, live, 0, 512, 512, 0, 0, 1007, 0)},
    /* A collective has the bound of the head, or none. */
    {.steps = {MADE("load size=1K stack=0", 0, 1024),
               STEP("execute program=0 delay=10ns collective=4", 400,
                    ", 'address': 0, 'size': 1024")},
     .head = "hosts 1\ncollective_bound 2us\n",
     .blocks = FACT(0, program, live, 0, 1024, 512, 0, 0, 2400, 0)},
    {.steps = {MADE("load size=1K stack=0", 0, 1024),
               STEP("execute program=0 delay=10ns collective=4", 400,
                    ", 'address': 0, 'size': 1024")},
     .head = "hosts 1\ncollective_bound never\n",
     .blocks = FACT(0, program, live, 0, 1024, 512, 0, 0, -1, 0)},
    /* What a load, and an execution, ask for. */
    {.last = "load size=15E stack=513",
     .request = ASKED(program, 4611686018427387904, 512, 1024, -1)},
    {.steps = {MADE("alloc size=1K", 0, 1024), MADE("load size=1K stack=128K", 1024, 1024)},
     .last = "execute program=1 delay=1s",
     .request = ASKED(program, 0, 512, 131072, 1),
     .proof = "{'kind': 'stack'}",
     .blocks = FACT(0, buffer, live, 0, 1024, 512, 0, 0, 0,
                    0) "," FACT(1, program, live, 1024, 1024, 512, 131072, 0, 0, 0)},
    {.steps = {MADE("load size=1M stack=0", 0, 1024), STEP("report", 0, ", 'evicted': [0]")},
     .last = "execute program=0 delay=1s",
     .request = ASKED(program, 1048576, 512, 0, -1)},
    /* What was refused during the op, and nothing before. */
    {.steps = {STEP("defragment", 0, ", 'refused': ['unload']")},
     .last_more = ", 'refused': ['wait', 'copy']",
     .refused = "{'copy': true, 'wait': true, 'unload': false, 'host_memory': false}"},
    {.last_more = ", 'refused': ['host_memory', 'unload']",
     .refused = "{'copy': false, 'wait': false, 'unload': true, 'host_memory': true}"},
    /* What was freed behind work of its stream is kept for that stream. */
    {.steps = {MADE("alloc size=1K align=4K stream=3", 4096, 1024),
               STEP("use block=0 delay=5ns stream=3", 0, ""), DID("free block=0")},
     .hosts = STREAMED,
     SHOWS_KEPT,
     .blocks = FACT(0, buffer, kept, 4096, 1024, 512, 0, 0, 0, 5)},
    {.steps = {MADE("alloc size=1K stream=3", 0, 1024),
               STEP("use block=0 delay=5ns stream=3", 0, ""), DID("free block=0")},
     .hosts = STREAMED,
     .last = "alloc size=1M stream=3"},
    /* Streams span hosts, unless each host has a time of its own. */
    {.steps = {MADE("alloc size=1K stream=3", 0, 1024),
               MADE("alloc size=1K stream=3 host=1", 0, 1024),
               STEP("use block=1 delay=5ns stream=3 host=1", 0, ""), DID("free block=0")},
     .head = "hosts 2\n",
     .hosts = STREAMED "," STREAMED,
     SHOWS_KEPT,
     .blocks = FACT(0, buffer, kept, 0, 1024, 512, 0, 0, 0, 5)},
    {.steps = {MADE("alloc size=1K stream=3", 0, 1024),
               MADE("alloc size=1K stream=3 host=1", 0, 1024),
               STEP("use block=1 delay=5ns stream=3 host=1", 0, ""), DID("free block=0")},
     .head = OWN_TIME,
     .hosts = STREAMED "," STREAMED},
    /* An execution that the target has no program for is on no stream. */
    {.steps = {MADE("alloc size=1K", 0, 1024),
               {"execute program=none delay=never", "skipped", "0", ""},
               DID("free block=0")},
     .hosts = STREAMED,
     .last = "alloc size=1M stream=1"},
    /* A target that orders nothing by streams frees it as ever. */
    {.steps = {MADE("alloc size=1K stream=3", 0, 1024),
               STEP("free_after block=0 delay=5ns stream=3", 0, "")},
     .last = "alloc size=1M stream=3",
     .blocks = FACT(0, buffer, dying, 0, 1024, 512, 0, 0, 0, 5)},
    /* Work of another stream, also by its event, keeps the block itself; then its own work. */
    {.steps = {MADE("alloc size=1K", 0, 1024), STEP("use block=0 delay=5ns stream=2", 0, ""),
               STEP("free_after block=0 delay=9ns", 0, ""), MADE("alloc size=512", 1024, 512),
               STEP("use block=3 delay=7ns stream=2", 0, ""),
               STEP("free_after block=3 delay=9ns", 0, ""),
               MADE("alloc size=512 stream=4", 1536, 512), DID("free_after block=6 event=1")},
     .hosts = STREAMED,
     .last = "output size=1M stream=1",
     .last_more = ", 'done': [4]",
     SHOWS_KEPT,
     .blocks = FACT(0, buffer, dying, 0, 1024, 512, 0, 0, 5,
                    9) "," FACT(3, buffer, kept, 1024, 512, 512, 0, 0, 0,
                                9) "," FACT(6, buffer, dying, 1536, 512, 512, 0, 0, 0, 5)},
    /* So does a hold; what is done keeps nothing, and what moves later is another's. */
    {.steps = {MADE("alloc size=1K stream=1", 0, 1024), DID("hold block=0"),
               STEP("free_after block=0 delay=7ns stream=1", 0, ""),
               MADE("output size=512 stream=1", 1024, 512),
               STEP("free_after block=3 delay=never stream=1", 0, ""), DID("release block=0"),
               MADE("alloc size=1K stream=1", 2048, 1024),
               STEP("free_after block=6 delay=1ns stream=1", 0, ""),
               STEP("complete event=7", 1, ", 'done': [7]"),
               STEP("report", 1, ", 'moved': [[0, 8192]]")},
     .hosts = STREAMED,
     SHOWS_KEPT,
     .blocks = FACT(0, buffer, kept, 0, 1024, 512, 0, 0, 0, 7) "," FACT(3, output, kept, 1024, 512,
                                                                        512, 0, 0, 0, -1)},
    /* A donated block stays on its stream. */
    {.steps = {MADE("alloc size=1K stream=1", 0, 1024), MADE("donate block=0 size=512", 0, 1024),
               STEP("free_after block=1 delay=7ns stream=1", 0, "")},
     .hosts = STREAMED,
     SHOWS_KEPT,
     .blocks = FACT(1, output, kept, 0, 1024, 512, 0, 0, 0, 7)},
    /* What a block takes is not shown; of what several left, that which is free last. */
    {.steps = {MADE("alloc size=4K stream=1", 0, 4096),
               STEP("free_after block=0 delay=9ns stream=1", 0, ""),
               MADE("alloc size=1K stream=1", 1024, 1024),
               MADE("alloc size=1K stream=1", 3072, 1024),
               STEP("free_after block=3 delay=20ns stream=1", 0, ""),
               MADE("alloc size=512 stream=1", 2048, 512),
               STEP("free_after block=5 delay=9ns stream=1", 0, "")},
     .hosts = STREAMED,
     SHOWS_KEPT,
     .blocks = FACT(0, buffer, kept, 0, 1024, 512, 0, 0, 0, 9) "," FACT(
         2, buffer, live, 1024, 1024, 512, 0, 0, 0,
         0) "," FACT(0, buffer, kept, 2048, 1024, 512, 0, 0, 0,
                     9) "," FACT(3, buffer, kept, 3072, 1024, 512, 0, 0, 0, 20)},
    /* A block takes what it was answered, and leaves as much. */
    {.steps = {MADE("alloc size=512 stream=1", 0, 4096),
               STEP("free_after block=0 delay=9ns stream=1", 0, ""),
               MADE("alloc size=512 stream=1", 1024, 2048)},
     .hosts = STREAMED,
     SHOWS_KEPT,
     .blocks = FACT(0, buffer, kept, 0, 1024, 512, 0, 0, 0,
                    9) "," FACT(2, buffer, live, 1024, 512, 512, 0, 0, 0,
                                0) "," FACT(0, buffer, kept, 3072, 1024, 512, 0, 0, 0, 9)},
    /* Late times of two pieces count twice. */
    {.steps = {MADE("alloc size=2K stream=1", 0, 2048),
               STEP("free_after block=0 delay=5000000000000000000ns stream=1", 0, ""),
               MADE("alloc size=512 stream=1", 512, 512), MADE("alloc size=512", 4096, 512),
               STEP("use block=3 delay=6000000000000000000ns", 0, "")},
     .hosts = STREAMED,
     SHOWS_KEPT,
     .blocks = FACT(0, buffer, kept, 0, 512, 512, 0, 0, 0, 4611686018427387905) "," FACT(
         2, buffer, live, 512, 512, 512, 0, 0, 0,
         0) "," FACT(0, buffer, kept, 1024, 1024, 512, 0, 0, 0,
                     4611686018427387905) "," FACT(3, buffer, live, 4096, 512, 512, 0, 0,
                                                   4611686018427387907, 0)},
    /* Where no block has an address, what is kept stands there unless it would have to prove. */
    {.steps = {MADE("alloc size=1K stream=1", 0, 1024),
               STEP("free_after block=0 delay=9ns stream=1", 0, ""),
               MADE("alloc size=512 stream=1", 0, 512)},
     .hosts = HIDDEN,
     .contract = PLACED_CONTRACT(hidden),
     .proof = "{'kind': 'sum', 'need': 66560, 'have': 65536}",
     .blocks = FACT(2, buffer, live, 0, 512, 512, 0, 0, 0, 0)},
    {.steps = {MADE("alloc size=1K stream=1", 0, 1024),
               STEP("free_after block=0 delay=9ns stream=1", 0, ""),
               MADE("alloc size=512 stream=1", 0, 512)},
     .hosts = HIDDEN,
     .contract = PLACED_CONTRACT(hidden),
     .claim = "premature",
     .last = "alloc size=512",
     .request = ASKED(buffer, 512, 512, 0, -1),
     .proof = "{'kind': 'plan', 'until': 0, 'address': -1, 'evict': [], 'moves': []}",
     .blocks = FACT(0, buffer, kept, 0, 1024, 512, 0, 0, 0, 9) "," FACT(2, buffer, live, 0, 512,
                                                                        512, 0, 0, 0, 0)},
    /* What was asked for while a recording was open is kept for it. */
    {.steps = {DID("record"), MADE("alloc size=1K", 0, 1024), DID("free block=1"),
               MADE("alloc size=512", 0, 512), DID("record_end")},
     .hosts = RECORDED,
     SHOWS_KEPT,
     .blocks = FACT(3, buffer, live, 0, 512, 512, 0, 0, 0, 0) "," FACT(1, buffer, kept, 512, 512,
                                                                       512, 0, 1, 0, 0)},
    {.steps = {DID("record"),
               MADE("alloc size=1K", 0, 1024),
               DID("free block=1"),
               {"record", "skipped", "0", ""}},
     .hosts = RECORDED},
    /* It ends as others do, and another recording does not have it. */
    {.steps = {DID("record"), MADE("alloc size=1K", 0, 1024), MADE("alloc size=1K", 1024, 1024),
               DID("record_end"), STEP("free_after block=1 delay=4ns", 0, ""), DID("free block=2"),
               DID("record")},
     .hosts = RECORDED,
     SHOWS_KEPT,
     .blocks = FACT(1, buffer, dying, 0, 1024, 512, 0, 0, 0, 4) "," FACT(2, buffer, kept, 1024,
                                                                         1024, 512, 0, 1, 0, 0)},
    /* Once the recording is dropped, nothing is kept for it, and what lives goes on. */
    {.steps = {DID("record"), MADE("alloc size=1K", 0, 1024), MADE("output size=1K", 1024, 1024),
               DID("free block=1"), DID("record_end"), DID("record_drop recording=0"),
               MADE("alloc size=512", 8192, 512), DID("free block=6")},
     .hosts = RECORDED,
     .blocks = FACT(2, output, live, 1024, 1024, 512, 0, 0, 0, 0)},
    /* Another host has recordings of its own. */
    {.steps = {DID("record host=1"), MADE("alloc size=1K", 0, 1024), DID("free block=1"),
               DID("record"), DID("record_end host=1")},
     .head = "hosts 2\n",
     .hosts = RECORDED "," RECORDED},
    /* With streams: a request needs both, and what is kept for a recording is free last. */
    {.steps = {DID("record"), MADE("alloc size=1K stream=1", 0, 1024),
               STEP("free_after block=1 delay=9ns stream=1", 0, ""), DID("record_end")},
     .hosts = BOTH,
     .last = "alloc size=1M stream=1",
     SHOWS_KEPT,
     .blocks = FACT(1, buffer, kept, 0, 1024, 512, 0, 1, 0, 9)},
    {.steps = {DID("record"), MADE("alloc size=1K stream=1", 0, 1024),
               STEP("free_after block=1 delay=9ns stream=1", 0, "")},
     .hosts = BOTH,
     .last = "alloc size=1M stream=2",
     SHOWS_KEPT,
     .blocks = FACT(1, buffer, kept, 0, 1024, 512, 0, 0, 0, 9)},
    {.steps = {DID("record"), MADE("alloc size=1K stream=1", 0, 1024),
               STEP("free_after block=1 delay=9ns stream=1", 0, ""), DID("record_end"),
               DID("record_drop recording=0")},
     .hosts = BOTH,
     .last = "alloc size=1M stream=2",
     SHOWS_KEPT,
     .blocks = FACT(1, buffer, kept, 0, 1024, 512, 0, 0, 0, 9)},
    {.steps = {MADE("alloc size=2K stream=1", 0, 2048),
               STEP("free_after block=0 delay=9ns stream=1", 0, ""), DID("record"),
               MADE("alloc size=1K stream=1", 0, 1024), DID("free block=3"), DID("record_end")},
     .hosts = BOTH,
     .last = "alloc size=1M stream=2",
     SHOWS_KEPT,
     .blocks = FACT(3, buffer, kept, 0, 1024, 512, 0, 1, 0, 9) "," FACT(0, buffer, kept, 1024, 1024,
                                                                        512, 0, 0, 0, 9)},
    /* A free comes behind what its stream has to do, even if nothing is said of the block. */
    {.steps = {MADE("alloc size=1K stream=1", 0, 1024), MADE("alloc size=1K stream=1", 1024, 1024),
               STEP("use block=1 delay=9ns stream=1", 0, ""), DID("free block=0")},
     .hosts = STREAMED,
     .last = "alloc size=1M stream=2",
     SHOWS_KEPT,
     .blocks = FACT(0, buffer, kept, 0, 1024, 512, 0, 0, 0, 9) "," FACT(1, buffer, live, 1024, 1024,
                                                                        512, 0, 0, 9, 0)},
};
enum { STORY_COUNT = sizeof stories / sizeof *stories };

static void expect_texts(enum certificate_result result, const char *part)
{
    static const char *const names[] = {"valid", "refuted", "unreadable"};
    const enum certificate_result answer = story_check(texts.list, texts.log, texts.document,
                                                       reason);
    ck_assert_msg(answer == result && strstr(reason, part) != NULL,
                  "expected %s (%s), got %s (%s) for\n%s\n%s\n%s", names[result], part,
                  names[answer], reason, texts.list, texts.log, texts.document);
}

TEST(facts_that_follow_are_valid, .to = STORY_COUNT)
{
    story_write(&stories[_i], &texts);
    expect_texts(CERTIFICATE_VALID, "; the state is that of the list and its observations");
    const enum certificate_result alone = story_check(texts.list, NULL, texts.document, reason);
    ck_assert_msg(alone == CERTIFICATE_VALID &&
                      strstr(reason, "; the op is that of the list") != NULL,
                  "%s", reason);
}

/* Replaces text[at, at + length) of the document by `by`. */
static void replace(size_t at, size_t length, const char *by)
{
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)at, texts.document, by,
             texts.document + at + length);
    memcpy(texts.document, changed, sizeof changed);
}

/* What else may stand in the place of a number, a flag or a kind; 0: it is none of these. */
static size_t find_other(const char *at, char other[32])
{
    static const char *const words[][2] = {{"true", "false"},
                                           {"false", "true"},
                                           {"\"buffer\"", "\"output\""},
                                           {"\"output\"", "\"buffer\""},
                                           {"\"live\"", "\"dying\""},
                                           {"\"dying\"", "\"live\""},
                                           {"\"kept\"", "\"dying\""}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strncmp(at, words[i][0], strlen(words[i][0])) == 0) {
            snprintf(other, 32, "%s", words[i][1]);
            return strlen(words[i][0]);
        }
    }
    const size_t digits = strspn(at, "-0123456789");
    const long long number = digits == 0 ? 0 : strtoll(at, NULL, 10);
    snprintf(other, 32, "%lld", number == -1 ? 0 : number + 512);
    return digits;
}

TEST(each_other_fact_is_refused, .to = STORY_COUNT)
{
    char other[32];
    size_t tried = 0;
    story_write(&stories[_i], &texts);
    const char *const facts = strstr(texts.document, "\"device\"");
    size_t at = (size_t)(facts - texts.document);
    for (; strncmp(texts.document + at, "\"proof\"", 7) != 0; at++) {
        const bool is_value = strncmp(texts.document + at - 2, ": ", 2) == 0;
        const size_t length = is_value ? find_other(texts.document + at, other) : 0;
        if (length > 0) {
            replace(at, length, other);
            ck_assert_msg(story_check(texts.list, texts.log, texts.document, reason) !=
                              CERTIFICATE_VALID,
                          "%s at %zu of\n%s", other, at, texts.document);
            story_write(&stories[_i], &texts);
            tried++;
        }
    }
    ck_assert_uint_ge(tried, 10);
}

/* --- one change of a good text, and what is said of it --- */

static const struct story usual = {
    .steps = {MADE("alloc size=1000 align=1K", 1024, 1024), DID("hold block=0"),
              STEP("use block=0 delay=5ms", 0, ""), MADE("load size=512 stack=0", 2048, 512),
              STEP("execute program=3 delay=1s", 7, ", 'address': 2048, 'size': 512"),
              MADE("output size=512", 4096, 512)},
    .blocks = FACT(0, buffer, live, 1024, 1024, 1024, 0, 1, 5000000,
                   0) "," FACT(3, program, live, 2048, 512, 512, 0, 0, 1000000007,
                               0) "," FACT(5, output, live, 4096, 512, 512, 0, 0, 0, 0)};

/* `old` of the text becomes `new`; ' stands for ". */
struct edit {
    const char *old, *new, *reason;
};

static void edit_text(char *text, const struct edit *edit)
{
    char old[512];
    snprintf(old, sizeof old, "%s", edit->old);
    if (text != texts.list) {
        story_double_quotes(old);
    }
    char *at = strstr(text, old);
    ck_assert_msg(at != NULL, "%s is not in\n%s", old, text);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, edit->new,
             at + strlen(old));
    memcpy(text, changed, sizeof changed);
    if (text != texts.list) {
        story_double_quotes(text);
    }
}

static void expect_edit(char *text, const struct edit *edit, enum certificate_result result)
{
    story_write(&usual, &texts);
    expect_texts(CERTIFICATE_VALID, by_state);
    edit_text(text, edit);
    expect_texts(result, edit->reason);
}

static const struct edit other_documents[] = {
    {"'address': 1024", "'address': 0", "blocks[0]: address is 0, by list and observations 1024"},
    {"'size': 1024", "'size': 512", "blocks[0]: size is 512, by list and observations 1024"},
    {"'align': 1024", "'align': 512", "blocks[0]: align is 512, by list and observations 1024"},
    {"'holds': 1", "'holds': 0", "blocks[0]: holds is 0, by list and observations 1"},
    {"5000000", "5000001", "blocks[0]: used_until is 5000001, by list and observations 5000000"},
    {"1000000007", "-1", "blocks[1]: used_until is -1, by list and observations 1000000007"},
    {"'output', 'state'", "'buffer', 'state'",
     "blocks[2]: kind is buffer, by list and observations output"},
    {"'output', 'state': 'live'", "'output', 'state': 'dying'",
     "blocks[2]: state is dying, by list and observations live"},
    {"{'op': 5, ", "{'op': 4, ", "blocks[2]: op 4 has no block, by list and observations"},
    {"{'op': 5, ", "{'op': 9, ", "blocks: that of op 5 is missing, by list and observations"},
    {"'blocks': [", "'blocks': [" FACT(2, buffer, live, 0, 512, 512, 0, 0, 0, 0) ", ",
     "blocks[0]: op 2 has no block, by list and observations"},
    {"'blocks': [", "'blocks': [" FACT(9, buffer, live, 0, 512, 512, 0, 0, 0, 0) ", ",
     "blocks[0]: op 9 has no block, by list and observations"},
    {"'bytes': 1048576", "'bytes': 1048575",
     "request: bytes is 1048575, by list and observations 1048576"},
    {"'align': 512, 'stack': 0, 'program'", "'align': 1024, 'stack': 0, 'program'",
     "request: align is 1024, by list and observations 512"},
    {"'class': 'buffer'", "'class': 'program'",
     "request: class is program, by list and observations buffer"},
    {"'wait': false", "'wait': true", "refused: wait is true, by list and observations false"},
    {"'evicts': false", "'evicts': true",
     "contract: evicts is true, by list and observations false"},
    {"'defrag': 'none', 'drains'", "'defrag': 'slide', 'drains'",
     "contract: defrag is slide, by list and observations none"},
    {"'capacity': 65536", "'capacity': 66048",
     "device: capacity is 66048, by list and observations 65536"},
    {"'granule': 512", "'granule': 256", "device: granule is 256, by list and observations 512"},
    {"'op': 6, 'host'", "'op': 5, 'host'", "list: its SHA-256 is"},
    {"'op': 6, 'host'", "'op': 7, 'host'", "list: it has no op 7"},
    {"'op': 6, 'host'", "'op': 4294967295, 'host'", "list: it has no op 4294967295"},
    {"'host': 0", "'host': 1", "list: op 6 is of host 0, not 1"},
    {"'target': 'hbm'", "'target': 'hb'", "list: its target is another one"},
    {"{'defrag': 'none'}}", "{'defrag': 'slide'}}", "list: its target options are others"},
    {"{'defrag': 'none'}}", "{}}", "list: its target options are others"},
    {"{'defrag': 'none'}}", "{'defrag': 'nonesuch'}}", "list: its target options are others"},
    {"{'defrag': 'none'}}", "{'defrag': 'some'}}", "list: its target options are others"},
    {"{'defrag': 'none'}}", "{'defrag': 'none', 'x': 'y'}}", "list: its target options are others"},
    {"{'defrag': 'none'}}", "{'defrug': 'none'}}", "list: its target options are others"},
};

TEST(another_fact_is_named, .to = sizeof other_documents / sizeof *other_documents)
{
    expect_edit(texts.document, &other_documents[_i], CERTIFICATE_REFUTED);
}

static const struct edit wrong_documents[] = {
    {"'host': 0", "'host': 64", "list: sha256, op, host or options is wrong"},
    {"'host': 0", "'host': -1", "list: sha256, op, host or options is wrong"},
    {"'op': 6, 'host'", "'op': 4294967296, 'host'", "list: sha256, op, host or options is wrong"},
    {"'op': 6, 'host'", "'op': -1, 'host'", "list: sha256, op, host or options is wrong"},
    {"'sha256': '", "'sha256': '0", "list: sha256, op, host or options is wrong"},
    {"{'defrag': 'none'}}", "{'defrag': 1}}", "list: sha256, op, host or options is wrong"},
    {"{'defrag': 'none'}}", "['defrag']}", "list: sha256, op, host or options is wrong"},
    {"{'op': 5, ", "{'op': 4294967296, ",
     "blocks[2]: op, stack, holds, used_until or freed_at is out of range"},
    {"{'op': 5, ", "{'op': -1, ",
     "blocks[2]: op, stack, holds, used_until or freed_at is out of range"},
};

TEST(a_list_is_named_as_the_page_says, .to = sizeof wrong_documents / sizeof *wrong_documents)
{
    expect_edit(texts.document, &wrong_documents[_i], CERTIFICATE_REFUTED);
}

static const struct edit unreadable_documents[] = {
    {"'host': 0, ", "", "list: a member is missing"},
    {"'host': 0, ", "'host': '0', ", "list: a member is missing"},
    {"'host': 0, ", "'host': 0, 'guest': 0, ", "list: a member is missing"},
    {"'version': 1, 'list'", "'version': 1, 'lost'", "certificate: a member is missing"},
};

TEST(a_list_of_another_form_is_unreadable,
     .to = sizeof unreadable_documents / sizeof *unreadable_documents)
{
    expect_edit(texts.document, &unreadable_documents[_i], CERTIFICATE_UNREADABLE);
}

TEST(the_list_alone_names_the_device)
{
    static const struct edit edits[] = {
        {"'capacity': 65536", "'capacity': 66048", "device: capacity is 66048"},
        {"'granule': 512", "'granule': 256", "device: granule is 256"}};
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        story_write(&usual, &texts);
        edit_text(texts.document, &edits[i]);
        ck_assert_int_eq(story_check(texts.list, NULL, texts.document, reason),
                         CERTIFICATE_REFUTED);
        ck_assert_msg(strstr(reason, edits[i].reason) != NULL, "%s", reason);
    }
}

/* The document names the list as it is now. */
static void name_list(void)
{
    char hash[65];
    (void)story_check(texts.list, NULL, texts.document, reason);
    ck_assert_int_eq(sscanf(reason, "list: its SHA-256 is %64[0-9a-f],", hash), 1);
    memcpy(strstr(texts.document, "\"sha256\": \"") + 11, hash, 64);
}

TEST(the_granule_is_that_of_the_list_if_it_has_one)
{
    story_write(&usual, &texts);
    edit_text(texts.list, &(struct edit){"granule 512\n", "granule 1\n", NULL});
    name_list();
    ck_assert_int_eq(story_check(texts.list, NULL, texts.document, reason), CERTIFICATE_REFUTED);
    ck_assert_str_eq(reason, "device: granule is 512, by the list 1");
    edit_text(texts.list, &(struct edit){"granule 1\n", "", NULL});
    name_list();
    ck_assert_int_eq(story_check(texts.list, NULL, texts.document, reason), CERTIFICATE_VALID);
    ck_assert_str_eq(reason, by_list);
}

TEST(a_hash_has_lower_case_digits_alone)
{
    story_write(&usual, &texts);
    char *digit = strstr(texts.document, "\"sha256\": \"") + 11;
    *digit = 'A';
    expect_texts(CERTIFICATE_REFUTED, "list: sha256, op, host or options is wrong");
    *digit = '\'';
    expect_texts(CERTIFICATE_REFUTED, "list: sha256, op, host or options is wrong");
}

TEST(a_certificate_that_names_no_list_is_of_none)
{
    struct story story = usual;
    story.list = "null";
    story_write(&story, &texts);
    expect_texts(CERTIFICATE_REFUTED, "list: the certificate names none");
    ck_assert_int_eq(certificate_check(texts.document, strlen(texts.document), reason),
                     CERTIFICATE_VALID);
    ck_assert_str_eq(reason, "justified, spans");
    edit_text(texts.document, &(struct edit){"'version': 1, 'list': null", "'version': 1", NULL});
    expect_texts(CERTIFICATE_UNREADABLE, "certificate: a member is missing");
}

/* --- the list --- */

static const struct edit other_lists[] = {
    {"3: load size=512", "3: load size=1K", "list: its SHA-256 is"},
    {"seed 1", "seed 2", "list: its SHA-256 is"},
    {"6: alloc", "6: output", "list: its SHA-256 is"},
    {"capacity 64K", "capacity 65536", "list: its SHA-256 is"},
};

TEST(another_list_is_refused, .to = sizeof other_lists / sizeof *other_lists)
{
    expect_edit(texts.list, &other_lists[_i], CERTIFICATE_REFUTED);
}

static const struct edit same_lists[] = {
    {"# a remark\n", "", by_state},
    {"\n\n", "\n# a\n#\n\n\n", by_state},
    {"6: alloc size=1M\n", "6: alloc size=1M\n7: report\n# end\n8: free block=0\n", by_state},
};

TEST(what_the_hash_leaves_out_is_of_no_matter, .to = sizeof same_lists / sizeof *same_lists)
{
    expect_edit(texts.list, &same_lists[_i], CERTIFICATE_VALID);
}

/* The digest is that of sha256sum for the seven lines of the head and the op. */
TEST(the_hash_is_that_of_the_lines)
{
    const struct story story = {.last = "alloc size=1M"};
    story_write(&story, &texts);
    ck_assert_ptr_nonnull(
        strstr(texts.document, "05369a3ee612bee30ff7bff60b0043a1374450862f2cdbdf423522a24df85770"));
    expect_texts(CERTIFICATE_VALID, by_state);
}

static const struct edit broken_lists[] = {
    {"hbmstress-ops 1", "hbmstress-ops 2", "list.ops:1: the first line is not 'hbmstress-ops 1'"},
    {"capacity 64K\n", "", "list.ops:9: the head has no line capacity"},
    {"capacity 64K", "capacity 0", "list.ops:2: the value of capacity is wrong"},
    {"capacity 64K", "capacity 2P", "list.ops:2: the value of capacity is wrong"},
    {"capacity 64K", "capacity 064K", "list.ops:2: the value of capacity is wrong"},
    {"capacity 64K", "capacity 64k", "list.ops:2: the value of capacity is wrong"},
    {"capacity 64K", "capacity K", "list.ops:2: the value of capacity is wrong"},
    {"capacity 64K", "capacity 99999999999999999999", "list.ops:2: the value of capacity is wrong"},
    {"capacity 64K", "capacity 18014398509481984K", "list.ops:2: the value of capacity is wrong"},
    {"capacity 64K", "capacity\t64K", "list.ops:2: a control character"},
    {"capacity 64K", "capacity  64K", "list.ops:2: the value of capacity is wrong"},
    {"granule 512", "granule 500", "list.ops:3: the value of granule is wrong"},
    {"granule 512", "granule 0", "list.ops:3: the value of granule is wrong"},
    {"granule 512", "granule x", "list.ops:3: the value of granule is wrong"},
    {"granule 512", "chip ", "list.ops:3: the value of chip is wrong"},
    {"granule 512", "tag 1", "list.ops:3: the value of tag is wrong"},
    {"granule 512", "tag x \"a\"", "list.ops:3: the value of tag is wrong"},
    {"granule 512", "rounding classes=x", "list.ops:3: the value of rounding is wrong"},
    {"granule 512", "rounding classes=0", "list.ops:3: the value of rounding is wrong"},
    {"granule 512", "rounding classes", "list.ops:3: the value of rounding is wrong"},
    {"granule 512", "rounding granule overhead=x", "list.ops:3: the value of rounding is wrong"},
    {"granule 512", "rounding granule overhead=0", "list.ops:3: the value of rounding is wrong"},
    {"granule 512", "rounding classes=4 smallest=1 smallest=1",
     "list.ops:3: the value of rounding is wrong"},
    {"granule 512", "seed 1\x7f", "list.ops:3: a control character"},
    {"granule 512", "tag 1 a\"", "list.ops:3: the value of tag is wrong"},
    {"granule 512", "tag 1 \"a\"\ntag 1 \"b\"", "list.ops:4: the value of tag is wrong"},
    {"granule 512", "tag 1 \"a", "list.ops:3: the value of tag is wrong"},
    {"granule 512", "rounding class=4", "list.ops:3: the value of rounding is wrong"},
    {"granule 512", "rounding classes=4 smallest=0", "list.ops:3: the value of rounding is wrong"},
    {"granule 512", "granule 128K", "list.ops:3: the value of granule is wrong"},
    {"granule 512", "granule 512\ngranule 512", "list.ops:4: granule is given twice"},
    {"granule 512", "rounding classes=3", "list.ops:3: the value of rounding is wrong"},
    {"granule 512", "rounding classes=128", "list.ops:3: the value of rounding is wrong"},
    {"granule 512", "rounding any overhead=1", "list.ops:3: the value of rounding is wrong"},
    {"granule 512", "rounding granule smallest=1", "list.ops:3: the value of rounding is wrong"},
    {"granule 512", "rounding granule overhead=1 overhead=1",
     "list.ops:3: the value of rounding is wrong"},
    {"granule 512", "rounding granule overhead=2P", "list.ops:3: the value of rounding is wrong"},
    {"granule 512", "rounding granule ", "list.ops:3: the value of rounding is wrong"},
    {"granule 512", "granite 512", "list.ops:3: this is neither an op nor a line of the head"},
    {"granule 512", "check_races no", "list.ops:3: the value of check_races is wrong"},
    {"granule 512", "clocks shared", "list.ops:3: the value of clocks is wrong"},
    {"granule 512", "clock", "list.ops:3: the value of clock is wrong"},
    {"granule 512", "shares", "list.ops:3: the value of shares is wrong"},
    {"granule 512", "group", "list.ops:3: the value of group is wrong"},
    {"granule 512", "collective_bound 0s", "list.ops:3: the value of collective_bound is wrong"},
    {"granule 512", "collective_bound 5", "list.ops:3: the value of collective_bound is wrong"},
    {"granule 512", "reported requested=1-2", "list.ops:3: the value of reported is wrong"},
    {"granule 512", "reported requested=2-1 free=3-4",
     "list.ops:3: the value of reported is wrong"},
    {"granule 512", "reported requested=1-2 free=3-4 image=0",
     "list.ops:3: the value of reported is wrong"},
    {"granule 512", "reported requested=1-2 free=3-4611686018427387905",
     "list.ops:3: the value of reported is wrong"},
    {"granule 512", "tag 256 \"a\"", "list.ops:3: the value of tag is wrong"},
    {"granule 512", "tag 1 \"", "list.ops:3: the value of tag is wrong"},
    {"hosts 1", "hosts 0", "list.ops:4: the value of hosts is wrong"},
    {"hosts 1", "hosts 65", "list.ops:4: the value of hosts is wrong"},
    {"hosts 1", "hosts -1", "list.ops:4: the value of hosts is wrong"},
    {"target hbm", "target ", "list.ops:5: the value of target is wrong"},
    {"option defrag=none", "option defrag", "list.ops:6: the value of option is wrong"},
    {"option defrag=none", "option defrag=", "list.ops:6: the value of option is wrong"},
    {"option defrag=none", "option =none", "list.ops:6: the value of option is wrong"},
    {"seed 1", "option defrag=none", "list.ops:7: the value of option is wrong"},
    {"seed 1", "seed 0x1", "list.ops:7: the value of seed is wrong"},
    {"0: alloc", "1: alloc", "list.ops:10: the number of the op is not 0"},
    {"0: alloc", "0 alloc", "list.ops:10: the number of the op is not 0"},
    {"1: hold", "00: hold", "list.ops:11: the number of the op is not 1"},
    {"1: hold", "18446744073709551617: hold", "list.ops:11: the number of the op is not 1"},
    {"1: hold", "hold", "list.ops:11: this is not an op"},
    {"1: hold", "1: holds", "list.ops:11: unknown op 'holds'"},
    {"1: hold", "1: holdholdholdholdholdholdholdholdholdholdhold",
     "list.ops:11: unknown op 'holdholdholdholdholdholdholdholdholdhold'"},
    {"1: hold", "1 hold", "list.ops:11: the number of the op is not 1"},
    {"1: hold", "1:: hold", "list.ops:11: the number of the op is not 1"},
    {"1: hold block=0", "1:", "list.ops:11: unknown op ''"},
    {"hold block=0", "hold", "list.ops:11: the op has no block="},
    {"hold block=0", "hold block=0 block=0", "list.ops:11: block= is given twice"},
    {"hold block=0", "hold block=1", "list.ops:11: the value of block= is wrong"},
    {"hold block=0", "hold block=4294967296", "list.ops:11: the value of block= is wrong"},
    {"hold block=0", "hold block=%0", "list.ops:11: the value of block= is wrong"},
    {"hold block=0", "hold block", "list.ops:11: the value of block= is wrong"},
    {"hold block=0", "hold block=", "list.ops:11: the value of block= is wrong"},
    {"hold block=0", "hold block=0 size=1", "list.ops:11: the op has no field 'size'"},
    {"hold block=0", "hold block=0 ", "list.ops:11: the op has no field ''"},
    {"hold block=0", "hold block=0 lane=64", "list.ops:11: the value of lane= is wrong"},
    {"hold block=0", "hold block=0 host=1", "list.ops:11: the value of host= is wrong"},
    {"hold block=0", "hold block=0 spmd=65536", "list.ops:11: the value of spmd= is wrong"},
    {"size=1000", "size=%half", "list.ops:10: the value of size= is wrong"},
    {"size=1000", "size=16E", "list.ops:10: the value of size= is wrong"},
    {"align=1K", "align=3", "list.ops:10: the value of align= is wrong"},
    {"align=1K", "align=x", "list.ops:10: the value of align= is wrong"},
    {"align=1K", "align=1", "list.ops:10: the value of align= is wrong"},
    {"align=1K", "align=4M", "list.ops:10: the value of align= is wrong"},
    {"align=1K", "retry=no", "list.ops:10: the value of retry= is wrong"},
    {"align=1K", "tag=256", "list.ops:10: the value of tag= is wrong"},
    {"2: use block=0 delay=5ms", "2: use block=0",
     "list.ops:12: the op has not one of event=, delay= and to="},
    {"2: use block=0 delay=5ms", "2: use block=0 delay=5ms event=1",
     "list.ops:12: the op has not one of event=, delay= and to="},
    {"2: use block=0 delay=5ms", "2: use block=0 event=none",
     "list.ops:12: the value of event= is wrong"},
    {"delay=5ms", "delay=5", "list.ops:12: the value of delay= is wrong"},
    {"delay=5ms", "delay=ms", "list.ops:12: the value of delay= is wrong"},
    {"delay=5ms", "delay=5124096h", "list.ops:12: the value of delay= is wrong"},
    {"delay=5ms", "delay=18446744073709551615ns", "list.ops:12: the value of delay= is wrong"},
    {"delay=5ms", "delay=5ms stream=0", "list.ops:12: the value of stream= is wrong"},
    {"delay=5ms", "delay=5ms stream=64", "list.ops:12: the value of stream= is wrong"},
    {"delay=5ms", "delay=5ms stream=1 spmd=2",
     "list.ops:12: the op has stream= next to event= or spmd="},
    {"2: use block=0 delay=5ms", "2: use block=0 event=1 stream=1",
     "list.ops:12: the op has stream= next to event= or spmd="},
    {"2: use block=0 delay=5ms", "2: record_drop recording=2",
     "list.ops:12: the value of recording= is wrong"},
    {"2: use block=0 delay=5ms", "2: fault call=none nth=1",
     "list.ops:12: the value of call= is wrong"},
    {"2: use block=0 delay=5ms", "2: fault call=copy nth=4294967296",
     "list.ops:12: the value of nth= is wrong"},
    {"2: use block=0 delay=5ms", "2: switch op=1 point=0 to=64",
     "list.ops:12: the value of to= is wrong"},
    {"2: use block=0 delay=5ms", "2: switch op=1 point=0",
     "list.ops:12: the op has not one of event=, delay= and to="},
    {"6: alloc size=1M\n", "6: alloc size=1M", "list.ops:16: the line is cut off"},
    {"6: alloc size=1M\n", "6: alloc size=1M\nseed 1\n", "list.ops:17: this is not an op"},
};

TEST(a_list_of_another_form_is_named_with_its_line,
     .to = sizeof broken_lists / sizeof *broken_lists)
{
    expect_edit(texts.list, &broken_lists[_i], CERTIFICATE_UNREADABLE);
}

/* --- what is in a list, by the tables of the page --- */

static bool can_read_list(const char *head, const char *op)
{
    char text[512];
    const int length = snprintf(text, sizeof text,
                                "hbmstress-ops 1\ntarget t\n%s\n0: alloc size=1\n"
                                "1: use block=0 delay=1s\n2: %s\n",
                                head, op);
    ck_assert_int_lt(length, (int)sizeof text);
    const struct certificate_text list = {"list", text, (size_t)length};
    struct certificate_history *history = certificate_history_read(&list, NULL, reason);
    certificate_history_destroy(history);
    return history != NULL;
}

static const char usual_head[] = "capacity 1M\nhosts 64";

static const char *const heads_at_the_edge[] = {
    "capacity 1P\nhosts 1",
    "capacity 1\nhosts 64",
    "capacity 1M\nhosts 1\ngranule 64K",
    "capacity 1M\nhosts 1\ngranule 1",
    "capacity 1M\nhosts 1\nrounding classes=64 overhead=1P smallest=1P",
    "capacity 1M\nhosts 1\nrounding classes=1 smallest=1",
    "capacity 1M\nhosts 1\ntag 255 \"\"\ntag 0 \"a\"",
    "capacity 1M\nhosts 1\nseed 18446744073709551615\nregret_max 0\nsearch_nodes 0",
    "capacity 1M\nhosts 1\nreported requested=0-4611686018427387904 free=7-7 image=1",
    "capacity 1M\nhosts 1\nscenario s\nchip c\ncoordinate 0,0,0,0\ncheck_races yes",
};

TEST(a_head_may_have_the_least_and_the_most,
     .to = sizeof heads_at_the_edge / sizeof *heads_at_the_edge)
{
    ck_assert_msg(can_read_list(heads_at_the_edge[_i], "report"), "%s", reason);
}

/* All that a field may be at its edges, and one more. */
static const struct {
    const char *op;
    bool is_good;
} ops_at_the_edge[] = {
    {"alloc size=18446744073709551615 align=2M tag=255", true},
    {"alloc size=0 align=2 tag=0 unpadded=0", true},
    {"report lane=63 host=63 spmd=65535", true},
    {"report host=64", false},
    {"execute program=0 delay=0ns collective=65535", true},
    {"execute program=0 delay=0ns collective=65536", false},
    {"switch point=4294967295 to=63", true},
    {"switch point=4294967296 to=63", false},
    {"switch point=0 event=1 op=1", true},
    {"switch point=0 event=2", false},
    {"fault call=clock_jump nth=4294967295 delay=never", true},
    {"fault call=clock nth=0", false},
    {"advance delay=18446744073709551614ns", true},
    {"free block=1", true},
    {"free block=2", false},
};

TEST(an_op_may_have_the_least_and_the_most, .to = sizeof ops_at_the_edge / sizeof *ops_at_the_edge)
{
    ck_assert_msg(can_read_list(usual_head, ops_at_the_edge[_i].op) == ops_at_the_edge[_i].is_good,
                  "%s: %s", ops_at_the_edge[_i].op, reason);
}

static const struct {
    const char *name, *required, *either, *optional;
} kinds[] = {
    {"alloc", "size", "", "align tag unpadded retry stream"},
    {"output", "size", "", "align tag unpadded retry stream"},
    {"load", "size stack", "", "tag retry"},
    {"execute", "program delay", "", "collective retry"},
    {"donate", "block size", "", "tag unpadded"},
    {"free", "block", "", ""},
    {"hold", "block", "", ""},
    {"release", "block", "", ""},
    {"touch", "block", "", ""},
    {"use", "block", "delay event", "stream"},
    {"free_after", "block", "delay event", "stream"},
    {"unload", "program", "", ""},
    {"complete", "event", "", ""},
    {"advance", "delay", "", ""},
    {"retire", "size address", "", ""},
    {"fault", "call nth", "", "delay for_ever"},
    {"defragment", "", "", ""},
    {"report", "", "", ""},
    {"switch", "point", "to event", "op"},
    {"sleep", "", "", ""},
    {"wake", "", "", ""},
    {"record", "", "", ""},
    {"record_end", "", "", ""},
    {"record_drop", "recording", "", ""},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

static const char *const field_values[][2] = {
    {"block", "0"},   {"program", "0"}, {"event", "1"},       {"delay", "1s"},     {"size", "1"},
    {"address", "0"}, {"stack", "0"},   {"unpadded", "1"},    {"align", "2"},      {"tag", "1"},
    {"retry", "yes"}, {"call", "copy"}, {"nth", "1"},         {"for_ever", "yes"}, {"op", "1"},
    {"point", "1"},   {"to", "1"},      {"collective", "1"},  {"lane", "1"},       {"host", "1"},
    {"spmd", "1"},    {"stream", "63"}, {"recording", "none"}};
enum { FIELD_COUNT = sizeof field_values / sizeof *field_values };

static bool has_word(const char *words, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL; at++) {
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* The op with what it must have, with (or without) one field more (or less). */
static bool can_read_with(size_t kind, size_t changed_field, bool is_there)
{
    char op[256];
    const char *either = kinds[kind].either;
    size_t used = (size_t)snprintf(op, sizeof op, "%s", kinds[kind].name);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const char *name = field_values[i][0];
        const bool is_usual = has_word(kinds[kind].required, name) ||
                              (*either != '\0' && strncmp(either, name, strlen(name)) == 0);
        if (i == changed_field ? is_there : is_usual) {
            used += (size_t)snprintf(op + used, sizeof op - used, " %s=%s", name,
                                     field_values[i][1]);
        }
    }
    return can_read_list(usual_head, op);
}

TEST(an_op_has_the_fields_of_its_kind, .to = KIND_COUNT)
{
    const size_t kind = (size_t)_i;
    ck_assert_msg(can_read_with(kind, FIELD_COUNT, false), "%s: %s", kinds[kind].name, reason);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const char *name = field_values[i][0], *either = kinds[kind].either;
        const bool is_first = *either != '\0' && strncmp(either, name, strlen(name)) == 0;
        const bool is_required = has_word(kinds[kind].required, name) || is_first;
        const bool may_be = is_required || has_word(kinds[kind].optional, name) ||
                            has_word("lane host spmd", name);
        ck_assert_msg(can_read_with(kind, i, true) == may_be, "%s with %s", kinds[kind].name, name);
        ck_assert_msg(can_read_with(kind, i, false) == !is_required, "%s without %s",
                      kinds[kind].name, name);
    }
}

TEST(a_list_may_be_any_bytes)
{
    struct certificate_text list = {"a\tb", "", 0};
    ck_assert_ptr_null(certificate_history_read(&list, NULL, reason));
    ck_assert_str_eq(reason, "a?b:0: the first line is not 'hbmstress-ops 1'");
    list.name = "a\x7f~";
    ck_assert_ptr_null(certificate_history_read(&list, NULL, reason));
    ck_assert_str_eq(reason, "a?~:0: the first line is not 'hbmstress-ops 1'");
    list = (struct certificate_text){"list", "hbmstress-ops 1\nseed 1\0\n", 25};
    ck_assert_ptr_null(certificate_history_read(&list, NULL, reason));
    ck_assert_str_eq(reason, "list:2: a control character");
    list = (struct certificate_text){"list", "hbmstress-ops 1\n\xff\n", 18};
    ck_assert_ptr_null(certificate_history_read(&list, NULL, reason));
    ck_assert_str_eq(reason, "list:2: this is neither an op nor a line of the head");
}

TEST(a_line_may_have_a_mebibyte)
{
    enum { LINE_BYTES = 1 << 20 };
    static char text[LINE_BYTES + 64];
    const int head = snprintf(text, sizeof text, "hbmstress-ops 1\n");
    memset(text + head, '9', LINE_BYTES);
    text[head + LINE_BYTES] = '\n';
    const struct certificate_text list = {"list", text, (size_t)head + LINE_BYTES + 1};
    ck_assert_ptr_null(certificate_history_read(&list, NULL, reason));
    ck_assert_str_eq(reason, "list:2: the head has no line capacity");
}

/* --- the log --- */

static const struct edit broken_logs[] = {
    {"{'format'", "['format'", "log.jsonl:1: column 10: this is not JSON"},
    {"hbmstress-observations", "hbmstress-certificate",
     "log.jsonl:1: the format or version is wrong"},
    {"'version': 1", "'version': 2", "log.jsonl:1: the format or version is wrong"},
    {"'version': 1, ", "", "log.jsonl:1: the head: a member is missing"},
    {"'version': 1, ", "'version': 1, 'version': 1, ", "log.jsonl:1: column 60: this is not JSON"},
    {"'version': 1, ", "'version': 1, 'more': 1, ", "log.jsonl:1: the head: a member is missing"},
    {"'target': 'hbm'", "'target': 'null'",
     "log.jsonl:1: target, options, capacity or hosts are not those of the list"},
    {"'options': {'defrag': 'none'}", "'options': {}",
     "log.jsonl:1: target, options, capacity or hosts are not those of the list"},
    {"65536", "-65536", "log.jsonl:1: target, options, capacity or hosts are not those"},
    {"65536", "66048", "log.jsonl:1: target, options, capacity or hosts are not those"},
    {"'hosts': [", "'hosts': [{},", "log.jsonl:1: target, options, capacity or hosts are not"},
    {"'granule': 512", "'granule': 500",
     "log.jsonl:1: hosts: granule, rounding or defrag is wrong"},
    {"'granule': 512", "'granule': 0", "log.jsonl:1: hosts: granule, rounding or defrag is wrong"},
    {"'granule': 512", "'granule': 2147483648",
     "log.jsonl:1: hosts: granule, rounding or defrag is wrong"},
    {"'rounding': 'granule'", "'rounding': 'classes=0'",
     "log.jsonl:1: hosts: granule, rounding or defrag is wrong"},
    {"'defrag': 'none', 'drains'", "'defrag': 'nothing', 'drains'",
     "log.jsonl:1: hosts: granule, rounding or defrag is wrong"},
    {"'drains': false", "'drains': 0", "log.jsonl:1: hosts: a member is missing"},
    {"{'op': 0,", "{'op': 1,", "log.jsonl:2: the op is 1, not 0"},
    {"{'op': 1, 'answer': 'ok', 'now': '0'}\n", "", "log.jsonl:3: the op is 2, not 1"},
    {"{'op': 1,", "{", "log.jsonl:3: the op: a member is missing"},
    {"{'op': 1,", "\n{'op': 1,", "log.jsonl:3: column 0: this is not JSON"},
    {"{'op': 1, 'answer': 'ok'", "{'op': 1, 'answer': 'good'",
     "log.jsonl:3: answer or now is wrong"},
    {"{'op': 1, 'answer': 'ok', 'now': '0'", "{'op': 1, 'answer': 'ok', 'now': '-1'",
     "log.jsonl:3: answer or now is wrong"},
    {"{'op': 1, 'answer': 'ok', 'now': '0'", "{'op': 1, 'answer': 'ok', 'now': 'never'",
     "log.jsonl:3: answer or now is wrong"},
    {"{'op': 1, 'answer': 'ok', 'now': '0'", "{'op': 1, 'answer': 'ok', 'now': 0",
     "log.jsonl:3: the op: a member is missing"},
    {"{'op': 1, 'answer': 'ok', 'now': '0'", "{'op': 1, 'answer': 'ok', 'now': '0', 'size': 1",
     "log.jsonl:3: this answer has no address and no size"},
    {"{'op': 1, 'answer': 'ok', 'now': '0'",
     "{'op': 1, 'answer': 'ok', 'now': '0', 'address': -1, 'size': -1",
     "log.jsonl:3: this answer has no address and no size"},
    {"{'op': 1, 'answer': 'ok', 'now': '0'", "{'op': 1, 'answer': 'ok', 'now': '0', 'address': 0",
     "log.jsonl:3: this answer has no address and no size"},
    {", 'address': 1024, 'size': 1024", "", "log.jsonl:2: address or size is missing or negative"},
    {", 'address': 1024, 'size': 1024", ", 'address': 1024",
     "log.jsonl:2: address or size is missing or negative"},
    {"'address': 1024", "'address': -1", "log.jsonl:2: address or size is missing or negative"},
    {"'size': 1024", "'size': -1", "log.jsonl:2: address or size is missing or negative"},
    {"'address': 1024, ", "", "log.jsonl:2: address or size is missing or negative"},
    {"'now': '7', 'address': 2048, 'size': 512", "'now': '7'",
     "log.jsonl:6: address or size is missing or negative"},
    {"'address': 1024", "'address': 1e3", "log.jsonl:2: the op: a member is missing"},
    {"'address': 1024", "'address': 9223372036854775808", "log.jsonl:2: column"},
    {"'now': '7'", "'now': '7', 'moved': 0", "log.jsonl:6: a member is not an array"},
    {"'now': '7'", "'now': '7', 'evicted': {}", "log.jsonl:6: a member is not an array"},
    {"'now': '7'", "'now': '7', 'done': null", "log.jsonl:6: a member is not an array"},
    {"'now': '7'", "'now': '7', 'due': '1'", "log.jsonl:6: a member is not an array"},
    {"'now': '7'", "'now': '7', 'refused': 1", "log.jsonl:6: a member is not an array"},
    {"'now': '7'", "'now': '7', 'moved': [0]", "log.jsonl:6: moved: a member is missing"},
    {"'now': '7'", "'now': '7', 'moved': [[0, 1, 2]]", "log.jsonl:6: moved: a member is missing"},
    {"'now': '7'", "'now': '7', 'moved': [[0, -2]]", "log.jsonl:6: moved: the address is negative"},
    {"'now': '7'", "'now': '7', 'moved': [[1, 0]]", "log.jsonl:6: moved: op 1 has nothing"},
    {"'now': '7'", "'now': '7', 'moved': [[5, 0]]", "log.jsonl:6: moved: op 5 has nothing"},
    {"'now': '7'", "'now': '7', 'moved': [[-1, 0]]", "log.jsonl:6: moved: op -1 has nothing"},
    {"'now': '7'", "'now': '7', 'evicted': [0]", "log.jsonl:6: evicted: op 0 has nothing"},
    {"'now': '7'", "'now': '7', 'evicted': ['3']", "log.jsonl:6: evicted: a member is missing"},
    {"'now': '7'", "'now': '7', 'done': [0]", "log.jsonl:6: done: op 0 has nothing"},
    {"'now': '7'", "'now': '7', 'done': [99999999999]", "log.jsonl:6: done: op 99999999999 has"},
    {"'now': '7'", "'now': '7', 'done': [[2]]", "log.jsonl:6: done: a member is missing"},
    {"'now': '7'", "'now': '7', 'due': [[2, 8]]", "log.jsonl:6: due: a member is missing"},
    {"'now': '7'", "'now': '7', 'due': [[2, 'ever']]", "log.jsonl:6: due: this is not a time"},
    {"'now': '7'", "'now': '7', 'due': [[2, '18446744073709551615']]",
     "log.jsonl:6: due: this is not a time"},
    {"'now': '7'", "'now': '7', 'refused': ['all']",
     "log.jsonl:6: refused: not one of copy|wait|unload|host_memory"},
    {"'now': '7'", "'now': '7', 'refused': [1]", "log.jsonl:6: refused: a member is missing"},
    {"'now': '7'", "'now': '7', 'more': 1", "log.jsonl:6: the op: a member is missing"},
    {"'now': '9'}\n", "'now': '9'}\n{'op': 7, 'answer': 'ok', 'now': '9'}\n",
     "log.jsonl:9: the list has no op 7"},
};

TEST(a_log_of_another_form_is_named_with_its_line, .to = sizeof broken_logs / sizeof *broken_logs)
{
    expect_edit(texts.log, &broken_logs[_i], CERTIFICATE_UNREADABLE);
}

static const struct edit other_logs[] = {
    {"{'op': 1, 'answer': 'ok'", "{'op': 1, 'answer': 'skipped'",
     "blocks[0]: holds is 1, by list and observations 0"},
    {"'no_memory'", "'failed'", "observations: op 6 is not answered no_memory"},
    {"{'op': 6, 'answer': 'no_memory', 'now': '9'}\n", "", "observations: they end before op 6"},
    {"{'op': 6, 'answer': 'no_memory', 'now': '9'}\n",
     "{'op': 6, 'answer': 'no_memory', 'now': '9'}", "observations: they end before op 6"},
    {"{'op': 6, 'answer': 'no_memory', 'now': '9'}\n", "{'op': 6, 'ans",
     "observations: they end before op 6"},
    {"'evicts': false", "'evicts': true",
     "contract: evicts is false, by list and observations true"},
    {"'granule': 512", "'granule': 1073741824",
     "device: granule is 512, by list and observations 1073741824"},
    {"'granule': 512", "'granule': 1024", "device: granule is 512, by list and observations 1024"},
    {"'now': '9'", "'now': '9', 'refused': ['copy']",
     "refused: copy is false, by list and observations true"},
    {"'now': '9'", "'now': '9', 'done': [4]",
     "blocks[1]: used_until is 1000000007, by list and observations 0"},
    {"'now': '9'", "'now': '9', 'evicted': [3]",
     "blocks[1]: op 3 has no block, by list and observations"},
    {"{'op': 0, 'answer': 'ok', 'now': '0', 'address': 1024, 'size': 1024}",
     "{'op': 0, 'answer': 'no_memory', 'now': '0'}",
     "observations: op 1 is answered ok, but its block is not there"},
    {"'now': '7', 'address': 2048, 'size': 512",
     "'now': '7', 'evicted': [3], 'address': 2048, 'size': 0",
     "blocks[1]: size is 512, by list and observations 0"},
};

TEST(another_log_is_refused, .to = sizeof other_logs / sizeof *other_logs)
{
    expect_edit(texts.log, &other_logs[_i], CERTIFICATE_REFUTED);
}

TEST(a_log_may_end_anywhere_behind_the_op)
{
    story_write(&usual, &texts);
    const size_t length = strlen(texts.log);
    snprintf(texts.log + length, sizeof texts.log - length, "{\"op\": 7, \"ans");
    expect_texts(CERTIFICATE_VALID, by_state);
}

/* Ops that are answered ok though what they name is not there: no target's answer, but a log that
 * is of no run. */
static const struct {
    const char *steps[4];
    const char *reason;
} contradictions[] = {
    {{"free block=0", "free block=0"}, "op 2 is answered ok, but its block is not there"},
    {{"hold block=none"}, "op 1 is answered ok, but its block is not there"},
    {{"release block=none"}, "op 1 is answered ok, but its block is not there"},
    {{"use block=none delay=1s"}, "op 1 is answered ok, but its block is not there"},
    {{"free_after block=none delay=1s"}, "op 1 is answered ok, but its block is not there"},
    {{"free_after block=0 event=0"}, "op 1 is answered ok, but op 0 has no event"},
    {{"donate block=none size=1"}, "op 1 is answered ok, but its block is not there"},
    {{"execute program=none delay=1s"}, "op 1 is answered ok, but its block is not there"},
    {{"execute program=0 delay=1s"}, "op 1 is answered ok, but its block is not there"},
    {{"release block=0"}, "op 1 releases no hold"},
    {{"unload program=0"}, "op 1 is answered ok, but its block is not there"},
    {{"hold block=0", "free block=0", "hold block=0"},
     "op 3 is answered ok, but its block is not there"},
    {{"load size=512 stack=0", "hold block=1"}, "op 2 is answered ok, but its block is not there"},
    {{"use block=0 event=0"}, "op 1 is answered ok, but op 0 has no event"},
    {{"retire size=512 address=8K", "free block=1"},
     "op 2 is answered ok, but its block is not there"},
    {{"donate block=0 size=512", "free block=0"},
     "op 2 is answered ok, but its block is not there"},
    {{"record", "record"}, "op 2 is answered ok, but has no such recording"},
    {{"record_end"}, "op 1 is answered ok, but has no such recording"},
    {{"record", "record_end", "record_end"}, "op 3 is answered ok, but has no such recording"},
    {{"record", "record_drop recording=1"}, "op 2 is answered ok, but has no such recording"},
    {{"record", "record_end", "record_drop recording=1", "record_drop recording=1"},
     "op 4 is answered ok, but has no such recording"},
    {{"record_drop recording=0"}, "op 1 is answered ok, but has no such recording"},
    {{"record_drop recording=none"}, "op 1 is answered ok, but has no such recording"},
};
enum { CONTRADICTION_COUNT = sizeof contradictions / sizeof *contradictions };

TEST(an_op_that_cannot_be_answered_ok_is_named, .to = CONTRADICTION_COUNT)
{
    struct story story = {.steps = {MADE("alloc size=512", 0, 512)}, .hosts = RECORDED};
    for (size_t i = 0; i < 4 && contradictions[_i].steps[i] != NULL; i++) {
        const char *op = contradictions[_i].steps[i];
        char op_kind[16];
        ck_assert_int_eq(sscanf(op, "%15s", op_kind), 1);
        story.steps[i + 1] = (struct step){
            op, "ok", "0",
            strstr("donate execute load", op_kind) != NULL ? ", 'address': 0, 'size': 512" : ""};
    }
    story_write(&story, &texts);
    expect_texts(CERTIFICATE_REFUTED, contradictions[_i].reason);
}

TEST(an_event_of_another_time_is_not_awaited)
{
    struct story story = {
        .steps = {MADE("alloc size=512", 0, 512), MADE("alloc size=512 host=1", 0, 512),
                  STEP("use block=0 delay=1s", 0, ""), DID("use block=1 event=2 host=1")},
        .head = OWN_TIME,
        .hosts = TWO_HOSTS,
        .blocks = FACT(0, buffer, live, 0, 512, 512, 0, 0, 1000000000, 0)};
    story_write(&story, &texts);
    expect_texts(CERTIFICATE_VALID, by_state);
    story.host = 1;
    story.last = "alloc size=1M host=1";
    story.blocks = FACT(1, buffer, live, 0, 512, 512, 0, 0, 1000000000, 0);
    story_write(&story, &texts);
    expect_texts(CERTIFICATE_REFUTED, "op 3 is answered ok, but op 2 has no event");
    story.head = "hosts 2\n";
    story_write(&story, &texts);
    expect_texts(CERTIFICATE_VALID, by_state);
}

TEST(without_recordings_none_begins)
{
    story_write(&(const struct story){.steps = {DID("record")}, .hosts = STREAMED}, &texts);
    expect_texts(CERTIFICATE_REFUTED, "op 0 is answered ok, but has no such recording");
}

static const struct story kept_story = {
    .steps = {MADE("alloc size=2K stream=1", 0, 2048),
              STEP("free_after block=0 delay=9ns stream=1", 0, ""),
              MADE("alloc size=512 stream=1", 512, 512)},
    .hosts = STREAMED,
    SHOWS_KEPT,
    .blocks = FACT(0, buffer, kept, 0, 512, 512, 0, 0, 0,
                   9) "," FACT(2, buffer, live, 512, 512, 512, 0, 0, 0,
                               0) "," FACT(0, buffer, kept, 1024, 1024, 512, 0, 0, 0, 9)};

static const struct edit other_pieces[] = {
    {FACT(0, buffer, kept, 0, 512, 512, 0, 0, 0, 9) ",", "", "address is 1024"},
    {"," FACT(0, buffer, kept, 1024, 1024, 512, 0, 0, 0, 9), "",
     "blocks: that of op 0 is missing, by list and observations"},
    {FACT(0, buffer, kept, 1024, 1024, 512, 0, 0, 0, 9),
     FACT(0, buffer, kept, 1024, 512, 512, 0, 0, 0, 9), "blocks[2]: size is 512"},
    {FACT(0, buffer, kept, 1024, 1024, 512, 0, 0, 0, 9),
     FACT(0, buffer, kept, 1024, 1024, 512, 0, 0, 0, 8), "blocks[2]: freed_at is 8"},
    {FACT(0, buffer, kept, 1024, 1024, 512, 0, 0, 0, 9),
     FACT(0, buffer, kept, 1024, 1024, 512, 0, 1, 0, 9), "blocks[2]: holds is 1"},
    {FACT(0, buffer, kept, 1024, 1024, 512, 0, 0, 0, 9),
     FACT(0, buffer, live, 1024, 1024, 512, 0, 0, 0, 0), "blocks[2]: state is live"},
    {FACT(0, buffer, kept, 1024, 1024, 512, 0, 0, 0, 9),
     FACT(0, buffer, kept, 512, 1536, 512, 0, 0, 0, 9), "blocks[2]: it is not aligned, overlaps"},
    {FACT(0, buffer, kept, 1024, 1024, 512, 0, 0, 0, 9),
     FACT(0, buffer, kept, 1024, 512, 512, 0, 0, 0, 9) "," FACT(0, buffer, kept, 1536, 512, 512, 0,
                                                                0, 0, 9),
     "blocks[2]: size is 512"},
};

TEST(another_piece_of_what_is_kept_is_refused, .to = sizeof other_pieces / sizeof *other_pieces)
{
    story_write(&kept_story, &texts);
    expect_texts(CERTIFICATE_VALID, by_state);
    edit_text(texts.document, &other_pieces[_i]);
    expect_texts(CERTIFICATE_REFUTED, other_pieces[_i].reason);
}

TEST(what_is_no_request_is_not_out_of_memory)
{
    story_write(&(struct story){.last = "report"}, &texts);
    expect_texts(CERTIFICATE_REFUTED, "list: op 0 cannot be out of memory");
    story_write(&(struct story){.steps = {MADE("alloc size=512", 0, 512)},
                                .last = "execute program=0 delay=0s"},
                &texts);
    expect_texts(CERTIFICATE_REFUTED, "list: op 1 cannot be out of memory");
    story_write(&(struct story){.last = "execute program=none delay=0s"}, &texts);
    expect_texts(CERTIFICATE_REFUTED, "list: op 0 cannot be out of memory");
}

TEST(a_program_that_was_unloaded_is_not_executed)
{
    struct story story = {.steps = {MADE("load size=1M stack=0", 0, 1024), DID("unload program=0")},
                          .last = "execute program=0 delay=0s",
                          .request = ASKED(program, 1048576, 512, 0, -1)};
    story_write(&story, &texts);
    expect_texts(CERTIFICATE_REFUTED, "observations: the program of op 2 is not there");
}

/* Though an execution of it has not ended: an evicted program that is unloaded is gone. */
TEST(a_program_that_was_evicted_and_unloaded_is_not_executed)
{
    struct story story = {.steps = {MADE("load size=1M stack=0", 0, 1024),
                                    MADE("execute program=0 delay=1s", 0, 1024),
                                    STEP("report", 0, ", 'evicted': [0]"), DID("unload program=0")},
                          .last = "execute program=0 delay=0s",
                          .request = ASKED(program, 1048576, 512, 0, -1)};
    story_write(&story, &texts);
    expect_texts(CERTIFICATE_REFUTED, "observations: the program of op 4 is not there");
    story.steps[3] = story.steps[2];
    story.steps[2] = (struct step)DID("unload program=0");
    story_write(&story, &texts);
    expect_texts(CERTIFICATE_REFUTED, "observations: the program of op 4 is not there");
}

TEST(a_program_that_was_not_loaded_is_not_executed)
{
    struct story story = {.steps = {{"load size=1M stack=0", "no_memory", "0", ""}},
                          .last = "execute program=0 delay=0s",
                          .request = ASKED(program, 1048576, 512, 0, -1)};
    story_write(&story, &texts);
    expect_texts(CERTIFICATE_REFUTED, "observations: the program of op 1 is not there");
}

/* A load of nothing needs as many bytes as an execution, but it has no program yet. */
TEST(a_load_has_no_program)
{
    struct story story = {.steps = {MADE("load size=1K stack=128K", 0, 1024)},
                          .last = "load size=0 stack=128K",
                          .request = ASKED(program, 0, 512, 131072, 0),
                          .proof = "{'kind': 'stack'}",
                          .blocks = FACT(0, program, live, 0, 1024, 512, 131072, 0, 0, 0)};
    story_write(&story, &texts);
    expect_texts(CERTIFICATE_REFUTED, "request: program is not the one of list and observations");
}

TEST(an_execution_is_of_its_own_program)
{
    struct story story = {.steps = {MADE("load size=1K stack=128K", 0, 1024),
                                    MADE("load size=1K stack=128K", 1024, 1024)},
                          .last = "execute program=1 delay=1s",
                          .request = ASKED(program, 0, 512, 131072, 1),
                          .proof = "{'kind': 'stack'}",
                          .blocks = FACT(0, program, live, 0, 1024, 512, 131072, 0, 0, 0) "," FACT(
                              1, program, live, 1024, 1024, 512, 131072, 0, 0, 0)};
    story_write(&story, &texts);
    expect_texts(CERTIFICATE_VALID, "justified, stack");
    story.request = ASKED(program, 0, 512, 131072, 0);
    story_write(&story, &texts);
    expect_texts(CERTIFICATE_REFUTED, "request: program is not the one of list and observations");
}

TEST(a_head_has_sixteen_options_and_need_not_have_a_granule)
{
    char options[512] = "";
    for (int i = 1; i < 16; i++) {
        snprintf(options + strlen(options), sizeof options - strlen(options), "option key%d=1\n",
                 i);
    }
    story_write(&usual, &texts);
    edit_text(texts.list, &(struct edit){"granule 512\n", options, NULL});
    expect_texts(CERTIFICATE_UNREADABLE, "log.jsonl:1: target, options");
    ck_assert_int_eq(story_check(texts.list, NULL, texts.document, reason), CERTIFICATE_REFUTED);
    ck_assert_msg(strstr(reason, "list: its SHA-256 is ") == reason, "%s", reason);
    edit_text(texts.list, &(struct edit){"seed 1\n", "option more=1\n", NULL});
    expect_texts(CERTIFICATE_UNREADABLE, "list.ops:21: the value of option is wrong");
}

TEST(changes_are_of_the_host_of_their_line)
{
    story_write(&(struct story){.steps = {MADE("alloc size=512", 0, 512),
                                          STEP("report host=1", 0, ", 'moved': [[0, 512]]")},
                                .head = "hosts 2\n",
                                .hosts = TWO_HOSTS},
                &texts);
    expect_texts(CERTIFICATE_UNREADABLE, "log.jsonl:3: moved: op 0 has nothing of the kind");
}

/* --- the list alone --- */

TEST(the_list_alone_does_not_bind_bytes_that_a_rounding_makes)
{
    story_write(&(struct story){.head = CLASSES,
                                .hosts = CLASSED,
                                .last = "alloc size=1048577",
                                .request = ASKED(buffer, 1310719, 512, 0, -1)},
                &texts);
    ck_assert_int_eq(story_check(texts.list, NULL, texts.document, reason), CERTIFICATE_VALID);
    expect_texts(CERTIFICATE_REFUTED,
                 "request: bytes is 1310719, by list and observations 1310720");
}

TEST(the_list_alone_binds_the_request)
{
    static const struct edit edits[] = {
        {"'bytes': 1048576", "'bytes': 1048575", "request: bytes is 1048575, by the list 1048576"},
        {"'capacity': 65536", "'capacity': 66048", "device: capacity is 66048, by the list 65536"},
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        story_write(&usual, &texts);
        ck_assert_int_eq(story_check(texts.list, NULL, texts.document, reason), CERTIFICATE_VALID);
        ck_assert_str_eq(reason, by_list);
        edit_text(texts.document, &edits[i]);
        ck_assert_int_eq(story_check(texts.list, NULL, texts.document, reason),
                         CERTIFICATE_REFUTED);
        ck_assert_str_eq(reason, edits[i].reason);
    }
}

/* --- lanes --- */

static void write_lanes(void)
{
    story_write(
        &(struct story){.steps = {MADE("alloc size=512", 0, 512), DID("hold block=0 lane=1")}},
        &texts);
    *(strchr(texts.log, '\n') + 1) = '\0';
}

TEST(with_lanes_only_the_op_is_compared)
{
    write_lanes();
    expect_texts(CERTIFICATE_VALID,
                 "justified, spans; the op is that of the list, whose lanes overlap");
    edit_text(texts.document, &(struct edit){"'bytes': 1048576", "'bytes': 1048575", NULL});
    expect_texts(CERTIFICATE_REFUTED, "request: bytes is 1048575");
    write_lanes();
    edit_text(texts.document, &(struct edit){"'drains': false", "'drains': true", NULL});
    expect_texts(CERTIFICATE_REFUTED, "contract: drains is true");
}

TEST(with_lanes_the_hash_is_of_all_lines_but_switches)
{
    write_lanes();
    char *end = texts.list + strlen(texts.list);
    snprintf(end, 64, "3: switch op=1 point=0 to=0 lane=1\n");
    expect_texts(CERTIFICATE_VALID, "whose lanes overlap");
    snprintf(end, 64, "3: report\n");
    expect_texts(CERTIFICATE_REFUTED, "list: its SHA-256 is");
}

TEST(a_switch_alone_makes_lanes)
{
    story_write(&usual, &texts);
    *(strchr(texts.log, '\n') + 1) = '\0';
    const size_t length = strlen(texts.list);
    snprintf(texts.list + length, 64, "7: switch op=1 point=0 to=0\n");
    expect_texts(CERTIFICATE_VALID, "whose lanes overlap");
}

TEST(with_lanes_the_log_has_no_lines_of_ops)
{
    write_lanes();
    const size_t length = strlen(texts.log);
    snprintf(texts.log + length, 64, "{\"op\": 0, \"answer\": \"ok\", \"now\": \"0\"}\n");
    expect_texts(CERTIFICATE_UNREADABLE,
                 "log.jsonl:2: the list has lanes, but the log has lines of ops");
}
