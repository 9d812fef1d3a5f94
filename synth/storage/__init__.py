"""Files that lie elsewhere: any URL that fsspec knows, and copies of them on this machine.

`remote` reads and writes, `faults` tells what went wrong, `copies` keeps what was read.
"""

from synth.storage.copies import Copies, fetched, local_place
from synth.storage.errors import StorageError
from synth.storage.remote import Remote, Stored
from synth.storage.url import is_url, url_of

__all__ = [
    "Copies",
    "Remote",
    "StorageError",
    "Stored",
    "fetched",
    "is_url",
    "local_place",
    "url_of",
]
