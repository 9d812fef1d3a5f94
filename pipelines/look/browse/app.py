"""The browse page's server: reads a corpus, answers GET, changes nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import jinja2
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.templating import Jinja2Templates

from pipelines.look.browse.drawing import SampleAudio, parse_range
from pipelines.look.browse.guard import (
    BusyError,
    Guard,
    Hosts,
    SlowSearchError,
    Workers,
    WorkKind,
)
from pipelines.look.browse.query import (
    ChangedManifestError,
    Filter,
    LongSearchError,
    Manifest,
)
from pipelines.look.browse.view import (
    add_sample,
    find_words,
    make_link,
    make_view,
    mark_words,
)
from pipelines.store.places import find_manifest
from synth.base.atomic import format_count
from synth.base.errors import SegueError, shorten
from synth.base.own_label import name_of
from synth.corpus.corpus import SAMPLES_FILE, Corpus
from synth.corpus.validation import is_key
from synth.storage import format_place, is_url

PAGE_SIZE: Final = 50
_PAGES_KEPT: Final = 256
_STATUS: Final[dict[type[SegueError], int]] = {
    LongSearchError: 400,
    SlowSearchError: 408,
    BusyError: 503,
    ChangedManifestError: 503,
}
_HERE: Final = Path(__file__).parent


@dataclass(frozen=True)
class BrowsedCorpus:
    """A corpus, or a plan that is not rendered, open for browsing.

    Args:
        sounds: Its audio; None for a plan.
    """

    place: str
    manifest: Manifest
    sounds: SampleAudio | None

    @classmethod
    def open(cls, place: Path) -> BrowsedCorpus:
        """Open what `find_manifest` takes."""
        path = find_manifest(place)
        rendered = path.name == SAMPLES_FILE
        sounds = SampleAudio(Corpus.open(path.parent)) if rendered else None
        return cls(format_place(place), Manifest(path), sounds)

    @property
    def name(self) -> str:
        """The corpus's name."""
        return self.manifest.path.parent.parent.name

    @property
    def version(self) -> str:
        """The version's name."""
        return self.manifest.path.parent.name


