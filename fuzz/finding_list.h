/* Every check of fuzz/finding.h: one row each.
 *
 *     FINDING(enumerator, name)
 * clang-format off */
FINDING(JUDGES_DIFFER, judges_differ) /* the oracle says another verdict than trying everything */
FINDING(VERDICT_UNSTABLE,
        verdict_unstable) /* the oracle, asked for its proof, comes to another verdict */
FINDING(
    CONTRACT_LOSES_ROOM,
    contract_loses_room) /* who promises more finds no place where who promises less found one */
FINDING(INVALID_DIFFERS,
        invalid_differs) /* a request is invalid for one target and not for another */
FINDING(COUNTERS_DIFFER,
        counters_differ) /* the same answers at the same time leave other bytes in use */
FINDING(PROOF_REFUTED, proof_refuted) /* the checker refutes a certificate of ours */
FINDING(FALSE_CLAIM_ACCEPTED,
        false_claim_accepted) /* the checker accepts a certificate that claims what is not so */
FINDING(REASON_UNPRINTABLE,
        reason_unprintable) /* a reason is empty, or not one line of printable text */
FINDING(POSITION_OUTSIDE, position_outside) /* an error is said to be where there is no text */
FINDING(TEXT_CHANGED, text_changed)         /* ops, printed and read again, are not the same */
FINDING(OP_ILLEGAL,
        op_illegal) /* an importer made an op that names nothing, or nothing of its kind */
FINDING(MESSAGE_NOT_REPEATED,
        message_not_repeated) /* the ops made of an out-of-memory's message do not end in one */
FINDING(CALLS_CONTRADICT,
        calls_contradict) /* libhbm, called by its own interface, contradicts itself */
