"""Scenario files of drive: lanes and cars as JSON, read with errors that name the place in the file, and written.

    {"version": 1,
     "lanes": [{"id": 0, "width": 3.7, "points": [[x, y], ...], "next": [1, 2]}, ...],
     "cars": [{"x": 0, "y": 0, "heading": 0, "speed": 0, "length": 4.5, "width": 1.9, "goal": [x, y], "route": [0, 1]}, ...]}

Metres, radians, metres per second; y points up. A lane's `next` are the ids of those that begin where it ends. `route`, ids of
lanes, may be missing: then it is the shortest one. So may `width`, `next`, `speed` and `length`: see LANE and CAR.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pufferlib.atomic import replacing
from pufferlib.buffers import Array
from pufferlib.errors import ConfigError
from pufferlib_ocean.drive.lanes import Lanes

if TYPE_CHECKING:
    from pufferlib_ocean.drive.drive import Drive

MAX_BYTES = 4 << 20
MAX_CARS = 64
MAX_COORDINATE_M = 5_000
MAX_LANES_M = 200_000
MAX_ROUTE_M = 10_000
NEEDED: Any = object()
LANE: dict[str, Any] = {"id": NEEDED, "width": 3.7, "points": NEEDED, "next": ()}
CAR: dict[str, Any] = {
    "x": NEEDED, "y": NEEDED, "heading": NEEDED, "speed": 0.0, "length": 4.5, "width": 1.9, "goal": NEEDED, "route": None,
}  # fmt: skip
"""The keys of a lane and of a car, and what holds where one is missing."""


def pack_scenario(path: str) -> bytes:
    """What C reads of a scenario file (DriveFile in drive_roads.h). Raises ConfigError that names the place in the file."""
    try:
        return pack(read_json(path))
    except ConfigError as error:
        raise ConfigError(f"drive: scenario {path}: {error}") from None


def count_cars(packed: bytes) -> int:
    """The cars of a packed scenario."""
    return int(np.frombuffer(packed, np.int32, 5)[3])


# ---------------------------------------------------------------- reading


def read_json(path: str) -> Any:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"must have at most {MAX_BYTES} bytes, got {len(data)}")
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=no_twins)
    except UnicodeDecodeError:
        raise ConfigError("is not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"is not valid JSON: {error}") from None


def no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} stands twice in one object")
    return found


def pack(scenario: Any) -> bytes:
    top = record("the file", scenario, {"version": NEEDED, "lanes": NEEDED, "cars": NEEDED})
    if isinstance(top["version"], bool) or top["version"] != 1:
        raise ConfigError(f"version must be 1, got {top['version']!r}")
    lanes = read_lanes(listed("lanes", top["lanes"], 1))
    cars = listed("cars", top["cars"], 1, MAX_CARS)
    numbers: list[Array] = []
    routes: list[list[int]] = []
    for i, car in enumerate(cars):
        read, route = read_car(f"cars[{i}]", car, lanes)
        numbers.append(np.concatenate([read.view(np.int32), np.array([sum(len(r) for r in routes), len(route)], np.int32)]))
        routes.append(route)
    packed_lanes = np.column_stack([lanes.first_points, lanes.counts, list(map(len, lanes.nexts)), lanes.widths.view(np.int32)])
    every_next = [n for nexts in lanes.nexts for n in nexts]
    every_route = [lane for route in routes for lane in route]
    head = [len(lanes.counts), len(lanes.points), len(every_next), len(cars), len(every_route)]
    parts = [head, packed_lanes, lanes.points.view(np.int32), every_next, np.stack(numbers), every_route]
    return b"".join(np.asarray(part, np.int32).tobytes() for part in parts)


def read_lanes(lanes: Sequence[Any]) -> Lanes:
    records = [record(f"lanes[{i}]", lane, LANE) for i, lane in enumerate(lanes)]
    index: dict[int, int] = {}
    for i, lane in enumerate(records):
        lane_id = whole(f"lanes[{i}].id", lane["id"])
        if lane_id in index:
            raise ConfigError(f"lanes[{i}].id must be unique, got {lane_id}, which lanes[{index[lane_id]}] has, too")
        index[lane_id] = i
    nexts = [indices(f"lanes[{i}].next", lane["next"], index) for i, lane in enumerate(records)]
    widths = np.array([number(f"lanes[{i}].width", lane["width"], 1, 20) for i, lane in enumerate(records)], np.float32)
    points = [read_points(f"lanes[{i}].points", lane["points"]) for i, lane in enumerate(records)]
    read = Lanes(points, widths, nexts, list(index))
    if read.lengths.sum() > MAX_LANES_M:
        raise ConfigError(f"lanes must have at most {MAX_LANES_M} m in all, got {read.lengths.sum():.0f} m")
    return read


def read_points(where: str, points: Any) -> Array:
    read = np.array([place(f"{where}[{k}]", point) for k, point in enumerate(listed(where, points, 2))], np.float32)
    repeated = np.flatnonzero(~np.diff(read, axis=0).any(axis=1))
    if repeated.size:
        k = int(repeated[0])
        raise ConfigError(f"{where}[{k + 1}] must differ from the point before it, got {read[k].tolist()} twice")
    return read


def read_car(where: str, car: Any, lanes: Lanes) -> tuple[Array, list[int]]:
    """float32[8]: x, y, heading, speed, length, width and the goal; and the indices of its route's lanes."""
    car = record(where, car, CAR)
    x, y = (number(f"{where}.{axis}", car[axis], -MAX_COORDINATE_M, MAX_COORDINATE_M) for axis in "xy")
    heading = number(f"{where}.heading", car["heading"], -1e6, 1e6)
    if abs(heading) > 3.1416:  # a saved float32 of pi is above pi, and shall stay what it is
        heading = math.remainder(heading, 2 * math.pi)
    speed = number(f"{where}.speed", car["speed"], -2, 20)
    length, width = number(f"{where}.length", car["length"], 0.5, 20), number(f"{where}.width", car["width"], 0.5, 5)
    goal = place(f"{where}.goal", car["goal"])
    if car["route"] is None:
        route = lanes.shortest_route((x, y), heading, goal)
        if route is None:
            raise ConfigError(f"{where}.goal must be on a lane to which a route leads, got {list(goal)}: there is no route")
    else:
        index = {lane_id: i for i, lane_id in enumerate(lanes.ids)}
        route = indices(f"{where}.route", car["route"], index, 1)
        for k, (a, b) in enumerate(itertools.pairwise(route)):
            if b not in lanes.nexts[a]:
                raise ConfigError(f"{where}.route[{k + 1}] must be a next lane of {lanes.ids[a]}, got {lanes.ids[b]}")
        if len(route) == 1 and lanes.along(route[0], goal) < lanes.along(route[0], (x, y)):
            raise ConfigError(f"{where}.route must lead to the goal, which lies behind the car on lane {lanes.ids[route[0]]}")
    metres = float(lanes.lengths[route].sum())
    if metres > MAX_ROUTE_M:
        raise ConfigError(f"{where}.route must have at most {MAX_ROUTE_M} m, got {metres:.0f} m")
    return np.array([x, y, heading, speed, length, width, *goal], np.float32), route


