/* Every race of the target threaded: one row each, with the published defect that it copies.
 *
 *     RACE(name, constant, rule, summary)
 *
 * The target race_NAME breaks the rule in some interleaving; where calls of targets/threaded/ ask
 * for the constant, they are wrong on purpose. */
/* clang-format off */

/* After the wait the mutex is given up once more, and what was drained is the last that is (pytorch
 * issue 189504: what is tried after the wait is less than what was tried before it). */
RACE(drain_unlocked, RACE_DRAIN_UNLOCKED, "premature",
     "releases the mutex between a drain and the next search, and drains no more")

/* Openxla commit 8a838a9: a waiter that comes while the event is being set is not told of it. */
RACE(wakeup_lost, RACE_WAKEUP_LOST, "lost_wakeup",
     "releases the mutex between checking for a draining thread and waiting for it")

/* Pytorch issue 71616: what is done stands behind what is not. */
RACE(first_unfinished, RACE_FIRST_UNFINISHED, "premature",
     "while another thread drains, settles queued frees up to the first unfinished one, and awaits none")

/* RMM pull 2252: the map of events is keyed by a stream's handle, and the handle is used again. */
RACE(reused_id, RACE_REUSED_ID, "overlap",
     "settles a free again that was settled meanwhile, through its reused node: this frees the node's new block")

/* Tcmalloc commit 9c82c5e: one boolean pin for two users, and the second clears that of the first.
 */
RACE(pin_flag, RACE_PIN_FLAG, "held_moved",
     "the last release clears the pin after it released the mutex, and so clears the pin of a new hold")

/* VulkanMemoryAllocator issue 313: a block is in the table before it is complete. */
RACE(published_early, RACE_PUBLISHED_EARLY, "overlap",
     "adds a block to the list before it sets the size")

/* RMM pull 869: the limit is checked, and added to later. */
RACE(limit_checked, RACE_LIMIT_CHECKED, "overlap",
     "finds a hole, releases the mutex, then uses the hole that it saw")

/* Pytorch pull 134338, drm/xe merge request 230: what is evicted is in use again by then. */
RACE(evicts_busy, RACE_EVICTS_BUSY, "busy_evicted",
     "chooses a program to evict and releases the mutex: the program may execute when it is evicted")

/* VulkanMemoryAllocator issue 313: no lock from the plan of a move to its end. */
RACE(moves_pinned, RACE_MOVES_PINNED, "held_moved",
     "plans a move and releases the mutex: the block may be held when it moves")

/* Jemalloc commit eb1b08d: what is being evicted is merged with its neighbour. */
RACE(merge_evicted, RACE_MERGE_EVICTED, "overlap",
     "counts the memory of a program that is being evicted as part of the hole next to it")

/* Mesh commit 637430e: the same memory is given back twice. */
RACE(double_drain, RACE_DOUBLE_DRAIN, "counters",
     "subtracts a free twice from the counters when it was settled meanwhile")

/* Mesh commit e316a20: the free of an object is skipped because compaction has its bit. */
RACE(free_in_move, RACE_FREE_IN_MOVE, "counters",
     "loses the free of a block that is being moved")

/* Two mutexes, taken in two orders (the classic of Coffman, Elphick, Shoshani: System deadlocks,
 * 1971). */
RACE(lock_order, RACE_LOCK_ORDER, "deadlock",
     "a free locks two mutexes in the reverse order of a request")

/* One waiter is woken where each of them could go on. */
RACE(signal, RACE_SIGNAL, "lost_wakeup",
     "wakes only one of the threads that wait for the draining thread")

/* RMM pull 869 again, VulkanMemoryAllocator commit a420c3d: counters drift. */
RACE(counter_unlocked, RACE_COUNTER_UNLOCKED, "counters",
     "a free writes a counter that it computed before it released the mutex")

/* The unlocked first look of double-checked locking: no answer is wrong, but nothing orders the two
 * accesses. */
RACE(peek_unlocked, RACE_PEEK_UNLOCKED, "race",
     "a request reads the bytes in use without the mutex")

/* Jemalloc commit d758349, the other way round: it looks again and again at what does not change
 * any more. */
RACE(spins, RACE_SPINS, "livelock",
     "spins until another drain begins, which may never happen")

RACE(unlocks_twice, RACE_UNLOCKS_TWICE, "misuse",
     "while another thread drains, releases the mutex twice")
