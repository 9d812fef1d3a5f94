"""The test bench, in four parts: metrics, tasks, readers and embedders.

`metrics` are pure functions of similarities. The readers `corpus` and `tables` make a
`plan.Benchmark` of a corpus or of a benchmark's files, which says what tasks it allows; `tasks`
plan each of them before anything is embedded. The embedders are `embedder`, ours, and `libraries`,
of others; `opening` finds one. `evaluate` embeds every sound and text once and measures; `report`
writes it out.
"""
