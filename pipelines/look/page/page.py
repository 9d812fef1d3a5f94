"""Writing a page: templates with their text escaped, and a file that replaces only its like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined

from synth.base.atomic import write_text
from synth.base.doors import open_regular
from synth.base.errors import SpecError
from synth.storage import is_url

_SIGN: Final = b'<meta name="generator" content="segue report">'
_HEAD: Final = 2000


@dataclass(frozen=True, slots=True)
class Page:
    """A page that stands alone.

    Args:
        name: What it is of, in letters that a file's name may have.
        facts: What a program wants to know of it, as JSON values.
    """

    name: str
    html: str
    facts: Mapping[str, Any]


def render_page(template: str, packages: Mapping[str, str], **values: Any) -> str:
    """A page from a template; equal values give equal text.

    Args:
        template: `PREFIX/NAME` of the template, which extends `page/base.html`.
        packages: Packages with a folder `templates`, by the prefix that their templates go by.
        **values: What the template shows; every text is escaped.
    """
    rooms = {"page": "pipelines.look.page", **packages}
    environment = Environment(
        loader=PrefixLoader({prefix: PackageLoader(name) for prefix, name in rooms.items()}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(values)


def write_page(page: Page, out: Path) -> None:
    """Write a page to a file; an older report there is replaced."""
    if is_url(out):
        raise SpecError(f"--out {out}: a report is written to a file", fix="give a file's name")
    if out.is_dir():
        raise SpecError(f"--out {out}: this is a folder", fix=f"give {out / page.name}.html")
    if out.exists():
        with open_regular(out, refuse=SpecError) as file:
            if _SIGN not in file.read(_HEAD):
                raise SpecError(
                    f"--out {out}: exists and is not a report of Segue",
                    fix="choose another --out, or remove the file",
                )
    write_text(out, page.html)
