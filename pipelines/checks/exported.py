"""Audit of an export: does every line hold, judged anew from the manifest of its corpus?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeAlias

from pipelines.checks.exported_edits import judge_edit, judge_edit_audio, locate
from pipelines.checks.exported_pairs import LineFault, Mirror, Pairing, name_fault
from synth.base.doors import open_regular, parse_json, read_json
from synth.base.errors import CorpusError, SpecError
from synth.base.hashing import file_sha256
from synth.base.progress import Observer, Silent
from synth.corpus.corpus import Corpus
from synth.corpus.facts import SPLIT_NAME
from synth.derived.differences import difference_from_json
from synth.derived.differences import fault as difference_fault
from synth.derived.edits import Take, takes
from synth.derived.question_judge import fault as question_fault
from synth.derived.questions import Subject, question_from_json
from synth.export.chat import fault as chat_fault
from synth.export.folder import Folder
from synth.export.items import list_shards
from synth.export.preference import fault as preference_fault
from synth.export.preference import mirror_fault
from synth.export.questions import read_clips


@dataclass(frozen=True, slots=True)
class ExportAudit:
    """What the audit of an export found.

    Args:
        format: Of the export.
        rows: Lines that were judged.
        files: Audio files that were compared with the manifest.
        faults: Lines that do not hold.
    """

    format: str
    rows: int
    files: int
    faults: tuple[LineFault, ...]

    def to_json(self) -> dict[str, Any]:
        """As JSON values; `faults` is their number, `examples` the first ten."""
        return asdict(self) | {
            "faults": len(self.faults),
            "examples": [asdict(each) for each in self.faults[:10]],
        }


def _judge_question(row: Mapping[str, Any], subjects: Mapping[str, Subject]) -> str | None:
    question = question_from_json(row)
    if question.sample not in subjects:
        return f"the corpus has no sample {question.sample!r}"
    return question_fault(question, subjects[question.sample])


def _judge_difference(row: Mapping[str, Any], subjects: Mapping[str, Subject]) -> str | None:
    difference = difference_from_json(row)
    for sample in (difference.first, difference.second):
        if sample not in subjects:
            return f"the corpus has no sample {sample!r}"
    return difference_fault(difference, subjects[difference.first], subjects[difference.second])


class _Shelf:
    """The samples of a split, a shard at a time: lines come in the order of the shards."""

    def __init__(self, corpus: Corpus, split: str) -> None:
        self._shards = list_shards(corpus, [split])
        self._next = 0
        self.rate = corpus.sample_rate
        self.takes: dict[str, Take] = {}
        self.subjects: dict[str, Subject] = {}
        self.digests: dict[str, str] = {}

    def fetch(self, sample: str) -> None:
        """Go on to the shard of a sample, and once round where no shard has it."""
        for _ in self._shards:
            if sample in self.subjects:
                return
            shard = self._shards[self._next]
            self._next = (self._next + 1) % len(self._shards)
            rows, clips, audible = read_clips(shard)
            self.takes = {take.subject.id: take for take in takes(rows, clips, audible)}
            self.subjects = {name: take.subject for name, take in self.takes.items()}
            self.digests = {row["id"]: row["sha256"] for row in rows}


Judge: TypeAlias = Callable[[Mapping[str, Any], _Shelf], str | None]
AudioJudge: TypeAlias = Callable[[Mapping[str, Any], Path, int], str | None]


def _by_subjects(
    judge: Callable[[Mapping[str, Any], Mapping[str, Subject]], str | None],
) -> Judge:
    """The judge of lines that are about nothing but what is heard in samples."""
    return lambda row, about: judge(row, about.subjects)


@dataclass(frozen=True, slots=True)
class _JudgedLines:
    """How the lines of a format are judged.

    Args:
        judge: Of one line, by the manifest.
        audio_judge: Of what is heard in its files, by the export's folder and the sample rate.
        files: Names of the files of a split, without `.jsonl`.
        samples: Keys that name samples.
        audio: Keys that lead to the audio of these samples, in this order.
        mirror: Of formats whose lines come two and two: whether one mirrors the other.
        rejected: Key that leads to rejected audio, in files named after their samples.
    """

    judge: Judge
    samples: tuple[str, ...]
    audio: tuple[str, ...]
    files: tuple[str, ...] = ("{split}",)
    mirror: Mirror | None = None
    rejected: str = ""
    audio_judge: AudioJudge | None = None


_FORMATS: Final[Mapping[str, _JudgedLines]] = {
    "questions": _JudgedLines(_by_subjects(_judge_question), ("sample",), ("audio",)),
    "differences": _JudgedLines(
        _by_subjects(_judge_difference), ("first", "second"), ("first_audio", "second_audio")
    ),
    "chat": _JudgedLines(_by_subjects(chat_fault), ("samples",), ("audios",)),
    "preference": _JudgedLines(
        _by_subjects(preference_fault),
        ("samples",),
        ("audios",),
        ("{split}", "{split}_audios"),
        mirror_fault,
        "rejected_audios",
    ),
    "edits": _JudgedLines(
        lambda row, about: judge_edit(row, about.takes, about.rate),
        ("before", "after"),
        ("before_audio", "after_audio"),
        audio_judge=judge_edit_audio,
    ),
}


def audit_export(path: Path, out: Path, observer: Observer | None = None) -> ExportAudit:
    """Judge every line of an export, and compare the audio that it names with the manifest.

    Args:
        path: The corpus, as `Corpus.open` takes it.
        out: The folder of the export.
        observer: Told of the progress.
    """
    observer = observer or Silent()
    corpus = Corpus.open(path)
    name, splits = _find_lines(corpus, out)
    lines = _FORMATS[name]
    tasks = [(split, file.format(split=split)) for split in splits for file in lines.files]
    rows, heard = 0, _Audio(out)
    faults: list[LineFault] = []
    observer.start("audit", len(tasks), "files")
    for split, stem in tasks:
        about = _Shelf(corpus, split)
        file = f"{stem}.jsonl"
        pairing = Pairing(lines.mirror) if lines.mirror is not None else None
        for number, row in read_lines(out / file):
            rows += 1
            found = _judge_row(lines, row, about, heard)
            if pairing is not None:
                faults += pairing.take(file, number, row, holds=found is None)
            if found is not None:
                faults.append(name_fault(file, number, row, found))
        if pairing is not None:
            faults += pairing.take(file, 0, {}, holds=False)
        observer.advance("audit")
    observer.finish("audit", f"{len(faults)} faults")
    return ExportAudit(name, rows, len(heard.known), tuple(faults))


def read_identity(out: Path) -> Mapping[str, Any]:
    """What an export says of itself: format, splits and corpus."""
    fix = "give the --out of `segue export`"
    try:
        found: Any = read_json(Folder(out).identity, refuse=SpecError, fix=fix)
        match found:
            case {"format": str(), "splits": [*splits], "corpus_digest": str()}:
                if all(isinstance(split, str) and SPLIT_NAME.fullmatch(split) for split in splits):
                    return dict(found)
    except (FileNotFoundError, NotADirectoryError):
        pass
    raise SpecError(f"{out}: holds no export of a corpus", fix=fix)


def _find_lines(corpus: Corpus, out: Path) -> tuple[str, list[str]]:
    """Format and splits of an export of this corpus."""
    found = read_identity(out)
    name, splits, digest = found["format"], found["splits"], found["corpus_digest"]
    if name not in _FORMATS:
        raise SpecError(
            f"{out}: exports as {name} have no lines that could be judged",
            fix=f"give one of {', '.join(_FORMATS)}",
        )
    if digest != corpus.facts["digest"]:
        raise SpecError(
            f"{out}: is an export of {found.get('corpus')} {found.get('version')}, not of "
            f"{corpus.name} {corpus.version}",
            fix="give the version of the corpus that was exported",
        )
    return name, splits


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines of a file of JSON objects, with their numbers."""
    if not path.is_file():
        raise CorpusError(f"{path}: missing", fix="export again")
    with open_regular(path) as file:
        for number, line in enumerate(file, 1):
            row = parse_json(line, f"{path}: line {number}", fix="export again")
            if not isinstance(row, dict):
                raise CorpusError(f"{path}: line {number} is no object", fix="export again")
            yield number, row


