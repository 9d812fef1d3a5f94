"""Build lexicons/phrases.csv: readable sources in, checked forms out, the same every time.

`python -m benchmarks.lexicon` writes it, `--check` fails where it is not as its sources make it.

`data_manifests/lexicons/sources/*.csv` say each label in parts a person can edit: a noun phrase,
then a subject, a verb in its base form and the rest of the clause. The verb is inflected here, so
that the clause ("a dog barks") and the gerund ("a dog barking") cannot drift apart. Further rows of
the label, without a family, word it otherwise.

`family` holds the paths of what a label is, `also` those of what its recordings could be called
besides: an airplane, `vehicle/aircraft/plane`, is heard by its engine, `vehicle/engine/aircraft`.
Labels of related families are kin and are never told apart. What is in `also` alone may be heard
beside the label, and named beside it, but nobody may say of the label's sound that it is absent.

`said` lists what else can be said of the sound by the clause; blank in a further row, it is as in
the first. `count`: "three times", of one short event, such as a dog's bark but no sneeze of two
parts. `fast`: "faster", of short events that come in a row. `again`: that it is heard once more.
`long`: "for three seconds", "getting louder". `pitch`: "at a higher pitch".
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, zip_longest
from pathlib import Path
from typing import Final, NoReturn, TypeAlias

from synth.base.atomic import write_text
from synth.base.errors import LexiconError
from synth.base.shipped import shipped_path
from synth.labels.lexicon import PHRASES, SEPARATOR, Phrase, are_related

Inflect: TypeAlias = Callable[[str, str], str]
"""The form of a verb (base form) under a Penn tag: VBZ, VBP or VBG."""

SOURCES: Final[Mapping[str, bool]] = {
    "audioset.csv": False,
    "esc50.csv": True,
    "urbansound8k.csv": True,
}
"""The source files; True where the labels exclude one another, so that none may be kin.

