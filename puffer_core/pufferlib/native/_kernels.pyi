def advantage(
    rewards: int, values: int, bootstrap: int, terminals: int, truncations: int, masks: int, ratios: int, advantages: int, targets: int,
    horizon: int, rows: int, gamma: float, lam: float, rho_clip: float, c_clip: float,
) -> None: ...  # fmt: skip
