"""A prompt's YAML file, validated."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from synth.base.doors import read_text
from synth.base.errors import SpecError
from synth.base.names import nearest
from synth.base.yaml_faults import explain_errors
from synth.base.yaml_file import parse_yaml
from synth.llm.answer_schema import make_strict, reply_schema

_SUFFIXES: Final = (".yaml", ".yml")


class _PromptPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


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
    checks: list[Any] = Field(min_length=1)


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
    checks: list[Any]
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
    found = sorted(each.name for each in folder.iterdir() if each.name.endswith(_SUFFIXES))
    return {Path(name).stem: folder.joinpath(name).read_text(encoding="utf-8") for name in found}


def file_text(id_or_path: str | Path) -> tuple[str, str]:
    """What messages call a prompt's file, and its text.

    Args:
        id_or_path: The id of a shipped prompt, or a path that ends in .yaml or .yml.
    """
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
            f"there is no prompt {name!r}",
            fix=f"{hint}Shipped prompts: {', '.join(shipped)}; the name of your own file "
            "must end in .yaml",
        )
    return f"prompts/{name}.yaml", shipped[name]


def read_prompt_file(where: str, text: str) -> PromptFile:
    """The content of a prompt's file."""
    file = parse_yaml(text, where)
    if not isinstance(file.value, dict):
        raise SpecError(f"{file.place()}: expected keys and values", fix="start with `id: NAME`")
    try:
        read = PromptFile.model_validate(file.value)
    except ValidationError as error:
        raise explain_errors(error, file, PromptFile) from error
    if read.id != Path(where).stem:
        raise SpecError(
            f"{file.place(['id'])}: id: {read.id!r} is not the file's name",
            fix="use the same name for both",
        )
    return read