A label that two vocabularies share is listed once: UrbanSound8K's `car_horn` and `siren` are among
ESC-50's.
"""

COLUMNS: Final = (
    *("label", "noun", "subject", "verb", "rest", "plural"),
    *("said", "family", "also"),
)
FORMS: Final = ("noun", "clause", "gerund")
BUILT: Final = ("label", *FORMS, "said", "family", "also")
SAID: Final = ("count", "fast", "again", "long", "pitch")

_CATEGORIES = (
    "animal voice body music vehicle tool home alarm water weather fire impact bell electronic "
    "ambience none"
)
CATEGORIES: Final = frozenset(_CATEGORIES.split())
"""What the first segment of a family path may be."""

_BARRED = (
    "before after then followed while as with during both and or but never not no without first "
    "finally together all once until when"
)
BARRED: Final = frozenset(_BARRED.split())
"""Words that a caption relates or denies sounds with, so that no phrase may bring its own."""

IRREGULAR: Final[Mapping[tuple[str, str], str]] = {
    ("baa", "VBG"): "baaing",
    ("be", "VBP"): "are",
    ("hiccup", "VBG"): "hiccuping",
    ("whir", "VBZ"): "whirs",
}
"""Verb and Penn tag to the form, where the inflector errs."""

_FORM = re.compile(r"(?:[a-z']+|[A-Z][a-z]+)(?:[ -](?:[a-z']+|[A-Z][a-z]+))*(?<=[a-z])")
_PATH = re.compile(r"[a-z]+(?:/[a-z]+){0,2}")


@dataclass(frozen=True, slots=True)
class LexiconEntry:
    """One label as it is built: its wordings, the standard one first, what each can say, paths."""

    label: str
    wordings: tuple[Phrase, ...]
    said: tuple[str, ...]
    families: tuple[str, ...]
    also: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    file: str
    line: int
    label: str = ""

    def refuse(self, reason: str, fix: str) -> NoReturn:
        label = f" ({self.label!r})" if self.label else ""
        raise LexiconError(f"{self.file}, line {self.line}{label}: {reason}", fix=fix)


def lexicon_folder() -> Path:
    """Where the shipped lexicons are."""
    return shipped_path(PHRASES).parent


def make_inflector() -> Inflect:
    """The inflector of the lemminflect package, and `IRREGULAR`."""
    from lemminflect import getInflection

    def inflect(verb: str, tag: str) -> str:
        listed = IRREGULAR.get((verb, tag))
        forms = (listed,) if listed is not None else getInflection(verb, tag=tag)
        if not forms and tag == "VBP":  # rare verbs; but for "be" the plural is the base form
            forms = (verb,)
        return str(forms[0]) if forms else ""

    return inflect


def build(sources: Mapping[str, str], inflect: Inflect) -> dict[str, list[LexiconEntry]]:
    """The checked entries of every source, in the order of their labels.

    Args:
        sources: The text of each source file, by its name; names as in `SOURCES`.
    """
    built: dict[str, list[LexiconEntry]] = {}
    owners: dict[str, _Place] = {}
    for name in sorted(sources):
        entries: list[LexiconEntry] = []
        used: dict[tuple[str, str], str] = {}
        for place, row in _rows(name, sources[name]):
            wording = _word(place, row, inflect)
            last = entries[-1] if entries else None
            if last and place.label == last.label and not (row["family"] or row["also"]):
                _check_new(place, wording, used)
                more = row["said"] or last.said[0]
                wordings = (*last.wordings, wording)
                entries[-1] = replace(last, wordings=wordings, said=(*last.said, more))
                continue
            if place.label in owners:
                other = owners[place.label]
                place.refuse(f"already in {other.file}, line {other.line}", "delete one of the two")
            if last and place.label < last.label:
                place.refuse(f"comes after {last.label!r}", "sort the rows by label")
            owners[place.label] = place
            _check_new(place, wording, used)
            entries.append(_entry(place, row, wording))
        if SOURCES.get(name, False):
            _check_exclusive(entries, owners)
        built[name] = entries
    return built


def format_table(built: Mapping[str, list[LexiconEntry]]) -> str:
    """The text of phrases.csv: all entries, sorted by label."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(BUILT)
    entries = (entry for entries in built.values() for entry in entries)
    for entry in sorted(entries, key=lambda entry: entry.label):
        families, also = ";".join(entry.families), ";".join(entry.also)
        forms = (SEPARATOR.join(getattr(words, form) for words in entry.wordings) for form in FORMS)
        writer.writerow((entry.label, *forms, SEPARATOR.join(entry.said), families, also))
    return text.getvalue()


def read_sources(folder: Path) -> dict[str, str]:
    """The text of every source file below a lexicon folder, by its name."""
    return {name: (folder / "sources" / name).read_text(encoding="utf-8") for name in SOURCES}


def _rows(name: str, text: str) -> Iterator[tuple[_Place, dict[str, str]]]:
    reader = csv.reader(io.StringIO(text))
    if tuple(next(reader, ())) != COLUMNS:
        _Place(name, 1).refuse("a wrong header", f"write {','.join(COLUMNS)}")
    for row in reader:
        place = _Place(name, reader.line_num, row[0] if row else "")
        if len(row) != len(COLUMNS):
            place.refuse(
                f"{len(row)} columns, not {len(COLUMNS)}",
                "quote a label that holds a comma",
            )
        if not place.label.strip():
            place.refuse("no label", "name the label, or delete the row")
        yield place, dict(zip(COLUMNS, row, strict=True))


def _word(place: _Place, row: Mapping[str, str], inflect: Inflect) -> Phrase:
    if row["plural"] not in ("yes", "no"):
        place.refuse(f"plural is {row['plural']!r}", "write yes or no")
    if row["said"] != " ".join(word for word in SAID if word in row["said"].split()):
        place.refuse(f"said is {row['said']!r}", f"write some of: {' '.join(SAID)}")
    for column in ("noun", "subject", "verb"):
        if not row[column]:
            place.refuse(f"no {column}", f"fill in the {column}")
    finite = _inflect(place, row["verb"], "VBP" if row["plural"] == "yes" else "VBZ", inflect)
    gerund = _inflect(place, row["verb"], "VBG", inflect)
    subject, rest = row["subject"], f" {row['rest']}" if row["rest"] else ""
    phrase = Phrase(
        place.label, row["noun"], f"{subject} {finite}{rest}", f"{subject} {gerund}{rest}"
    )
    for form in FORMS:
        _check_form(place, form, getattr(phrase, form))
    return phrase


