"""A prompt: how items are asked about, and which answers are taken.

Text from a data file reaches a message only as JSON through the `row` filter, so nothing in it can
be read as a template, and its quotes, braces and line ends stay inside its string.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from synth.base.doors import read_text
from synth.base.errors import SpecError, nearest, suggestion
from synth.base.rng import digest
from synth.base.yaml_file import explain_errors, parse_yaml
from synth.llm.checks.check import Case, Check, SettingRole, find_faults, quote, reaches, texts_at
from synth.llm.checks.claim_checks import Reading, SameClaim, Truth
from synth.llm.checks.figure_checks import Measures, SameNames, SameNumerals
from synth.llm.checks.label_checks import Recomposed, ScenesCheck, TagsCheck
from synth.llm.checks.order_checks import NotationTold, Rebound, Reordered, SameOrder, Shares
from synth.llm.checks.text_checks import (
    Differs,
    Distinct,
    Language,
    OneLine,
    TextCount,
    Words,
)
from synth.llm.reply import PromptItem, find_violations, make_strict, reply_schema

if TYPE_CHECKING:
    from jinja2 import Template


# The checks that a prompt's file may call for, by name.


CHECKS: Final[Mapping[str, type[Check]]] = {
    check.name: check
    for check in (
        *(OneLine, Differs, Distinct, Words, TextCount, Language),
        *(Reordered, Rebound, SameOrder, NotationTold, Shares),
        *(ScenesCheck, Recomposed, TagsCheck, SameNumerals, SameNames, Measures, Truth),
        *(Reading, SameClaim),
    )
}


def read_checks(listed: Sequence[Any]) -> list[Check]:
    """Checks as a file lists them: `[{differs: {}}, {words: 30}, {truth: refuted}]`."""
    return [_read(entry, f"checks.{place}") for place, entry in enumerate(listed)]


def _read(entry: Any, where: str) -> Check:
    if isinstance(entry, str):
        entry = {entry: {}}
    if not isinstance(entry, Mapping) or len(entry) != 1:
        raise ValueError(f"{where}: expected one check and its settings, got {entry!r}")
    ((name, settings),) = entry.items()
    kind = CHECKS.get(name)
    if kind is None:
        raise ValueError(f"{where}: there is no check {name!r}; {suggestion(name, CHECKS)}")
    if settings is None:
        settings = {}
    if not isinstance(settings, Mapping):
        if not kind.main:
            raise ValueError(f"{where}.{name}: expected settings by name, got {settings!r}")
        settings = {kind.main: settings}
    try:
        return kind.model_validate(settings)
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(map(str, problem["loc"]))
        told = (
            "there is no such setting" if problem["type"] == "extra_forbidden" else problem["msg"]
        )
        raise ValueError(f"{where}.{name}.{key}: {told}") from error


# A prompt's YAML file, validated.


_SUFFIXES: Final = (".yaml", ".yml")


class _PromptPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


Checks: TypeAlias = Annotated[list[Any], AfterValidator(read_checks)]
"""As a file lists them; then values of `Check`."""


class Message(_PromptPart):
    """A message as a template.

    Its content is Jinja2; the last message of a prompt sees `items` and `again`.
    """

    role: Literal["system", "user"]
    content: str = Field(min_length=1)


class Example(_PromptPart):
    """An item and the answer that is right for it."""

    fields: dict[str, Any]
    answer: dict[str, Any]


class Verify(_PromptPart):
    """A second request about each generated text, and what its answer must be.

    Args:
        prompt: Of the second request: an id, or a path from the file's folder. Its items have the
            fields that it asks for: `text`, those of the first item and what the checks tell.
        checks: What its answer must pass, beside the checks of its own, for the text to be taken.
            They see the first item. What they find is told to no model.
    """

    prompt: str
    checks: Annotated[Checks, Field(min_length=1)]


class PromptFile(_PromptPart):
    """What a prompt's file holds.

    Args:
        id: Its name, which is the file's.
        version: To be raised with every change that should not use answers bought before.
        about: What it is for, in one line.
        batch: Items a request at most.
        temperature: Of sampling.
        max_output_tokens_per_item: What an answer may cost.
        fields: A JSON schema of each field that an item must have.
        optional: The same of the fields that it may have.
        answer: The JSON schema of one answer, without its id.
        texts: Where in an answer the generated texts are.
        deal: Fields whose values, of their `enum`, are dealt to rows that do not have them.
        verify: A second request that decides whether an answer is taken.
        messages: The last one asks; those before it are said once.
        checks: What an answer must pass.
        examples: Shown as a request and its reply before the items.
    """

    id: str = Field(pattern="^[a-z0-9]+(?:-[a-z0-9]+)*$")
    version: int = Field(ge=1)
    about: str = Field(min_length=1)
    batch: int = Field(ge=1, le=1000)
    temperature: float = Field(ge=0, le=2)
    max_output_tokens_per_item: int = Field(ge=1)
    fields: dict[str, dict[str, Any]] = Field(min_length=1)
    optional: dict[str, dict[str, Any]] = Field(default_factory=dict)
    answer: dict[str, Any]
    texts: str
    deal: list[str] = Field(default_factory=list)
    verify: Verify | None = None
    messages: tuple[Message, ...] = Field(min_length=1, strict=False)
    checks: Checks
    examples: tuple[Example, ...] = Field(min_length=1, strict=False)

    @field_validator("fields", "optional")
    @classmethod
    def _schemas(cls, given: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        made = {}
        for name, schema in given.items():
            if not name.isidentifier() or name in {"id", "refused"}:
                raise ValueError(f"{name!r} cannot be the name of a field")
            made[name] = {} if schema == {} else make_strict(schema, name)
        return made

    @field_validator("answer")
    @classmethod
    def _of_a_reply(cls, answer: dict[str, Any]) -> dict[str, Any]:
        reply_schema(answer)
        return make_strict(answer)

    @field_validator("deal")
    @classmethod
    def _of_enums(cls, deal: list[str], info: ValidationInfo) -> list[str]:
        for name in deal:
            if "enum" not in info.data.get("fields", {}).get(name, {}):
                raise ValueError(f"{name!r} must be among the fields, with an enum")
        return deal

    @field_validator("messages")
    @classmethod
    def _asks_last(cls, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        if messages[-1].role != "user":
            raise ValueError("the last message must have the role user")
        return messages


def shipped_files() -> dict[str, str]:
    """The text of every prompt that ships with the project, by id."""
    folder = resources.files("prompts")
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(_SUFFIXES))
    return {Path(name).stem: folder.joinpath(name).read_text(encoding="utf-8") for name in names}


def _read_text(id_or_path: str | Path) -> tuple[str, str]:
    """What messages call a prompt's file, and its text: by its path, or a shipped one's id."""
    path = Path(id_or_path)
    if path.suffix in _SUFFIXES:
        try:
            return str(path), read_text(path, refuse=SpecError, fix="save it as UTF-8")
        except OSError as error:
            raise SpecError(f"{path}: cannot be read: {error}") from error
    shipped = shipped_files()
    name = str(id_or_path)
    if name not in shipped:
        near = nearest(name, shipped)
        hint = f"did you mean {near!r}? " if near else ""
        raise SpecError(
            f"no prompt {name!r}",
            fix=f"{hint}Shipped prompts: {', '.join(shipped)}; the name of your own file "
            "must end in .yaml",
        )
    return f"prompts/{name}.yaml", shipped[name]


_FORMAT: Final = "1"
"""To be raised when the same file would give other messages."""

_NO_COMPLAINTS: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Prompt:
    """A task for a language model."""

    where: str
    file: PromptFile = field(repr=False)

    @property
    def id(self) -> str:
        """Its name."""
        return self.file.id

    @property
    def schema(self) -> dict[str, Any]:
        """The strict JSON schema of a whole reply; a new value each time."""
        return reply_schema(self.file.answer)

    @cached_property
    def digest(self) -> str:
        """Of all that determines the messages and the form of the reply, but for the items."""
        said = self.file.model_dump(
            mode="json", include={"id", "version", "messages", "examples", "answer"}
        )
        return digest(_FORMAT, json.dumps(said, sort_keys=True, ensure_ascii=False))

    def messages(
        self, items: Sequence[PromptItem], complaints: Mapping[str, str] = _NO_COMPLAINTS
    ) -> list[dict[str, str]]:
        """The messages that ask about items.

        Args:
            items: One to `batch` items with distinct ids.
            complaints: By item id, why its last answer was refused.
        """
        most = self.file.batch
        if not 1 <= len(items) <= most:
            raise ValueError(f"{len(items)} items; {self.id} takes 1 to {most} a request")
        if len({item.id for item in items}) < len(items):
            raise ValueError("two items of a request have the same id")
        for item in items:
            self.check_item(item)
        asked = {"role": "user", "content": self._request(items, complaints)}
        return [dict(message) for message in (*self._opening, asked)]

    def check_item(self, item: PromptItem) -> None:
        """See that an item has the fields that the prompt needs."""
        for name, schema in chain(self.file.fields.items(), self.file.optional.items()):
            value = item.fields.get(name)
            if name not in item.fields:
                faults = [f"{name!r} is missing"] * (name in self.file.fields)
            else:
                faults = find_violations(value, schema, repr(name)) if schema else []
            if faults:
                raise SpecError(f"prompt {self.id}: item {item.id!r}: {faults[0]}")

    def faults(self, item: PromptItem, answer: Mapping[str, Any]) -> list[str]:
        """Why an answer is refused, in words that can be told to the model; none if it is taken.

        An answer that breaks the schema is put to no further check.
        """
        broken = find_violations(dict(answer), self.file.answer)
        if broken:
            return broken
        return find_faults(self.file.checks, Case(item, answer, self.texts(answer)))

    def texts(self, answer: Mapping[str, Any]) -> list[str]:
        """The generated texts of an answer."""
        return list(texts_at(answer, self.file.texts))

    @cached_property
    def _templates(self) -> tuple[Template, ...]:
        # Every spec can name texts of a model, and few do.
        from jinja2 import StrictUndefined, TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        environment = ImmutableSandboxedEnvironment(
            undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
        )
        environment.globals.clear()
        environment.filters["row"] = self._row
        made = []
        for number, message in enumerate(self.file.messages):
            try:
                made.append(environment.from_string(message.content))
            except TemplateError as error:
                raise self._template_error(number, error) from error
        return tuple(made)

    @cached_property
    def _opening(self) -> tuple[dict[str, str], ...]:
        """What comes before the request: the first messages, and the examples as a turn."""
        said = [
            {"role": message.role, "content": self._render(number, {})}
            for number, message in enumerate(self.file.messages[:-1])
        ]
        examples = list(self.examples())
        if examples:
            asked = self._request([item for item, _ in examples], _NO_COMPLAINTS)
            reply = {"answers": [{"id": item.id, **answer} for item, answer in examples]}
            said.append({"role": "user", "content": asked})
            said.append({"role": "assistant", "content": _json(reply)})
        return tuple(said)

    def examples(self) -> Iterator[tuple[PromptItem, dict[str, Any]]]:
        """The examples as items and their answers."""
        for number, example in enumerate(self.file.examples, start=1):
            yield PromptItem(f"example-{number}", example.fields), example.answer

    def _request(self, items: Sequence[PromptItem], complaints: Mapping[str, str]) -> str:
        views = [
            {"id": item.id, "fields": dict(item.fields), "refused": complaints.get(item.id, "")}
            for item in items
        ]
        again = any(view["refused"] for view in views)
        number = len(self.file.messages) - 1
        return self._render(number, {"items": views, "again": again})

    def _render(self, number: int, values: Mapping[str, Any]) -> str:
        try:
            return self._templates[number].render(values).strip()
        except SpecError:
            raise
        except Exception as error:  # a template may fail in any way that Python code can
            raise self._template_error(number, error) from error

    def _template_error(self, number: int, error: Exception) -> SpecError:
        line = getattr(error, "lineno", None)
        place = f"messages.{number}.content" + (f", line {line}" if line else "")
        return SpecError(f"{self.where}: {place}: {error}", fix="fix the template")

    def _row(self, view: Mapping[str, Any], *names: str) -> str:
        """An item as one line of JSON: its id, the named fields it has, and why it was refused."""
        for name in names:
            if name not in self.file.fields and name not in self.file.optional:
                raise ValueError(f"{name!r} is not a field of an item; declare it under fields")
        shown = {name: view["fields"][name] for name in names if name in view["fields"]}
        refused = {"refused": view["refused"]} if view["refused"] else {}
        return _json({"id": view["id"], **shown, **refused})


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def load_prompt(id_or_path: str | Path) -> Prompt:
    """A prompt of ours by its id, or one of your own by its path."""
    where, text = _read_text(id_or_path)
    file = parse_yaml(text, where)
    if not isinstance(file.value, dict):
        raise SpecError(f"{file.place()}: expected keys and values", fix="start with `id: NAME`")
    try:
        prompt = Prompt(where, PromptFile.model_validate(file.value))
    except ValidationError as error:
        raise explain_errors(error, file, PromptFile) from error
    if prompt.id != Path(where).stem:
        raise SpecError(
            f"{file.place(['id'])}: id: {prompt.id!r} is not the file's name",
            fix="use the same name for both",
        )
    _check_places(prompt)
    _check_examples(prompt)
    return prompt


def _check_places(prompt: Prompt) -> None:
    """See that texts and checks look where answers and items have something."""
    file = prompt.file
    if not reaches(file.answer, file.texts):
        raise SpecError(f"{prompt.where}: texts: an answer has no texts at {file.texts!r}")
    for number, check in enumerate(file.checks):
        where = f"{prompt.where}: checks.{number}.{check.name}"
        for path in sorted(check.named(SettingRole.PLACE)):
            if not reaches(file.answer, path):
                raise SpecError(f"{where}: an answer has no texts at {path!r}")
        for name in sorted({*check.named(SettingRole.NEEDED), *check.when}):
            if name not in file.fields:
                raise SpecError(f"{where}: {name!r} is not among the fields that an item must have")
        for name in sorted(check.named(SettingRole.OPTIONAL)):
            if name not in file.fields and name not in file.optional:
                raise SpecError(f"{where}: {name!r} is neither among the fields nor optional")


def _check_examples(prompt: Prompt) -> None:
    """See that the messages render, and that the examples pass what answers must pass."""
    for item, answer in prompt.examples():
        try:
            prompt.check_item(item)
        except SpecError as error:
            raise SpecError(f"{prompt.where}: examples: {error.message}") from error
        faults = prompt.faults(item, answer)
        if faults:
            raise SpecError(
                f"{prompt.where}: {item.id}: its answer is refused: {faults[0]}",
                fix="an example must pass the prompt's own schema and checks",
            )
    items = [item for item, _ in prompt.examples()][: prompt.file.batch]
    if items:
        prompt.messages(items)


# The second request about a generated text: what it is told, and when the text is taken.
#
# The second prompt sees the text and what its own file asks for, never the item that the text was
# made of; the answer is compared with that item by checks of the first prompt's file.


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
