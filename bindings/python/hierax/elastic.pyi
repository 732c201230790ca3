# SPDX-License-Identifier: BSD-3-Clause
from collections.abc import Iterator, Mapping
from typing import Any

from . import Buffer, Comm, Error

FAILURES: tuple[type[Error], ...]

class Loop:
    state: Mapping[str, Buffer]
    steps: int
    comm: Comm
    revision: int
    failures: int
    report: dict[str, Any] | None
    every: int
    least: int
    most: int | None
    seconds: float
    def __init__(
        self, state: Mapping[str, Buffer], steps: int, comm: Comm | None = None, revision: int = 0, new: bool = False,
        every: int = 10, least: int = 1, most: int | None = None, seconds: float = 300.0
    ) -> None: ...
    def sync(self) -> None: ...
    def recover(self) -> None: ...
    def __iter__(self) -> Iterator[Loop]: ...
    def __enter__(self) -> Comm: ...
    def __exit__(self, kind: object, error: object, trace: object) -> bool: ...
