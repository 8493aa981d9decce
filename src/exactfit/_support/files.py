"""Writing files so that there is the old one or the new one, whole, whatever happens meanwhile."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path


def write_whole(path: str | os.PathLike[str], octets: bytes, what: str) -> None:
    """Write a file aside, then put it in place; on any failure nothing is left behind.

    Parameters
    ----------
    path : path
        A link stays, and what it points to is replaced.
    octets : bytes
    what : str
        What is written, for messages: "cannot save the model: ...".

    Examples
    --------
    >>> import os, tempfile
    >>> from exactfit._support.files import write_whole
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(os.path.join(folder, "a.txt"), b"whole", "the text")
    ...     os.listdir(folder)
    ['a.txt']
    """
    real = Path(os.path.realpath(path))
    if not real.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"cannot save {what}: there is no such folder", str(real.parent))
    aside = real.with_name(f".exactfit-{secrets.token_hex(8)}.tmp")
    try:
        with aside.open("xb") as file:
            file.write(octets)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, real)
    except OSError as error:
        raise OSError(error.errno, f"cannot save {what}: {error.strerror}", str(real)) from error
    finally:
        with suppress(OSError):
            aside.unlink()
    _sync_folder(real.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name outlast a power cut, where a folder can be opened and synced."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