class _Audio:
    """The audio files of an export, each read once."""

    def __init__(self, root: Path) -> None:
        self.known: dict[str, str] = {}
        self.root = root

    def fault(self, path: str, digest: str) -> str | None:
        """Why a file is not that of a sample."""
        if path not in self.known:
            file = locate(self.root, path)
            if not file.is_file():
                return f"there is no {path}"
            self.known[path] = file_sha256(file)
        return None if self.known[path] == digest else f"{path} is not the audio of its sample"


def _judge_row(
    lines: _JudgedLines, row: Mapping[str, Any], about: _Shelf, heard: _Audio
) -> str | None:
    samples, paths = (_read_texts(row, keys) for keys in (lines.samples, lines.audio))
    for sample in samples[:1]:
        about.fetch(sample)
    try:
        why = lines.judge(row, about)
        if why is None and len(paths) != len(samples):
            why = "it has not as many audio files as samples"
        if why is not None:
            return why
        rejected = row.get(lines.rejected, ())
        named = [
            *zip(samples, paths, strict=True),
            *((PurePosixPath(each).stem, each) for each in rejected),
        ]
        for sample, path in named:
            if (why := heard.fault(path, about.digests[sample])) is not None:
                return why
        return lines.audio_judge(row, heard.root, about.rate) if lines.audio_judge else None
    except CorpusError as error:
        return str(error)


def _read_texts(row: Mapping[str, Any], keys: tuple[str, ...]) -> list[str]:
    """The texts under some keys, each a text or a list of texts."""
    found = [row.get(key) for key in keys]
    flat = [each for value in found for each in (value if isinstance(value, list) else [value])]
    return [each for each in flat if isinstance(each, str)]
