"""What every check of an answer has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from synth.llm.reply import PromptItem


class SettingRole(Enum):
    """What a setting of a check names."""

    NEEDED = "a field that an item must have"
    OPTIONAL = "a field that it looks at where an item has it"
    PLACE = "a place in an answer, with keys joined by dots"


NeededField: TypeAlias = Annotated[str, SettingRole.NEEDED]
OptionalField: TypeAlias = Annotated[str, SettingRole.OPTIONAL]
AnswerPlace: TypeAlias = Annotated[str, SettingRole.PLACE]


@dataclass(frozen=True, slots=True)
class Case:
    """An answer that has the form asked for, and what it answers."""

    item: PromptItem
    answer: Mapping[str, Any]
    texts: Sequence[str]

    def field(self, name: str) -> Any:
        """A field of the item, None where it has none of that name."""
        return self.item.fields.get(name)


class Check(BaseModel, ABC):
    """A check, with its settings as a prompt's file gives them.

    A fault is put in words that can be told to the model, so that it can fix its answer.

    Args:
        of: Where in the answer the checked texts are, as "negatives.caption"; the prompt's texts
            by default.
        when: Values that fields of the item must have for the check to apply, as `{language: en}`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: ClassVar[str]
    main: ClassVar[str] = ""
    """The setting that a bare value in the file stands for, "" for none."""

    of: AnswerPlace = ""
    when: Mapping[str, str] = Field(default_factory=dict)

    def faults(self, case: Case) -> list[str]:
        """Why the answer is refused; an empty list where it is not."""
        texts = list(texts_at(case.answer, self.of)) if self.of else list(case.texts)
        return list(self._find_faults(texts, case))

    @abstractmethod
    def _find_faults(self, texts: Sequence[str], case: Case) -> Iterable[str]:
        """What is wrong with the texts that are checked."""

    def named(self, role: SettingRole) -> frozenset[str]:
        """The fields or places that its settings of a role name."""
        settings = type(self).model_fields.items()
        names = (getattr(self, name) for name, info in settings if role in info.metadata)
        return frozenset(name for name in names if name)

    def tells(self, item: PromptItem) -> Mapping[str, Any]:
        """Of a second request (`verify`): further fields for it, made of the first item."""
        return {}

    def kind(self, item: PromptItem) -> str:
        """Of a second request: under which kind the item is counted, "" for none."""
        return ""


def find_faults(checks: Iterable[Check], case: Case) -> list[str]:
    """Why those checks that apply refuse an answer, each reason once."""
    applying = (
        check
        for check in checks
        if all(case.field(name) == value for name, value in check.when.items())
    )
    return list(dict.fromkeys(fault for check in applying for fault in check.faults(case)))


class TextCheck(Check):
    """A check of each text by itself."""

    @abstractmethod
    def _explain(self, text: str, case: Case) -> Iterator[str]:
        """What is wrong with a text, in words that go on behind the quoted text."""

    def _find_faults(self, texts: Sequence[str], case: Case) -> Iterator[str]:
        return (f"{quote(text)} {fault}" for text in texts for fault in self._explain(text, case))


class ComparingCheck(TextCheck):
    """A check of each text beside its original.

    Args:
        source: The item's field that holds the original.
    """

    main: ClassVar[str] = "source"
    source: NeededField = "caption"

    def original(self, case: Case) -> str:
        """The text that the item gives."""
        return str(case.field(self.source))


def texts_at(value: Any, path: str) -> Iterator[str]:
    """The texts at a place in an answer: "negatives.caption" is one of each negative.

    Args:
        path: Keys joined by dots. A list on the way stands for each of its entries; an object at
            the end for each of its values.
    """
    if isinstance(value, list):
        for part in value:
            yield from texts_at(part, path)
    elif isinstance(value, Mapping):
        key, _, rest = path.partition(".")
        inner = list(value.values()) if not key else [value[key]] if key in value else []
        for part in inner:
            yield from texts_at(part, rest)
    elif isinstance(value, str) and not path:
        yield value


def reaches(schema: Mapping[str, Any], path: str) -> bool:
    """Whether a strict schema admits texts at a place."""
    if schema["type"] == "array":
        return reaches(schema["items"], path)
    if schema["type"] == "object":
        key, _, rest = path.partition(".")
        properties = schema["properties"]
        if not key:
            return any(reaches(inner, "") for inner in properties.values())
        return key in properties and reaches(properties[key], rest)
    return schema["type"] == "string" and not path


def quote(text: str) -> str:
    """A text as it stands in a fault, shortened where it is long."""
    return f'"{text}"' if len(text) <= 120 else f'"{text[:119]}…"'
