"""`segue browse`."""

from __future__ import annotations

import socket
import webbrowser
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Final

import typer

from pipelines.cli.common.options import CorpusArgument
from pipelines.cli.common.show import say
from synth.base.command import CommandResult, Tell
from synth.base.doors import make_console
from synth.base.errors import SegueError

if TYPE_CHECKING:
    from pipelines.look.browse.app import BrowsedCorpus

PORT: Final = 8765
_LAST_ANSWERS_S: Final = 3
_ANYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Addresses to listen at that are none to open."""


def browse_command(
    corpus: CorpusArgument,
    host: str = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = PORT,
    open_page: Annotated[bool, typer.Option("--open")] = False,
    *,
    tell: Tell,
) -> None:
    """Browse a corpus on a local web page: search, filter, play and compare.

    The page changes nothing, and nothing leaves this machine. A plan is shown without audio.

    Example: `segue browse data_manifests/triplets`

    Args:
        host: Address to listen on. Any but loopback exposes the corpus to the network.
        port: Port to listen on; 0 picks a free one.
        open_page: Open the page in the browser.
    """
    from pipelines.look.browse.app import BrowsedCorpus  # the server takes a while to load
    from pipelines.look.browse.guard import is_loopback

    library = BrowsedCorpus.open(corpus)
    console = make_console(stderr=True)
    with closing(library.manifest), closing(_open_listener(host, port)) as listener:
        with console.status(f"reading {library.manifest.rows:,} samples"):
            _ = library.manifest.facets  # so that the first page comes as fast as the others
        address = _format_address(_ANYWHERE.get(host, host), listener.getsockname()[1])
        if not is_loopback(host):
            console.print(
                f"[bold]warning:[/] anyone who can reach {host} over the network can see "
                "and hear this corpus; there is no password"
            )
        line = f"{library.name} {library.version}: {address}  (Ctrl-C stops it)"
        tell(
            CommandResult(
                {"url": address, "corpus": library.name, "version": library.version},
                lambda: say(line),
            )
        )
        if open_page:
            webbrowser.open(address)
        _serve(library, host, listener)


def _serve(library: BrowsedCorpus, host: str, listener: socket.socket) -> None:
    import uvicorn

    from pipelines.look.browse.app import create_app
    from pipelines.look.browse.guard import Hosts

    settings = uvicorn.Config(
        create_app(library, Hosts.of(host)),
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=_LAST_ANSWERS_S,
    )
    try:
        uvicorn.Server(settings).run(sockets=[listener])
    except KeyboardInterrupt:
        return


def _open_listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise SegueError(
            f"cannot listen on {_format_address(host, port)} {error}",
            fix="choose another --port, or --port 0 for a free one",
        ) from error
    listener.listen(128)
    return listener


def _format_address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
