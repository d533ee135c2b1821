/* Every experiment: one row each, in the order in which they are made and listed.
 *
 *     EXPERIMENT(name, needs, claim, question, bounds)
 *
 * `needs` is 0 or bits of enum experiment_need; `claim` is what the target is held to besides its
 * contract, to learn whether it keeps it, where that makes a difference.  `question` is what it
 * asks; `bounds` what it tried, because an experiment is finite: both are printed.  experiment_NAME
 * makes it. */
/* clang-format off */
EXPERIMENT(capacities, EXPERIMENT_FINDS_LIMITS, CLAIM_NONE,
           "with which capacities does it open?",
           "the powers of two from one granule to 1T")
EXPERIMENT(largest_request, EXPERIMENT_FINDS_LIMITS, CLAIM_NONE,
           "how large a request does an empty device grant?",
           "the capacity, then a search to the byte below what is refused")
EXPERIMENT(largest_alignment, EXPERIMENT_FINDS_LIMITS, CLAIM_NONE,
           "which alignments does it grant when the device holds one block?",
           "each power of two up to 2M, for one granule")
EXPERIMENT(sizes, 0, CLAIM_NONE,
           "how large is the block of a request?",
           "8 granules and the powers of two, a byte less, a byte more and each 64th of a doubling that can begin a class")
EXPERIMENT(fill, EXPERIMENT_FULL, CLAIM_NONE,
           "can every byte of the device be had, and what then?",
           "one device of blocks of one size")
EXPERIMENT(holes, 0, CLAIM_NONE,
           "does a request of exactly a hole's size fit?",
           "holes of 1 to 8 blocks, all else held")
EXPERIMENT(small_holes, 0, CLAIM_NONE,
           "does a request of exactly a small hole's size fit?",
           "holes of 1 to 8 granules, all else held")
EXPERIMENT(two_holes, EXPERIMENT_ASKS_TWO | EXPERIMENT_FULL, CLAIM_NONE,
           "is the only hole that fits found next to a smaller one?",
           "holes of two blocks and of one, all else held, a request of two blocks, eight times")
EXPERIMENT(unaligned_hole, EXPERIMENT_ASKS_TWO | EXPERIMENT_FULL, CLAIM_NONE,
           "does a hole fit that does not begin at a multiple of its size?",
           "three blocks, the lowest at a multiple of two, all else held; the upper two freed, one request of two, then the lowest freed")
EXPERIMENT(coalesce, EXPERIMENT_FULL, CLAIM_NONE,
           "do free neighbours become one hole?",
           "one full device, every second block freed, then the others")
EXPERIMENT(grow, 0, CLAIM_NONE,
           "does it take more of the device when nothing fits?",
           "a block of one granule, then as many of one size as the device grants")
EXPERIMENT(trim, 0, CLAIM_NONE,
           "does it give back what is empty when only that makes room?",
           "one granule freed, then all of the device, with and without a block in it")
EXPERIMENT(drain, EXPERIMENT_QUEUES | EXPERIMENT_FULL, CLAIM_QUEUED_FREES,
           "does it await a queued free before an out-of-memory?",
           "one queued free, one request of its size, twice")
EXPERIMENT(drain_several, EXPERIMENT_QUEUES | EXPERIMENT_ASKS_THREE | EXPERIMENT_FULL, CLAIM_QUEUED_FREES,
           "does it await every queued free that it needs?",
           "three neighbours with three events, one request of their size")
EXPERIMENT(dying_blocks, EXPERIMENT_QUEUES | EXPERIMENT_FULL, CLAIM_QUEUED_FREES,
           "does the memory of a queued free wait for its event?",
           "one event that no waiting completes, one request of its size, then its completion")
EXPERIMENT(other_holes, EXPERIMENT_QUEUES | EXPERIMENT_FULL, CLAIM_NONE,
           "is there a request that gets the memory of a queued free although holes are left?",
           "one event that no waiting completes, every second of the other blocks freed and asked for again")
EXPERIMENT(streams, EXPERIMENT_STREAMS | EXPERIMENT_FULL, CLAIM_STREAMS,
           "does memory freed behind work of a stream serve that stream at once, and others after it?",
           "one block of stream 1 freed behind work that no waiting completes, all else held, requests of its size on streams 2 and 1, then its completion")
EXPERIMENT(stream_uses, EXPERIMENT_STREAMS | EXPERIMENT_FULL, CLAIM_STREAMS,
           "does a block that another stream uses wait for that?",
           "one block of stream 1 freed and in use on stream 2, all else held, one request of its size on stream 1, then its completion")
EXPERIMENT(recordings, EXPERIMENT_RECORDS | EXPERIMENT_FULL, CLAIM_RECORDS,
           "does memory that a recording writes to stay with it until it is dropped?",
           "one block freed inside a recording and one after it, all else held, requests of its size inside, after its end and after its drop")
EXPERIMENT(slide, EXPERIMENT_ASKS_TWO | EXPERIMENT_FULL, CLAIM_NONE,
           "does it move a block to join two holes?",
           "one block between two holes of its size, all else held, twice")
EXPERIMENT(repack, EXPERIMENT_ASKS_TWO | EXPERIMENT_FULL, CLAIM_NONE,
           "does it move a block past others?",
           "one block, two holes of its size apart, all else held")
