"""Options of a watched model."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional


class Options(NamedTuple):
    """Arguments of watch() with the same names."""

    every: int
    steps: Optional[bool]
    scaler: Any
    grad_norm_every: int
    inputs: Optional[str]
    labels: bool
    batch_axis: Optional[int]
    collectives: bool
    history_bytes: int
