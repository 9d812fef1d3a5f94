"""`segue labels`: what is known of a word, and the words that a spec's labels lack."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from pipelines.cli.make.labels import labels_command
from tests.kit.builds import invoke
from tests.kit.cases import cases


@cases(
    ("word", "said"),
    [
        ([], "585 labels have words, in 16 categories: music 139"),
        (["DOG"], "a dog barks; a dog lets out a bark"),
        (["honk"], "Vehicle horn, car horn, honking"),
        (["kettle boiling"], "did you mean 'Boiling'?"),
        (["zorble"], "word it under `labels`"),
    ],
)
def test_what_is_known_of_a_word(word: list[str], said: str) -> None:
    done = invoke(labels_command, *word)
    assert said in done.output + str(getattr(done.exception, "fix", ""))


def test_labels_without_words_are_all_told(tmp_path: Path) -> None:
    for label in ("RAIN", "budgie", "klaxon"):
        (tmp_path / "sounds" / label).mkdir(parents=True)
        (tmp_path / "sounds" / label / "0.wav").touch()
    spec = tmp_path / "mine.yaml"
    words = {"klaxon": {"like": "siren"}}
    source = {"folder": {"root": "sounds"}}
    text = {"corpus": "mine", "source": source, "recipe": "triplets", "labels": words}
    spec.write_text(yaml.safe_dump(text))
    found = json.loads(invoke(labels_command, str(spec), "--json").output)
    assert found["unlisted"] == ["budgie"]
    assert yaml.safe_load(found["yaml"])["labels"]["budgie"]["noun"] == "a budgie"
