"""What all benchmarks measure with: turns in fresh processes, medians, aims, tables."""
