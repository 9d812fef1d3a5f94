"""Files at URLs: any that fsspec knows, and copies of them on this machine.

`remote` reads and writes, `faults` tells what went wrong; `copies` keeps what came, within its
`room`, and `reading` is what reads through it. `made` keeps files that are made here beside them.
"""

from synth.storage.copies import Copies, open_made
from synth.storage.faults import StorageError
from synth.storage.reading import display_path, fetch, local_place, open_file, open_mapped, read_at
from synth.storage.remote import Remote, Stored
from synth.storage.url import format_place, is_url, may_be_folder, refuse_url, resolve_place, url_of

__all__ = [
    "Copies",
    "Remote",
    "StorageError",
    "Stored",
    "display_path",
    "fetch",
    "format_place",
    "is_url",
    "local_place",
    "may_be_folder",
    "open_file",
    "open_made",
    "open_mapped",
    "read_at",
    "refuse_url",
    "resolve_place",
    "url_of",
]
