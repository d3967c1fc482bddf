MAX_LOGITS: int

def advantage(
    rewards: int, values: int, bootstrap: int, terminals: int, truncations: int, masks: int, ratios: int,
    advantages: int, targets: int, horizon: int, rows: int, gamma: float, lam: float, rho_clip: float, c_clip: float,
) -> None: ...  # fmt: skip
def sample(
    logits: int, stride: int, masks: int, sizes: int, parts: int, uniforms: int, actions: int, log_probs: int, rows: int
) -> None: ...
def ppo(
    logits: int, logit_stride: int, values: int, value_stride: int, given: tuple[int | float, ...], d_logits: int,
    d_values: int, ratios: int, stats: int,
) -> None: ...  # fmt: skip
