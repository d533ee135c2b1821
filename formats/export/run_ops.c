/* The list as it was run: references resolved, sizes that were named by what fits as bytes. */
#include "formats/export/export.h"
#include "harness/op/ops_file.h"

static bool end_ops(struct export *export, const struct export_final *final)
{
    if (final != NULL) {
        ops_file_print(export->stream, export->setup, final->ops, NULL);
    }
    return true;
}

const struct exporter exporter_run_ops = {
    .name = "run_ops",
    .summary = "the ops that were run, with every reference and size resolved",
    .end = end_ops,
};