class Pages:
    """The answers, one method a route. What a corpus shows does not change while it is served."""

    def __init__(self, library: BrowsedCorpus, templates: Jinja2Templates) -> None:
        self._library = library
        self._templates = templates
        self._workers = Workers()
        self._make = lru_cache(_PAGES_KEPT)(self._make_page)

    async def show_index(self, request: Request) -> Response:
        """The whole page: filters, one page of results, one sample."""
        return await self._answer(
            request, "index.html", _parse_name(request.query_params.get("sample", ""))
        )

    async def show_results(self, request: Request) -> Response:
        """One page of results, to be put into the whole page."""
        return await self._answer(
            request, "_results.html", _parse_name(request.query_params.get("sample", ""))
        )

    async def show_sample(self, request: Request) -> Response:
        """One sample, to be put into the whole page."""
        return await self._answer(request, "_sample.html", _parse_name(request.path_params["id"]))

    async def send_audio(self, request: Request) -> Response:
        """A sample's audio file, or the part of it that `Range` asks for."""
        work = WorkKind.REMOTE if is_url(self._library.place) else WorkKind.PAGE
        return await self._workers.run(work, lambda: self._read_audio(request))

    def _read_audio(self, request: Request) -> Response:
        if self._library.sounds is None:
            raise HTTPException(404, "this corpus is planned but not rendered, so it has no audio")
        row = self._find_row(_parse_name(request.path_params["id"]))
        tag = f'"{row["sha256"]}"'
        headers = {"ETag": tag, "Accept-Ranges": "bytes"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        data, kind = self._library.sounds.read(row), f"audio/{row['member'].rpartition('.')[2]}"
        is_same = request.headers.get("if-range", tag) == tag
        part = parse_range(len(data), request.headers.get("range", "")) if is_same else None
        if part is None:
            return Response(data, headers=headers, media_type=kind)
        if not part:
            headers["Content-Range"] = f"bytes */{len(data)}"
            return Response(status_code=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, headers=headers)
        headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{len(data)}"
        return Response(
            data[part.start : part.stop], HTTPStatus.PARTIAL_CONTENT, headers, media_type=kind
        )

    def show_failure(self, request: Request, error: Exception) -> Response:
        """What went wrong, as a page or as JSON, whichever is asked for."""
        if isinstance(error, HTTPException):
            status, message, fix = error.status_code, error.detail, ""
        elif isinstance(error, SegueError):
            status = _STATUS.get(type(error), 500)
            message, fix = error.message, error.fix
        else:
            status, message, fix = 500, str(error), ""
        if "text/html" not in request.headers.get("accept", ""):
            return JSONResponse({"error": message, "fix": fix}, status)
        context = {"library": self._library, "message": message, "fix": fix, "status": status}
        return self._templates.TemplateResponse(request, "error.html", context, status)

    async def _answer(self, request: Request, template: str, sample: str) -> Response:
        """A page; nothing where the browser has it already."""
        search, page = Filter.of(request.query_params), request.query_params.get("page", "")
        number = int(page) if page.isascii() and page.isdigit() and len(page) < 10 else 1
        self._library.manifest.refuse_change()
        is_search = search.text and template != "_sample.html"
        work = WorkKind.SEARCH if is_search else WorkKind.PAGE
        body, tag = await self._workers.run(
            work, lambda: self._make(template, search, number, sample)
        )
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        return HTMLResponse(body, headers=headers)

    def _make_page(
        self, template: str, search: Filter, number: int, sample: str
    ) -> tuple[bytes, str]:
        """A page or a part of one, and its `ETag`: equal for equal bodies."""
        manifest = self._library.manifest
        values: dict[str, Any] = {"library": self._library, "filter": search}
        if template != "_sample.html":
            page = manifest.find_page(search, number, PAGE_SIZE)
            values |= {"page": page, "size": PAGE_SIZE}
            if template == "index.html" and page.rows:
                sample = sample or page.rows[0]["id"]
        if template != "_results.html":
            values["view"] = make_view(manifest, self._find_row(sample)) if sample else None
        if template == "index.html":
            values |= {"facets": manifest.facets, "label_options": self._label_options}
        text = self._templates.get_template(template).render(values, selected=sample)
        manifest.refuse_change()  # else it may be of both manifests
        body = text.encode()
        return body, f'"{hashlib.sha256(body).hexdigest()[:32]}"'

    @cached_property
    def _label_options(self) -> Markup:
        """The labels to choose from: hundreds, in every whole page."""
        option = Markup('<option value="{}">{:,}</option>')
        return Markup("\n").join(
            option.format(label, count) for label, count in self._library.manifest.facets.label
        )

    def _find_row(self, name: str) -> Mapping[str, Any]:
        row = self._library.manifest.find_sample(name)
        self._library.manifest.refuse_change()
        if row is None:
            raise _make_unknown_error(name)
        return row


def create_app(library: BrowsedCorpus, hosts: Hosts) -> Starlette:
    """The application that shows a library to requests that name one of `hosts`."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"mark_words": mark_words, "name_of": name_of}
    environment.globals |= {
        "add_sample": add_sample,
        "find_words": find_words,
        "format_count": format_count,
        "make_link": make_link,
    }
    pages = Pages(library, Jinja2Templates(env=environment))
    return Starlette(
        routes=[
            Route("/", pages.show_index, methods=["GET"]),
            Route("/results", pages.show_results, methods=["GET"]),
            Route("/samples/{id}", pages.show_sample, methods=["GET"]),
            Route("/audio/{id}", pages.send_audio, methods=["GET"]),
            Mount("/static", StaticFiles(directory=_HERE / "static")),
        ],
        middleware=[Middleware(Guard, hosts=hosts)],
        exception_handlers={
            HTTPException: pages.show_failure,
            SegueError: pages.show_failure,
            OSError: pages.show_failure,
        },
    )


def _parse_name(text: str) -> str:
    """The id of a sample, "" for none; what cannot be one is refused before it is kept."""
    if text and not is_key(text):
        raise _make_unknown_error(text)
    return text


def _make_unknown_error(name: str) -> HTTPException:
    return HTTPException(404, f"there is no sample {shorten(name)} in this corpus")
