"""Settings that users write, and a choice of one thing by name: a source, a recipe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar, get_args

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

from synth.base.errors import SpecError, suggestion

_Model = TypeVar("_Model", bound=BaseModel)


class StrictModel(BaseModel):
    """What a user writes: no unknown keys, finite numbers, and no yes or no for a number."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _refuse_booleans(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        faults = [
            InitErrorDetails(
                type="int_type" if int in kinds else "float_type", loc=loc, input=boolean
            )
            for name, field in cls.model_fields.items()
            if name in value and bool not in (kinds := _kinds_in(field.annotation))
            for loc, boolean in _find_booleans(value[name], (name,))
            if kinds & {int, float}
        ]
        if faults:
            raise ValidationError.from_exception_data(cls.__name__, faults)
        return value


def _kinds_in(annotation: Any) -> set[Any]:
    """The classes that an annotation names."""
    return {annotation if isinstance(annotation, type) else None}.union(
        *map(_kinds_in, get_args(annotation))
    )


def _find_booleans(
    value: Any, place: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], bool]]:
    if isinstance(value, bool):
        yield place, value
    parts = value.items() if isinstance(value, dict) else ()
    for key, part in enumerate(value) if isinstance(value, list | tuple) else parts:
        yield from _find_booleans(part, (*place, key))


class Choice(StrictModel):
    """Exactly one of several things by name, with its settings; a bare name takes the defaults."""

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
            return {
                "chosen": cls.find_settings(name).model_validate(
                    {} if settings is None else settings
                )
            }
        except ValidationError as error:
            details = [
                InitErrorDetails(
                    type=detail["type"],
                    loc=(name, *detail["loc"]),
                    input=detail["input"],
                    ctx=detail.get("ctx", {}),
                )
                for detail in error.errors()
            ]
            raise ValidationError.from_exception_data(error.title, details) from error

    def __repr__(self) -> str:
        changed = self.chosen.model_dump(mode="json", exclude_defaults=True)
        return repr({self._name: changed} if changed else self._name)

    @property
    def _name(self) -> str:
        return str(self.chosen.name)  # type: ignore[attr-defined]

    @model_serializer
    def _serialise(self, info: SerializationInfo) -> dict[str, Any]:
        settings = self.chosen.model_dump(mode=info.mode, exclude_none=info.exclude_none)
        return {self._name: settings}


def _make_unknown_error(name: str, known: tuple[str, ...]) -> ValidationError:
    """The error of a name that is none of the known ones, told where the name stands."""
    message = f"there is no {name!r}; {suggestion(name, known)}"
    kind = PydanticCustomError("value_error", message)
    return ValidationError.from_exception_data(
        "choice", [InitErrorDetails(type=kind, loc=(name,), input=name)]
    )


def check_values(model: type[_Model], values: object, where: str = "", fix: str = "") -> _Model:
    """Make a pydantic model of settings that come from no file.

    Args:
        where: What the message begins with; "" for nothing.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg'].removeprefix('Value error, ')}"
            for fault in error.errors()
        )
        message = f"{where}: {faults}" if where else faults
        raise SpecError(message, fix=fix) from error
