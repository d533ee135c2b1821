/* Every exporter, EXPORTER(name): in the order in which `convert --help` and messages name them. */
/* clang-format off */
EXPORTER(csv)
EXPORTER(rmm)
EXPORTER(torch_snapshot)
EXPORTER(memory_viz)
EXPORTER(perfetto)
EXPORTER(svg)
EXPORTER(pprof)
EXPORTER(run_ops)