def record(where: str, value: Any, keys: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be an object with the keys {', '.join(keys)}, got {brief(value)}")
    for key in value:
        if key not in keys:
            raise ConfigError(f"{where} has an unknown key {key!r}; it takes {', '.join(keys)}")
    for key, default in keys.items():
        if default is NEEDED and key not in value:
            raise ConfigError(f"{where} must have the key {key!r}")
    return {**keys, **value}


def listed(where: str, value: Any, least: int, most: int | None = None) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)):
        raise ConfigError(f"{where} must be a list, got {brief(value)}")
    if len(value) < least or (most is not None and len(value) > most):
        limit = f"at least {least}" if len(value) < least else f"at most {most}"
        raise ConfigError(f"{where} must have {limit} entries, got {len(value)}")
    return value


def number(where: str, value: Any, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:  # NaN compares false
        raise ConfigError(f"{where} must be a number in [{low:g}, {high:g}], got {brief(value)}")
    return float(value)


def whole(where: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f"{where} must be an integer, got {brief(value)}")
    return value


def place(where: str, value: Any) -> tuple[float, float]:
    x, y = listed(where, value, 2, 2)
    return tuple(number(f"{where}[{k}]", v, -MAX_COORDINATE_M, MAX_COORDINATE_M) for k, v in enumerate((x, y)))  # type: ignore[return-value]


def indices(where: str, value: Any, index: Mapping[int, int], least: int = 0) -> list[int]:
    found = []
    for k, lane_id in enumerate(listed(where, value, least)):
        if whole(f"{where}[{k}]", lane_id) not in index:
            raise ConfigError(f"{where}[{k}] must be the id of a lane, got {lane_id}")
        found.append(index[lane_id])
    return found


def brief(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."


# ---------------------------------------------------------------- writing

POOL = np.dtype([("maps", "i4"), ("route_capacity", "i4"), ("first_map", "u8"), ("map_bytes", "u8")])
MAP = np.dtype([
    ("lanes", "i4"), ("points", "i4"), ("nexts", "i4"), ("samples", "i4"), ("grids", "i4", 4),
    ("lanes_at", "u4"), ("points_at", "u4"), ("nexts_at", "u4"), ("samples_at", "u4"), ("lane_of_at", "u4"),
])  # fmt: skip
LANE_IN_C = np.dtype([
    ("first_point", "i4"), ("points", "i4"), ("first_next", "i4"), ("nexts", "i4"), ("first_sample", "i4"), ("samples", "i4"),
    ("width", "f4"),
])  # fmt: skip
CAR_IN_C = np.dtype({
    "names": ["x", "y", "heading", "speed", "length", "width", "goal", "status", "route_length", "at"],
    "formats": ["f4", "f4", "f4", "f4", "f4", "f4", ("f4", 2), "i4", "i4", "i4"],
    "offsets": [0, 4, 8, 12, 16, 20, 24, 32, 36, 56],
    "itemsize": 128,
})  # fmt: skip
"""The structs of drive_map.h, drive_roads.h and drive_cars.h, as far as they are read here."""
FIRST_PRESENT_STATUS = 2


def save_scenario(env: Drive, path: str | Path, world: int = 0) -> None:
    """Write the map and the cars of a world of `env`, as they now are, to a scenario file. Its lanes load to the same bits.

    Raises ConfigError if no car is in the world.
    """
    shared, state = env.shared_bytes(), env.world_bytes(world)
    pool, cars = np.frombuffer(shared, POOL, 1)[0], env.agents_per_env
    map_index = int(np.frombuffer(state, np.int32, 1, len(state) - 64)[0])
    lanes, lane_of = lanes_in(shared[int(pool["first_map"] + map_index * pool["map_bytes"]) :])
    cars_at = len(state) - 64 - cars * CAR_IN_C.itemsize
    routes_at = cars_at - 2 * (-(-cars * int(pool["route_capacity"]) * 4 // 64) * 64)
    routes = np.frombuffer(state, np.int32, cars * int(pool["route_capacity"]), routes_at).reshape(cars, -1)
    present = [
        car_in(car, routes[i, car["at"] : car["route_length"]], lane_of)
        for i, car in enumerate(np.frombuffer(state, CAR_IN_C, cars, cars_at))
        if car["status"] >= FIRST_PRESENT_STATUS
    ]
    if not present:
        raise ConfigError(f"drive: world must have a car in it to be saved, world {world} has none")
    with replacing(path, "w") as file:
        json.dump({"version": 1, "lanes": lanes, "cars": present}, file)


def lanes_in(block: bytes) -> tuple[list[dict[str, Any]], Array]:
    """The lanes of a map in C, and the lane of each sample."""
    head = np.frombuffer(block, MAP, 1)[0]
    points = np.frombuffer(block, np.float32, 2 * int(head["points"]), int(head["points_at"])).reshape(-1, 2)
    nexts = np.frombuffer(block, np.int32, int(head["nexts"]), int(head["nexts_at"]))
    lanes = [
        {
            "id": i,
            "width": float(lane["width"]),
            "points": points[lane["first_point"] :][: lane["points"]].tolist(),
            "next": nexts[lane["first_next"] :][: lane["nexts"]].tolist(),
        }
        for i, lane in enumerate(np.frombuffer(block, LANE_IN_C, int(head["lanes"]), int(head["lanes_at"])))
    ]
    return lanes, np.frombuffer(block, np.int32, int(head["samples"]), int(head["lane_of_at"]))


def car_in(car: Any, samples: Array, lane_of: Array) -> dict[str, Any]:
    starts = np.flatnonzero(np.diff(samples, prepend=-2) != 1)  # a lane's samples follow each other
    lanes = lane_of[samples]
    changes = np.flatnonzero(np.diff(lanes, prepend=-1))
    numbers = {key: float(car[key]) for key in ("x", "y", "heading", "speed", "length", "width")}
    return {**numbers, "goal": car["goal"].tolist(), "route": lanes[np.union1d(starts, changes)].tolist()}
