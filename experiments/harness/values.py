"""Settings that a user gave, checked."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from synth.base.errors import SpecError

_Model = TypeVar("_Model", bound=BaseModel)


def check_values(model: type[_Model], values: object, where: str = "") -> _Model:
    """Make a pydantic model of settings that the user gave.

    Args:
        where: What the message begins with; "" for nothing.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()
        )
        message = f"{where}: {faults}" if where else faults
        raise SpecError(message, fix="give --source NAME:PATH") from error
