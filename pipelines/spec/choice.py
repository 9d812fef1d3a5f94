"""A choice of one thing by name in a spec: a source, a recipe."""

from __future__ import annotations

from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    SerializationInfo,
    SerializeAsAny,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from synth.base.names import suggestion
from synth.recipes import RECIPES
from synth.sources import source_class, source_names


class Choice(BaseModel):
    """Exactly one of several things by name, with its settings; a bare name takes the defaults."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    chosen: SerializeAsAny[BaseModel]

    @classmethod
    def list_names(cls) -> tuple[str, ...]:
        """What there is."""
        raise NotImplementedError

    @classmethod
    def find_settings(cls, name: str) -> type[BaseModel]:
        """The settings of what is named."""
        raise NotImplementedError

    @model_validator(mode="before")
    @classmethod
    def _parse(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = {value: {}}
        if not isinstance(value, dict) or len(value) != 1:
            known = ", ".join(cls.list_names())
            raise ValueError(f"expected exactly one of {known}, with its settings below it")
        ((name, settings),) = value.items()
        if name not in cls.list_names():
            raise _make_unknown_error(str(name), cls.list_names())
        try:
            return {"chosen": cls.find_settings(name).model_validate(settings or {})}
        except ValidationError as error:
            raise _make_nested_error(name, error) from error

    @model_serializer
    def _serialise(self, info: SerializationInfo) -> dict[str, Any]:
        chosen: Any = self.chosen
        settings = chosen.model_dump(mode=info.mode, exclude_none=info.exclude_none)
        return {chosen.name: settings}


def _make_unknown_error(name: str, known: tuple[str, ...]) -> ValidationError:
    """The error of a name that is none of the known ones, told where the name stands."""
    message = f"there is no {name!r}; {suggestion(name, known)}"
    kind = PydanticCustomError("value_error", message)
    return ValidationError.from_exception_data(
        "choice", [InitErrorDetails(type=kind, loc=(name,), input=name)]
    )


def _make_nested_error(name: str, error: ValidationError) -> ValidationError:
    """The same error, told of what lies below `name`."""
    return ValidationError.from_exception_data(
        error.title,
        [
            InitErrorDetails(
                type=each["type"],
                loc=(name, *each["loc"]),
                input=each["input"],
                ctx=each.get("ctx", {}),
            )
            for each in error.errors()
        ],
    )


class SourceChoice(Choice):
    """A source by name; those of other packages are found by their entry point."""

    @classmethod
    def list_names(cls) -> tuple[str, ...]:
        """Every source that is installed."""
        return source_names()

    @classmethod
    def find_settings(cls, name: str) -> type[BaseModel]:
        """The class of a source."""
        return source_class(name)


class RecipeChoice(Choice):
    """A recipe by name."""

    @classmethod
    def list_names(cls) -> tuple[str, ...]:
        """Every recipe."""
        return tuple(RECIPES)

    @classmethod
    def find_settings(cls, name: str) -> type[BaseModel]:
        """The class of a recipe."""
        return RECIPES[name]