EXPERIMENT(exchange, EXPERIMENT_HOLDS, CLAIM_NONE,
           "do blocks change places where only that makes room?",
           "two spans of ten with blocks of 4 4 and 3 3 3, one request of 3, all else held")
EXPERIMENT(aligned_repack, EXPERIMENT_HOLDS, CLAIM_NONE,
           "does it move blocks to make an aligned place?",
           "a span of 61, one block of 17 and one of 19 aligned to 32, one request of 15 aligned to 16")
EXPERIMENT(compact, EXPERIMENT_FULL, CLAIM_NONE,
           "does it move as many blocks as it needs?",
           "every second block freed, none held, one request of half of the device")
EXPERIMENT(held_blocks, EXPERIMENT_HOLDS | EXPERIMENT_ASKS_TWO | EXPERIMENT_FULL, CLAIM_NONE,
           "does a held block stay where it is?",
           "every second block freed, all others held, one request of two blocks")
EXPERIMENT(used_blocks, EXPERIMENT_USES | EXPERIMENT_ASKS_TWO | EXPERIMENT_FULL, CLAIM_NONE,
           "does a block in use stay where it is?",
           "every second block freed, all others in use, one request of two blocks")
EXPERIMENT(evict, EXPERIMENT_PROGRAMS, CLAIM_NONE,
           "does a buffer evict an idle program?",
           "one idle program, all else held, one request of its size")
EXPERIMENT(evict_several, EXPERIMENT_PROGRAMS | EXPERIMENT_ASKS_THREE, CLAIM_NONE,
           "does a buffer evict every program that it needs?",
           "three idle programs, all else held, one request of their size")
EXPERIMENT(evict_for_program, EXPERIMENT_PROGRAMS, CLAIM_NONE,
           "does a program evict another one?",
           "one idle program, all else held, one load of its size")
EXPERIMENT(busy_program, EXPERIMENT_PROGRAMS, CLAIM_NONE,
           "does a busy program stay?",
           "one program that executes, all else held, one request of its size")
EXPERIMENT(order_drain_move, EXPERIMENT_QUEUES, CLAIM_NONE,
           "does it wait or move first, when either is enough?",
           "one device on which each of the two alone makes room")
EXPERIMENT(order_drain_evict, EXPERIMENT_QUEUES | EXPERIMENT_PROGRAMS, CLAIM_NONE,
           "does it wait or evict first, when either is enough?",
           "one device on which each of the two alone makes room")
EXPERIMENT(order_move_evict, EXPERIMENT_PROGRAMS, CLAIM_NONE,
           "does it move or evict first, when either is enough?",
           "one device on which each of the two alone makes room")
EXPERIMENT(error_texts, 0, CLAIM_MESSAGES,
           "which words does it find for a failure?",
           "requests that are too large, impossible, and a stack larger than the device")
EXPERIMENT(invalid_requests, EXPERIMENT_FULL, CLAIM_NONE,
           "does anything change when a request can never be right?",
           "sizes 0 and above 2^63 on a full device; every block is read after them")
EXPERIMENT(refused_copy, EXPERIMENT_ASKS_TWO | EXPERIMENT_FULL, CLAIM_NONE,
           "what survives when the device copies nothing?",
           "as slide, each copy refused; every block is read, then the request is repeated")
EXPERIMENT(refused_wait, EXPERIMENT_QUEUES | EXPERIMENT_FULL, CLAIM_NONE,
           "what survives when the device awaits nothing?",
           "as drain, each wait refused; every block is read, then the request is repeated")
EXPERIMENT(refused_unload, EXPERIMENT_PROGRAMS, CLAIM_NONE,
           "what survives when the device unloads nothing?",
           "as evict, each unload refused; every block is read, then the request is repeated")
EXPERIMENT(refused_host_memory, EXPERIMENT_FULL, CLAIM_NONE,
           "what survives without host memory?",
           "one call of each kind without host memory; every block is read after them")
EXPERIMENT(sleep, EXPERIMENT_SLEEPS, CLAIM_NONE,
           "does it give back all of the device asleep, and has all of its blocks awake?",
           "one device of blocks and a program, three sleeps, the first two with nothing in between")
EXPERIMENT(refused_sleep, EXPERIMENT_SLEEPS, CLAIM_NONE,
           "what survives a sleep or a wake that the device refuses?",
           "as sleep, the host memory or the first copy of a sleep refused, then each of the first four calls of a wake")
EXPERIMENT(partial_copy, EXPERIMENT_ASKS_TWO | EXPERIMENT_FULL, CLAIM_RESUMES,
           "does it resume a copy that was done in part?",
           "as slide, the first copy done by half")
EXPERIMENT(partial_unload, EXPERIMENT_PROGRAMS, CLAIM_RESUMES,
           "does it resume an unload that was done in part?",
           "as evict, the first unload done by half")
EXPERIMENT(donation, 0, CLAIM_NONE,
           "does an output take over a block where it lies?",
           "one block, donated at its size and at half of it")
EXPERIMENT(many_blocks, EXPERIMENT_FINDS_LIMITS, CLAIM_ACCESSES,
           "does an op cost more the more blocks there are?",
           "the powers of two from 8 to 512 blocks that fill the device, every second one freed, and requests of two blocks")
EXPERIMENT(host_memory, 0, CLAIM_NONE,
           "does its own memory grow with the blocks, and shrink with them?",
           "one full device, emptied again")
