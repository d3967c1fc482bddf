from typing import Any

class AreaShrink:
    source: tuple[int, int]
    target: tuple[int, int]
    def __init__(self, source: tuple[int, int], target: tuple[int, int]) -> None: ...
    def __call__(self, a: Any, b: Any, out: Any) -> None: ...
