"""Files that lie elsewhere: any URL that fsspec knows, and copies of them on this machine.

`remote` reads and writes, `faults` tells what went wrong; `copies` keeps what came, within its
`room`, and `reading` is what reads through it.
"""

from synth.storage.copies import Copies
from synth.storage.errors import StorageError
from synth.storage.reading import fetched, kept, local_place, opened, read_at, shown
from synth.storage.remote import Remote, Stored
from synth.storage.url import is_url, url_of

__all__ = [
    "Copies",
    "Remote",
    "StorageError",
    "Stored",
    "fetched",
    "is_url",
    "kept",
    "local_place",
    "opened",
    "read_at",
    "shown",
    "url_of",
]
