MAX_LAYERS: int
MAX_CELLS: int
MAX_WIDTH: int
CELL_WIDTH_UNIT: int
CELLS: dict[str, int]

Inputs = tuple[int, bool, int, int]
States = tuple[int, ...]

class Net:
    def __init__(
        self,
        widths: list[int],
        outputs: int,
        cell: str = "",
        cells: int = 0,
        threads: int = 1,
        instructions: str = "",
        codes: tuple[int, int, int] = (0, 0, 0),
    ) -> None: ...
    def load(self, weights: list[int], biases: list[int], scale: int, mean: int, factor: int) -> None: ...
    def forward(self, inputs: Inputs, states: States, horizon: int, rows: int, outputs: int) -> None: ...
    def backward(self, inputs: Inputs, states: States, horizon: int, rows: int, d_outputs: int) -> None: ...
    def ppo(
        self, inputs: Inputs, states: States, horizon: int, given: tuple[int | float, ...], outputs: int, ratios: int, stats: int
    ) -> None: ...
    def gradient(self, index: int, d_weight: int, d_bias: int) -> None: ...
