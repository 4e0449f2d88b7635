"""The engine's targets by the size of the vault. Memory is in MiB: 80 MB are 76 MiB, 150 MB 143 and 250 MB 238."""

from __future__ import annotations

from typing import NamedTuple

# The size of a usual vault, and of a larger one; beyond that a vault is large.
_USUAL_NOTES, _LARGER_NOTES = 10_000, 50_000


class Targets(NamedTuple):
    """Each is a maximum; None: there is none at this size."""

    search_p50_ms: float
    search_p99_ms: float
    warm_start_ms: float
    build_ms_a_note: float | None  # above the warm start
    build_s: float | None = None
    pattern_p50_ms: float = 150.0
    pattern_p95_ms: float = 1500.0
    list_ms: float = 20.0
    fuzzy_ms: float = 60.0
    graph_ms: float = 150.0
    fails_ms: float = 20.0
    check_s: float = 15.0
    check_again_s: float = 1.0
    check_same_s: float = 1.0
    change_ms_a_file: float = 3.0
    dry_run_s: float = 2.0
    change_peak_mib: float = 238.0
    peak_mib: float = 143.0
    memory_after_build_mib: float = 76.0
    memory_mib: float = 114.0  # 120 MB, after searches of all kinds
    index_by_text: float = 1.5
    structure_ms: float = 2.0
    reindex_ms: float = 10.0
    outside_ms: float = 100.0
    append_ms: float = 3.0
    rename_ms: float = 1500.0
    rename_dry_run_ms: float = 300.0
    least_faster: float | None = 30.0  # a minimum: than ripgrep, for words


def targets_of(notes: int) -> Targets:
    """Return the targets of a vault with so many notes."""
    if notes < _USUAL_NOTES:
        return Targets(2.0, 20.0, 400.0, 0.6, least_faster=None)  # ripgrep reads so few notes in some milliseconds
    if notes == _USUAL_NOTES:
        return Targets(2.0, 20.0, 400.0, 0.6, check_s=2.0, check_same_s=0.3)
    if notes <= _LARGER_NOTES:
        return Targets(3.0, 20.0, 1500.0, 0.6)
    return Targets(4.0, 60.0, 600.0, None, build_s=40.0)
