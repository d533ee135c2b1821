/* The things that rules look at, for rules that are judged at more than one moment, one row each.
 * Includers define SIGHT(enumerator, mechanism) and undefine it afterwards.  The mechanism tells
 * findings of one rule apart and is printed, if the finding has no other. */
/* clang-format off */

/* what the call was answered: its result, its handle, its range */
SIGHT(ANSWER, "answer")
/* the range of the answer is that of `other` */
SIGHT(CLASH, "answer on another block")
/* the range of the answer meets memory that `other` left to its stream */
SIGHT(STREAM, "memory of another stream")
/* the same of memory that `other` left to its recording */
SIGHT(RECORDING, "memory of a recording")
/* the answer to a donation of the block */
SIGHT(DONATION, "donation")
/* the answer to an execution of the block, whose image was there */
SIGHT(IMAGE, "image")
/* the stack of a program that was loaded or executed */
SIGHT(STACK, "stack")
/* the block that the call needs may be in host memory alone */
SIGHT(ABSENT, "block in host memory")
/* the block that the call names is gone */
SIGHT(GONE, "block that was gone")
/* a copy or stage, `made`, that reads or writes where the block is */
SIGHT(COPY, "copy")
/* a copy or stage that is known to have moved the block to `address` */
SIGHT(MOVE, "move")
/* after the op the block is at `address` */
SIGHT(PLACE, "place after the op")
/* the same, and its lower neighbour is at `below_address` */
SIGHT(NEIGHBOUR, "order after the op")
/* the same, and the target says that it has size_bytes */
SIGHT(SIZE, "size after the op")
/* the same, and another block is there */
SIGHT(TAKEN, "place of another block")
/* after calls that overlapped the block, which was above `other`, is at its address */
SIGHT(PASSED, "order after the op")
/* where a block is that nothing was to move */
SIGHT(TOUCH, "place without a move")
/* after the op the block is in host memory alone */
SIGHT(STRANDED, "left in host memory")
/* it still is, though a range at `address` was free before and after the op */
SIGHT(STAYS, "stays in host memory")
/* a block that was there is at `address` again */
SIGHT(RETURN, "back from host memory")
/* the same, and `other` is there */
SIGHT(RETAKEN, "back onto another block")
/* the block has no address, and host memory does not hold it */
SIGHT(LOST, "lost")
/* the block has no address, and does not read as it was written */
SIGHT(READ, "read")
/* what the device noticed during the call */
SIGHT(DEVICE, "device calls")
/* what it noticed after it */
SIGHT(LATER, "outside of an op")
/* what the failed call, which needed none of it, had the device do: `made` */
SIGHT(EFFORT, "mitigation of a call that needs none")
/* a stage, taken out by `made`, that a failed call left in host memory */
SIGHT(STAGE, "stage that was left")
/* after a failed call the image of the program in the slot, which is evicted, is at `address` */
SIGHT(IMAGE_LEFT, "image that was left")
/* after a failed call the report has a row, `address` and size_bytes, of what it was asked for */
SIGHT(ROW_LEFT, "row that was left")
/* a mitigation, `made`, of a request, before it changed anything */
SIGHT(MITIGATION, "mitigation")
/* after an out-of-memory the idle program in the slot is still loaded */
SIGHT(KEPT, "program that was kept")
/* the region [address, address + size_bytes) that is given back, where the block in the slot lies;
 * SLOT_NONE: no region begins there */
SIGHT(REGION, "region that was given back")
/* everything that the target can be asked about */
SIGHT(REPORT, "report")
/* how much memory the target has, asleep or awake */
SIGHT(SLEEP, "memory of the device")
/* what is left in host memory after a wake */
SIGHT(WAKE, "host memory after a wake")
/* what ops cost so far, in `costs` */
SIGHT(COST, "cost")
/* the target is closed */
SIGHT(CLOSE, "close")
/* clang-format on */
