"""The table of commands: what each is called, and where it is."""

from __future__ import annotations

from typing import Final

GROUPS: Final[dict[str, str]] = {
    "night": "Rebuild a corpus every night, and promote it if it passes.",
    "text": "Make probes, negations, captions and swaps from text alone, without audio.",
    "bench": "Build frozen test sets, and score and compare models on them.",
    "llm": "Have a language model write captions, checked and paid for once.",
}
"""The line of help of each group of commands, by their first word."""
COMMANDS: Final[dict[str, str]] = {
    "sources": "pipelines.cli.make.sources:sources_command",
    "new": "pipelines.cli.make.new:new_command",
    "labels": "pipelines.cli.make.labels:labels_command",
    "check": "pipelines.cli.make.check:check_command",
    "ingest": "pipelines.cli.make.ingest:ingest_command",
    "build": "pipelines.cli.make.build:build_command",
    "night run": "pipelines.cli.night:run_command",
    "night schedule": "pipelines.cli.night:schedule_command",
    "night deploy": "pipelines.cli.night:deploy_command",
    "plan": "pipelines.cli.make.plan:plan_command",
    "audit": "pipelines.cli.look.audit:audit_command",
    "inspect": "pipelines.cli.look.inspect:inspect_command",
    "sql": "pipelines.cli.look.sql:sql_command",
    "diff": "pipelines.cli.look.diff:diff_command",
    "report": "pipelines.cli.look.report:report_command",
    "browse": "pipelines.cli.look.browse:browse_command",
    "versions": "pipelines.cli.look.versions:versions_command",
    "promote": "pipelines.cli.look.versions:promote_command",
    "rebuild": "pipelines.cli.make.rebuild:rebuild_command",
    "gc": "pipelines.cli.look.versions:gc_command",
    "text probe": "pipelines.cli.texts.probe:probe_command",
    "text negate": "pipelines.cli.texts.tags:negate_command",
    "text tag-captions": "pipelines.cli.texts.tags:tag_captions_command",
    "text textswap": "pipelines.cli.texts.tags:textswap_command",
    "llm run": "pipelines.cli.texts.llm:llm_run_command",
    "llm stats": "pipelines.cli.texts.llm:llm_stats_command",
    "llm tasks": "pipelines.cli.texts.llm:llm_tasks_command",
    "train": "experiments.cli.train:train_command",
    "eval": "train.cli.eval:eval_command",
    "compare": "train.cli.compare:compare_command",
    "export": "pipelines.cli.make.export:export_command",
    "bench list": "pipelines.cli.make.bench:bench_list_command",
    "bench build": "pipelines.cli.make.bench:bench_build_command",
    "bench run": "experiments.cli.bench:bench_run_command",
    "reproduce": "experiments.cli.reproduce:reproduce_command",
    "demo": "experiments.cli.demo:demo_command",
}
"""The function of each command, by the words after `segue`; its docstring is the command's help."""
_SERVER: Final = "with PREFECT_API_URL, the address that `segue night schedule` prints"
GUESSED: Final[dict[str, str]] = {
    "init": "`segue new RECIPE`",
    "doctor": "`segue check`",
    "prove": "`segue audit CORPUS`",
    "query": "`segue sql CORPUS QUERY`",
    "repair": "`segue rebuild CORPUS`",
    **dict.fromkeys(("validate", "verify", "inspect --verify"), "`segue check CORPUS`"),
    **dict.fromkeys(("listen", "play", "serve", "show", "view"), "`segue browse CORPUS`"),
    **dict.fromkeys(("latest", "rollback", "versions --promote"), "`segue promote CORPUS VERSION`"),
    "build --dry-run": "`segue plan SPEC`",
    "export --format": "`segue export CORPUS --to FORMAT`",
    "inspect --sql": "`segue sql CORPUS QUERY`",
    "inspect --tables": "`segue sql CORPUS`",
    "inspect --diff": "`segue diff A B`",
    "night list": f"`prefect deployment ls`, {_SERVER}",
    "night last": f"`prefect flow-run ls --flow-name nightly`, {_SERVER}",
    "night trigger": f"`prefect deployment run nightly/CORPUS`, {_SERVER}",
    "night pause": f"`prefect deployment schedule pause nightly/CORPUS ID`, {_SERVER}",
    "night resume": f"`prefect deployment schedule resume nightly/CORPUS ID`, {_SERVER}",
}
"""Words that somebody might know or guess, and what does it."""