def _entry(place: _Place, row: Mapping[str, str], wording: Phrase) -> LexiconEntry:
    families = _parse_paths(place, "family", row["family"])
    also = _parse_paths(place, "also", row["also"]) if row["also"] else ()
    for path in also:
        if are_related(families, (path,)):
            place.refuse(f"the also path {path!r} is in its family", "leave it out of also")
    return LexiconEntry(place.label, (wording,), (row["said"],), families, also)


def _inflect(place: _Place, verb: str, tag: str, inflect: Inflect) -> str:
    if not re.fullmatch("[a-z]+", verb):
        place.refuse(f"the verb {verb!r} is not one word", "put other words into rest")
    form = inflect(verb, tag)
    if not form:
        place.refuse(f"no {tag} form of {verb!r}", "add it to IRREGULAR in benchmarks/lexicon.py")
    return form


def _check_form(place: _Place, form: str, text: str) -> None:
    if not _FORM.fullmatch(text):
        place.refuse(
            f"the {form} {text!r} is not plain words",
            "use lower-case words, single spaces, hyphens and apostrophes only",
        )
    barred = sorted(BARRED.intersection(re.split("[ -]", text)))
    if barred:
        place.refuse(f"the {form} {text!r} holds {barred[0]!r}", "rephrase it without that word")


def _parse_paths(place: _Place, column: str, text: str) -> tuple[str, ...]:
    paths = tuple(text.split(";"))
    for path in paths:
        if not _PATH.fullmatch(path):
            place.refuse(
                f"the {column} path {path!r} is malformed",
                "write category/source, ';' between two",
            )
        if path.split("/", 1)[0] not in CATEGORIES:
            place.refuse(
                f"the {column} path {path!r} has no known category",
                f"start it with one of: {', '.join(sorted(CATEGORIES))}",
            )
    for first, second in combinations(paths, 2):
        if are_related((first,), (second,)):
            place.refuse(
                f"the {column} paths {first!r} and {second!r} overlap", "keep the shorter one"
            )
    return paths


def _check_new(place: _Place, wording: Phrase, used: dict[tuple[str, str], str]) -> None:
    forms = [(form, getattr(wording, form)) for form in FORMS]
    if all(used.get(form) == place.label for form in forms):
        place.refuse(f"{wording.clause!r} is said twice", "delete one of the two")
    for form, text in forms:
        owner = used.setdefault((form, text), place.label)
        if owner != place.label:
            place.refuse(f"the {form} {text!r} is also that of {owner!r}", "rephrase one of them")


def _check_exclusive(entries: list[LexiconEntry], owners: Mapping[str, _Place]) -> None:
    for first, second in combinations(entries, 2):
        if are_related(first.families, second.families):
            owners[second.label].refuse(
                f"kin to {first.label!r}, though the labels of this file exclude one another",
                "give the two family paths that part",
            )


def make_lexicon(folder: Path, *, check: bool = False) -> Mapping[str, int]:
    """Write `phrases.csv` anew, unless it is as its sources make it; the labels of each source."""
    built = build(read_sources(folder), make_inflector())
    text, path = format_table(built), folder / "phrases.csv"
    old = path.read_bytes().decode(errors="replace") if path.exists() else ""
    if check and old != text:
        raise LexiconError(
            f"{path} is not what its sources make: {_find_first_difference(old, text)}",
            fix="run: python -m benchmarks.lexicon",
        )
    if old != text:
        write_text(path, text)
    return {name: len(entries) for name, entries in built.items()}


def _find_first_difference(old: str, new: str) -> str:
    pairs = zip_longest(old.splitlines(), new.splitlines(), fillvalue="nothing")
    for number, (before, after) in enumerate(pairs, start=1):
        if before != after:
            return f"line {number} is {before!r}, not {after!r}"
    return "its line ends differ"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if it differs")
    try:
        labels = make_lexicon(lexicon_folder(), check=parser.parse_args().check)
    except LexiconError as error:
        sys.exit(f"error: {error}")
    print(f"phrases.csv: {labels}")


if __name__ == "__main__":
    main()
