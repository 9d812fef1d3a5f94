"""The test bench: metrics, the tasks that fill them, and the data that the tasks are planned over.

`metrics` are pure functions of similarities. `data` reads a corpus or a benchmark's files into a
`plan.Benchmark`, which says what tasks it allows; `tasks` plan each of them before anything is
embedded. `evaluate` embeds every sound and text once and measures; `report` writes it out.
"""
