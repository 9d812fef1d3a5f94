"""Claims of stored rows, which may be a stranger's."""

from __future__ import annotations

from collections.abc import Iterable

from synth.base.errors import CorpusError, SceneError
from synth.scene.claim import Claim, claim_from_text


def read_claims(texts: Iterable[str], of: str = "") -> tuple[Claim, ...]:
    """The claims of a row, in order.

    Args:
        texts: As JSON text, in the form of the manifests.
        of: What the row is, for the error.
    """
    try:
        return tuple(map(claim_from_text, texts))
    except (ValueError, SceneError) as error:
        where = f"{of}: " if of else ""
        raise CorpusError(f"{where}a claim cannot be read: {error}") from error
