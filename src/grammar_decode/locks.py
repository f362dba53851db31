"""Locks of Python that a child of ``os.fork`` finds free. (Those of the kernel: cpp/core/fork_safe_mutex.h.)"""

from __future__ import annotations

import os
from threading import Lock
from typing import Protocol
from weakref import WeakSet


class Locked(Protocol):
    """An object whose parts are guarded by its lock."""

    _lock: Lock

    def __hash__(self) -> int:
        """By identity."""


_owners: WeakSet[Locked] = WeakSet()


def give_lock(owner: Locked) -> None:
    """Give the object a lock, and another one in every child of a fork: whoever holds this one is not there."""
    owner._lock = Lock()
    _owners.add(owner)


def _renew() -> None:
    for owner in list(_owners):
        owner._lock = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
