"""The browse page's server: reads a corpus, answers GET, changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
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

from pipelines.look.browse.drawing import (
    ImpossibleAudioError,
    SampleAudio,
    guess_media_type,
    parse_range,
)
from pipelines.look.browse.guard import (
    BusyError,
    Guard,
    Hosts,
    SlowSearchError,
    WorkKind,
    run_limited,
)
from pipelines.look.browse.query import (
    ChangedManifestError,
    Facets,
    Filter,
    LongSearchError,
    Manifest,
    ResultPage,
)
from pipelines.look.browse.view import (
    KeptPage,
    KeptPages,
    SampleView,
    add_sample,
    find_words,
    make_link,
    make_view,
    mark_words,
)
from pipelines.look.inspection import format_count
from pipelines.store.places import find_manifest
from synth.base.errors import SegueError, shorten
from synth.corpus.corpus import SAMPLES_FILE, Corpus
from synth.corpus.validation import is_key
from synth.storage import format_place, is_url

PAGE_SIZE: Final = 50
_STATUS: Final[dict[type[SegueError], int]] = {
    ImpossibleAudioError: 404,
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
        place: As the user named it.
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


@dataclass(frozen=True)
class Pages:
    """The answers, one method a route."""

    library: BrowsedCorpus
    templates: Jinja2Templates
    kept: KeptPages = field(default_factory=KeptPages)

    async def show_index(self, request: Request) -> Response:
        """The whole page: filters, one page of results, one sample."""
        wanted, number = Filter.of(request.query_params), _parse_page_number(request)
        name = _parse_selected(request)

        def make() -> KeptPage:
            found = self._find_page(wanted, number)
            shown = name or (found.rows[0]["id"] if found.rows else "")
            facets: Facets = self.library.manifest.facets
            return self._render(
                "index.html",
                filter=wanted,
                page=found,
                size=PAGE_SIZE,
                facets=facets,
                label_options=self._label_options,
                view=self._make_view(shown) if shown else None,
                selected=shown,
            )

        return await self._answer(request, ("index", wanted, number, name), make, wanted)

    async def show_results(self, request: Request) -> Response:
        """One page of results, to be put into the whole page."""
        wanted, number = Filter.of(request.query_params), _parse_page_number(request)
        name = _parse_selected(request)

        def make() -> KeptPage:
            found = self._find_page(wanted, number)
            return self._render(
                "_results.html", filter=wanted, page=found, size=PAGE_SIZE, selected=name
            )

        return await self._answer(request, ("results", wanted, number, name), make, wanted)

    async def show_sample(self, request: Request) -> Response:
        """One sample, to be put into the whole page."""
        wanted, name = Filter.of(request.query_params), _parse_name(request.path_params["id"])

        def make() -> KeptPage:
            return self._render("_sample.html", filter=wanted, view=self._make_view(name))

        return await self._answer(request, ("sample", wanted, name), make)

    async def send_audio(self, request: Request) -> Response:
        """A sample's audio file, or the part of it that `Range` asks for."""
        work = WorkKind.REMOTE if is_url(self.library.place) else WorkKind.PAGE
        return await run_limited(work, lambda: self._read_audio(request))

    def _read_audio(self, request: Request) -> Response:
        if self.library.sounds is None:
            raise HTTPException(404, "this corpus is planned but not rendered, so it has no audio")
        row = self._find_row(_parse_name(request.path_params["id"]))
        tag = f'"{row["sha256"]}"'
        headers = {"ETag": tag}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        data = self.library.sounds.read(row)
        same = request.headers.get("if-range", tag) == tag
        asked = parse_range(len(data), request.headers.get("range") if same else None)
        return Response(
            data[asked.start : asked.end],
            asked.status,
            headers | asked.headers,
            guess_media_type(row["member"]),
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
        context = {"library": self.library, "message": message, "fix": fix, "status": status}
        return self.templates.TemplateResponse(request, "error.html", context, status)

    async def _answer(
        self,
        request: Request,
        key: Hashable,
        make: Callable[[], KeptPage],
        wanted: Filter | None = None,
    ) -> Response:
        """A page that is kept, or made now; nothing where the browser has it already."""

        def make_whole() -> KeptPage:
            page = make()
            self.library.manifest.refuse_change()  # else it may be of both manifests
            return page

        self.library.manifest.refuse_change()
        work = WorkKind.SEARCH if wanted and wanted.text else WorkKind.PAGE
        page = await self.kept.get(key, lambda: run_limited(work, make_whole))
        headers = {"ETag": page.tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == page.tag:
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        return HTMLResponse(page.body, headers=headers)

    @cached_property
    def _label_options(self) -> Markup:
        """The labels to choose from: hundreds, in every whole page."""
        option = Markup('<option value="{}">{:,}</option>')
        return Markup("\n").join(
            option.format(label, count) for label, count in self.library.manifest.facets.label
        )

    def _render(self, template: str, **context: Any) -> KeptPage:
        text = self.templates.get_template(template).render(library=self.library, **context)
        return KeptPage.of(text)

    def _find_page(self, wanted: Filter, number: int) -> ResultPage:
        return self.library.manifest.find_page(wanted, number, PAGE_SIZE)

    def _find_row(self, name: str) -> Mapping[str, Any]:
        row = self.library.manifest.find_sample(name)
        self.library.manifest.refuse_change()
        if row is None:
            raise _make_unknown_error(name)
        return row

    def _make_view(self, name: str) -> SampleView:
        return make_view(self.library.manifest, self._find_row(name))


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
    environment.filters["mark_words"] = mark_words
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


def _parse_selected(request: Request) -> str:
    """The id of the sample that the page shows; "" where none is asked for."""
    text = request.query_params.get("sample", "")
    return _parse_name(text) if text else ""


def _parse_name(text: str) -> str:
    """The id of a sample; what cannot be one is refused before anything of it is kept."""
    if not is_key(text):
        raise _make_unknown_error(text)
    return text


def _make_unknown_error(name: str) -> HTTPException:
    return HTTPException(404, f"there is no sample {shorten(name)} in this corpus")


def _parse_page_number(request: Request) -> int:
    """The number of the page that is asked for; anything else is the first page."""
    text = request.query_params.get("page", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 1
