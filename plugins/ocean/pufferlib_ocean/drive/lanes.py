"""The lanes of a scenario as arrays, places on them, and shortest routes."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pufferlib.buffers import Array

AS_NEAR_M = 0.5
"""A place is on the nearest lane and on those that are at most this much farther away: at junctions lanes overlap."""


class Lanes:
    """points: float32[k, 2] for each lane; widths: float32[lanes]; nexts: indices of each lane's successors; ids: the file's."""

    def __init__(self, points: Sequence[Array], widths: Array, nexts: list[list[int]], ids: list[int]) -> None:
        self.widths, self.nexts, self.ids = widths, nexts, ids
        self.points = np.concatenate(points)
        self.counts = np.array([len(line) for line in points], np.int32)
        self.first_points = (np.cumsum(self.counts) - self.counts).astype(np.int32)
        inner = np.ones(len(self.points) - 1, bool)
        inner[self.first_points[1:] - 1] = False  # not from one lane's end to the next one's start
        steps = np.diff(self.points.astype(np.float64), axis=0)[inner]
        self._from, self._step, self._metres = self.points[:-1][inner].astype(np.float64), steps, np.hypot(*steps.T)
        self._first_steps = self.first_points - np.arange(len(points))
        self.lengths = np.add.reduceat(self._metres, self._first_steps)
        before = np.cumsum(self._metres) - self._metres
        self._before = before - np.repeat(before[self._first_steps], self.counts - 1)

    def project(self, place: Sequence[float]) -> tuple[Array, Array, Array]:
        """For each lane: distance of `place`, metres along the lane to the nearest point, heading there."""
        offset = np.asarray(place, np.float64) - self._from
        share = np.clip((offset * self._step).sum(axis=1) / self._metres**2, 0, 1)
        squared = ((offset - share[:, None] * self._step) ** 2).sum(axis=1)
        order = np.lexsort((squared, np.repeat(np.arange(len(self.counts)), self.counts - 1)))
        best = order[self._first_steps]
        headings = np.arctan2(self._step[best, 1], self._step[best, 0])
        return np.sqrt(squared[best]), self._before[best] + share[best] * self._metres[best], headings

    def along(self, lane: int, place: Sequence[float]) -> float:
        """Metres along a lane to the point nearest to `place`."""
        return float(self.project(place)[1][lane])

    def on(self, place: Sequence[float], heading: float | None = None) -> dict[int, float]:
        """The lanes nearest to a place: {lane: metres along it}. With `heading`, of those that lead about that way, if any do."""
        distances, along, headings = self.project(place)
        fits = np.ones(len(distances), bool) if heading is None else np.cos(headings - heading) > 0
        distances = np.where(fits | ~fits.any(), distances, np.inf)
        return {int(lane): float(along[lane]) for lane in np.flatnonzero(distances <= distances.min() + AS_NEAR_M)}

    def shortest_route(self, start: Sequence[float], heading: float, goal: Sequence[float]) -> list[int] | None:
        """Lanes from the car's one to the goal's, least metres in all (Dijkstra's algorithm); None: there is no way."""
        starts, goals = self.on(start, heading), self.on(goal)
        best, route = math.inf, None
        for lane in starts.keys() & goals.keys():
            if 0 <= goals[lane] - starts[lane] < best:
                best, route = goals[lane] - starts[lane], [lane]
        queue: list[Any] = [(self.lengths[a] - metres, b, -1 - a) for a, metres in starts.items() for b in self.nexts[a]]
        heapq.heapify(queue)
        came_from: dict[int, int] = {}
        while queue:
            metres, lane, before = heapq.heappop(queue)
            if lane in came_from or metres >= best:
                continue
            came_from[lane] = before
            if lane in goals and metres + goals[lane] < best:
                best, route = metres + goals[lane], way_back(lane, came_from)
            for after in self.nexts[lane]:
                heapq.heappush(queue, (metres + self.lengths[lane], after, lane))
        return route


def way_back(lane: int, came_from: dict[int, int]) -> list[int]:
    """From the start to `lane`. A start stands there as -1 - lane, since a route may come by again."""
    route = [lane]
    while route[-1] >= 0:
        route.append(came_from[route[-1]])
    return [-1 - route[-1], *reversed(route[:-1])]
