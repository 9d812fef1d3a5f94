"""The table of commands: what each is called, where it is, and its line of help."""

from __future__ import annotations

from typing import Final

GROUPS: Final[dict[str, str]] = {
    "night": "Rebuild a corpus every night and promote it if it passes.",
    "text": "Make texts from captions and tags, without audio: probes, negations, swaps.",
    "bench": "Frozen test sets: build them, score models on them, compare models on one page.",
    "llm": "Ask a language model about captions: answers are checked and paid for once.",
}
"""The line of help of each group of commands, by their first word."""
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "sources": (
        "pipelines.cli.make.sources:sources_command",
        "List the supported sound libraries and their settings.",
    ),
    "new": (
        "pipelines.cli.make.new:new_command",
        "Write a spec with every setting explained, or list the recipes.",
    ),
    "check": (
        "pipelines.cli.make.check:check_command",
        "Check that all is well: this machine, or the files of a library, a corpus or an export.",
    ),
    "ingest": (
        "pipelines.cli.make.ingest:ingest_command",
        "Check and measure every clip of a sound library.",
    ),
    "build": (
        "pipelines.cli.make.build:build_command",
        "Build a corpus from a spec, skipping what is already built.",
    ),
    "night run": (
        "pipelines.cli.night:run_command",
        "Run a night once: rebuild what changed, judge it, promote it if it passes.",
    ),
    "night schedule": (
        "pipelines.cli.night:schedule_command",
        "Run a corpus's night on a schedule, from this process, until Ctrl-C.",
    ),
    "night deploy": (
        "pipelines.cli.night:deploy_command",
        "Have a corpus's night run by the workers of a Prefect work pool.",
    ),
    "plan": (
        "pipelines.cli.make.plan:plan_command",
        "Plan a corpus: every scene and caption, before any audio is made.",
    ),
    "audit": (
        "pipelines.cli.look.audit:audit_command",
        "Prove a corpus's captions true and their negatives false.",
    ),
    "inspect": (
        "pipelines.cli.look.inspect:inspect_command",
        "Show what was built or planned: counts, durations, balance, samples.",
    ),
    "sql": ("pipelines.cli.look.console:sql_command", "Ask a corpus's manifests by SQL."),
    "diff": (
        "pipelines.cli.look.compare:diff_command",
        "Show what differs between two corpora or versions, and why.",
    ),
    "report": (
        "pipelines.cli.look.report:report_command",
        "Write one self-contained HTML file about a build or a training run.",
    ),
    "browse": (
        "pipelines.cli.look.browse:browse_command",
        "Browse and play a corpus on a local web page.",
    ),
    "versions": (
        "pipelines.cli.look.versions:versions_command",
        "List the versions of a corpus and what each still has on disk.",
    ),
    "promote": (
        "pipelines.cli.look.versions:promote_command",
        "Point `latest` to a finished version.",
    ),
    "rebuild": (
        "pipelines.cli.make.reproduce:rebuild_command",
        "Rebuild the lost shards of a finished version, byte for byte.",
    ),
    "gc": (
        "pipelines.cli.look.versions:gc_command",
        "Remove the shards of old versions; their manifests stay.",
    ),
    "text probe": (
        "pipelines.cli.texts.probe:probe_command",
        "Temporal text probes of captions: reduce, reorder, or cut test sets.",
    ),
    "text negate": (
        "pipelines.cli.texts.tags:negate_command",
        "Negate the tags in captions: insert an absent one, deny half of them, or all.",
    ),
    "text tag-captions": (
        "pipelines.cli.texts.tags:tag_captions_command",
        "Make captions of tags, and of balanced views of them.",
    ),
    "text textswap": (
        "pipelines.cli.texts.tags:textswap_command",
        "Build a dictionary of tags that contradict each other.",
    ),
    "llm run": (
        "pipelines.cli.texts.llm:llm_run_command",
        "Ask a language model about every item of a file: once, within a budget, and resumable.",
    ),
    "llm stats": (
        "pipelines.cli.texts.llm:llm_stats_command",
        "Say what a store holds and what it cost, by task and model.",
    ),
    "llm tasks": (
        "pipelines.cli.texts.llm:llm_tasks_command",
        "List the tasks that ship with the project, and the fields they need.",
    ),
    "train": ("train.cli.train:train_command", "Train a CLAP model on a corpus."),
    "eval": (
        "train.cli.eval:eval_command",
        "Test a model on a corpus or on a benchmark's own files.",
    ),
    "compare": (
        "train.cli.compare:compare_command",
        "Compare trained models by the tests that `segue eval` left in their folders.",
    ),
    "export": (
        "pipelines.cli.make.export:export_command",
        "Export a corpus or a trained model to other formats.",
    ),
    "bench list": (
        "pipelines.cli.make.bench:bench_list_command",
        "List the frozen test sets and what each asks.",
    ),
    "bench build": (
        "pipelines.cli.make.bench:bench_build_command",
        "Build a frozen test set, byte for byte as published.",
    ),
    "bench run": (
        "experiments.cli.bench:bench_run_command",
        "Score models on the test sets that are built; one page compares them.",
    ),
    "reproduce": (
        "experiments.cli.reproduce:experiments_command",
        "Reproduce a paper's experiment and judge its claims.",
    ),
    "demo": (
        "experiments.cli.demo:demo_command",
        "Build a corpus, train two models on it, and test them on unheard recordings.",
    ),
}
"""The function of each command and its line of help, by the words after `segue`."""
_SERVER: Final = "with PREFECT_API_URL, the address that `segue night schedule` prints"
MOVED: Final[dict[str, str]] = {
    "doctor": "`segue check`",
    "verify": "`segue check CORPUS`",
    "repair": "`segue rebuild CORPUS`",
    "inspect --sql": "`segue sql CORPUS QUERY`",
    "inspect --tables": "`segue sql CORPUS`",
    "inspect --diff": "`segue diff A B`",
    "inspect --verify": "`segue check CORPUS`",
    "versions --promote": "`segue promote CORPUS VERSION`",
    "versions --override-gates": "`segue promote CORPUS VERSION --override-gates`",
    "night list": f"`prefect deployment ls`, {_SERVER}",
    "night last": f"`prefect flow-run ls --flow-name nightly`, {_SERVER}",
    "night trigger": f"`prefect deployment run nightly/CORPUS`, {_SERVER}",
    "night pause": f"`prefect deployment schedule pause nightly/CORPUS ID`, {_SERVER}",
    "night resume": f"`prefect deployment schedule resume nightly/CORPUS ID`, {_SERVER}",
}
"""Words that somebody might know or guess, and what does it."""
