from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_SIDE: int
MAX_COMMANDS: int
MAX_BYTES: int
DRAW_BYTES: int

def rasterise(draw: Any, out: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]: ...
