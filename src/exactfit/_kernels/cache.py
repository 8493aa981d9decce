"""Disk cache of compiled kernels: what cannot be kept there, or was damaged there, is compiled in memory."""

from __future__ import annotations

import pickle
import warnings
from contextlib import suppress
from hashlib import sha256
from typing import Any, ClassVar

from numba.core.caching import FunctionCache, IndexDataCacheFile

DIGEST_SIZE = sha256().digest_size


class KernelCache(FunctionCache):  # type: ignore[misc]  # numba has no types
    """Numba's cache of one function, which counts as empty where it cannot be read or written.

    Raises RuntimeError if there is no folder for it.
    """

    _warned: ClassVar[set[str]] = set()  # folders, of all caches

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        impl = self._impl
        # A name of its own: files of the same functions that numba wrote without digests are of another form.
        self._cache_file = _CheckedFiles(
            self._cache_path, f"{impl.filename_base}-sha256", impl.locator.get_source_stamp()
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel, or None: then the compiler makes it anew."""
        # Damaged bytes raise whatever they lead the unpickler to; an index that an earlier version wrote may hold types
        # that are gone, which is no damage.
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:
            if not isinstance(error, AttributeError | ImportError):
                self._warn(error)
            with suppress(Exception):
                self.flush()  # or a damaged index would be met again by every process
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel, if the disk is not full."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            self._warn(error)

    def _warn(self, error: Exception) -> None:
        if self._cache_path in self._warned:
            return
        self._warned.add(self._cache_path)
        warnings.warn(
            f"compiled kernels cannot be read from or kept in {self._cache_path} ({type(error).__name__}: {error}): "
            "they are compiled in memory, which takes seconds. If this is said again, make room there, delete its "
            "*.nbi and *.nbc files, or set NUMBA_CACHE_DIR to another folder",
            RuntimeWarning,
            stacklevel=2,
        )


class _CheckedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """Index and data files whose entries carry a digest."""

    # Machine code with one wrong bit may run, and miscalculate.

    def save(self, key: Any, data: Any) -> None:
        content = self._dump((key, data))
        super().save(key, sha256(content).digest() + content)

    def load(self, key: Any) -> Any:
        entry = super().load(key)
        if entry is None:
            return None
        digest, content = entry[:DIGEST_SIZE], entry[DIGEST_SIZE:]
        if digest != sha256(content).digest():
            raise ValueError("a file is damaged")
        saved_key, data = pickle.loads(content)
        if saved_key != key:
            raise ValueError("an index is damaged")
        return data
