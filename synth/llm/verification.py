"""The second request about a generated text: what it is told, and when the text is taken.

The second prompt sees the text and what its own file asks for, never the item that the text was
made of; the answer is compared with that item by checks of the first prompt's file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

from synth.base.errors import SpecError
from synth.llm.checks.check import Case, Check, SettingRole, find_faults, quote
from synth.llm.prompt import Prompt, load_prompt
from synth.llm.reply import PromptItem

TEXT: Final = "text"
"""The field by which a second request has the text."""


@dataclass(frozen=True, eq=False)
class Verification:
    """How a prompt's texts are verified."""

    prompt: Prompt
    checks: Sequence[Check]

    def make_fields(self, item: PromptItem, text: str) -> dict[str, Any]:
        """The fields of the second item: those that its prompt knows, and no others."""
        extra = chain.from_iterable(check.tells(item).items() for check in self.checks)
        given = {**item.fields, **dict(extra), TEXT: text}
        wanted = (*self.prompt.file.fields, *self.prompt.file.optional)
        return {name: given[name] for name in wanted if name in given}

    def faults(self, item: PromptItem, answer: Mapping[str, Any]) -> list[str]:
        """Why a text is not taken; none if it is."""
        return find_faults(self.checks, Case(item, answer, self.prompt.texts(answer)))

    def kind(self, item: PromptItem) -> str:
        """Under which kind a first item is counted."""
        return next(filter(None, (check.kind(item) for check in self.checks)), "")


def load_verification(prompt: Prompt) -> Verification | None:
    """How the texts of a prompt are verified; None if they are not."""
    verify, where = prompt.file.verify, f"{prompt.where}: verify"
    if verify is None:
        return None
    name: str | Path = verify.prompt
    if Path(name).suffix:
        name = Path(prompt.where).parent / name
    second = load_prompt(name)
    if second.file.verify is not None:
        raise SpecError(
            f"{where}.prompt: {second.id} has a `verify` itself",
            fix="remove the `verify` of one prompt",
        )
    for number, check in enumerate(verify.checks):
        for missing in sorted(
            {*check.named(SettingRole.NEEDED), *check.when} - prompt.file.fields.keys()
        ):
            raise SpecError(
                f"{where}.checks.{number}.{check.name}: {quote(missing)} is not among the fields "
                "that an item must have"
            )
    verification = Verification(second, verify.checks)
    for item, answer in prompt.examples():
        texts = prompt.texts(answer)
        if len(texts) != 1:
            raise SpecError(
                f"{where}: {item.id} has {len(texts)} texts; only single texts are verified",
                fix="let `texts` name one text of an answer",
            )
        try:
            second.check_item(PromptItem(item.id, verification.make_fields(item, texts[0])))
        except SpecError as error:
            raise SpecError(f"{where}: {error.message}") from error
    return verification
