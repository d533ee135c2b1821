/* Every cause: one line each, in the order in which equally sure diagnoses are reported. */
/* clang-format off */
CAUSE(leak)
CAUSE(copies)
CAUSE(queued_frees)
CAUSE(references)
CAUSE(program_reload)
CAUSE(fragmented)
CAUSE(host_skew)
CAUSE(spike)
CAUSE(padding)
CAUSE(growing_set)
CAUSE(still_growing)
CAUSE(exhausted)
