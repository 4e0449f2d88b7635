"""Places the notes of a vault on a plane: notes of one folder and linked notes lie near each other.

Pure and deterministic: the same notes and links always give the same picture. The work grows with notes and links.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

Point = tuple[float, float]

_ROUNDS = 12
_GOLDEN_ANGLE = math.pi * (3 - math.sqrt(5))
_TO_NEIGHBOURS, _TO_FOLDER = 0.35, 0.05


def sunflower(count: int, radius: float) -> list[Point]:
    """Return points that fill a disc evenly, from its middle outwards."""
    return [
        (
            radius * math.sqrt((number + 0.5) / count) * math.cos(number * _GOLDEN_ANGLE),
            radius * math.sqrt((number + 0.5) / count) * math.sin(number * _GOLDEN_ANGLE),
        )
        for number in range(count)
    ]


def lay_out(folders: Sequence[int], links: Sequence[tuple[int, int]]) -> list[Point]:
    """Return the place of each note. ``folders``: the number of its folder; ``links``: pairs of places in that list."""
    sizes = Counter(folders)
    centres = _centres(sizes)
    places = {folder: iter(sunflower(size, math.sqrt(size))) for folder, size in sizes.items()}
    points = []
    for folder in folders:
        (x, y), (left, top) = next(places[folder]), centres[folder]
        points.append((x + left, y + top))
    for _ in range(_ROUNDS):
        points = _spread(_pulled(points, [centres[folder] for folder in folders], links))
    return [(round(x, 2), round(y, 2)) for x, y in points]


def _centres(sizes: Counter[int]) -> dict[int, Point]:
    """Return the middle of each folder: the largest in the middle, others in rings around it."""
    ranked = sorted(sizes, key=lambda folder: (-sizes[folder], folder))
    spots = sunflower(len(ranked), 1.6 * math.sqrt(sizes.total()))
    return dict(zip(ranked, spots, strict=True))


def _pulled(points: list[Point], centres: list[Point], links: Sequence[tuple[int, int]]) -> list[Point]:
    """Move each note some way to the middle of the notes it is linked with, and a little to its folder's."""
    across, down, count = [0.0] * len(points), [0.0] * len(points), [0] * len(points)
    for one, other in links:
        for here, there in ((one, other), (other, one)):
            x, y = points[there]
            across[here] += x
            down[here] += y
            count[here] += 1
    moved = []
    for number, (x, y) in enumerate(points):
        if count[number]:
            # A note that many link to stays about where it is: else all would fall onto it.
            part = _TO_NEIGHBOURS / math.sqrt(count[number])
            x += part * (across[number] / count[number] - x)  # noqa: PLW2901 - it moves
            y += part * (down[number] / count[number] - y)  # noqa: PLW2901 - as above
        left, top = centres[number]
        moved.append((x + _TO_FOLDER * (left - x), y + _TO_FOLDER * (top - y)))
    return moved


def _spread(points: list[Point]) -> list[Point]:
    """Move notes that lie in one cell of a grid apart, away from the cell's middle of weight."""
    cells: dict[tuple[int, int], list[int]] = {}
    for number, (x, y) in enumerate(points):
        cells.setdefault((int(x // 3), int(y // 3)), []).append(number)
    moved = [*points]
    for numbers in cells.values():
        if len(numbers) == 1:
            continue
        size = len(numbers)
        middle_x = sum(points[number][0] for number in numbers) / size
        middle_y = sum(points[number][1] for number in numbers) / size
        force = min(2.0, math.sqrt(size) / 4)
        for number, (x, y) in zip(numbers, sunflower(size, 1.0), strict=True):
            moved[number] = (
                points[number][0] + force * (0.5 * (points[number][0] - middle_x) + x),
                points[number][1] + force * (0.5 * (points[number][1] - middle_y) + y),
            )
    return moved
