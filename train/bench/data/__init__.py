"""Where tests come from: corpora of ours, and the files of published benchmarks."""
