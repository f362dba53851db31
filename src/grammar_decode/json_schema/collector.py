"""The garbage collector at rest while a schema is compiled.

A compilation makes up to millions of objects. All of them live until its end, when it takes them apart itself
(``Lowering.dismantle``), so collections on the way find nothing, and took a sixth of the time.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_resting = threading.Lock()


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """No automatic collections inside, if none of the process's threads is inside already, and if there are any at all.

    The collector belongs to the whole process. It rests for one compilation at a time, so between two of them it
    catches up, however many threads compile.
    """
    if not gc.isenabled() or not _resting.acquire(blocking=False):
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        _resting.release()
