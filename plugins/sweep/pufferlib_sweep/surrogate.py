"""Gaussian processes over the unit cube, fitted quickly and the same way each time.

A kernel of Matern 5/2 with one length scale a dimension plus white noise (Rasmussen & Williams 2006, eq. 4.17), where asked
with a linear term (eq. 4.15). Its hyperparameters maximise the marginal likelihood (eq. 5.8) times log-normal priors, so that a
handful of trials in many dimensions does not pin them to nonsense: as in Hvarfner et al. 2024, "Vanilla Bayesian optimization
performs great in high dimensions", the prior of the length scales grows with the root of the number of dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import ndtr
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct, Matern, WhiteKernel

Floats = NDArray[np.float64]

MAX_ITERATIONS = 20
"""L-BFGS steps of one fit of the hyperparameters: enough to tell which dimensions matter."""
LINEAR_VARIANCE = 1.0


class Surrogate:
    """A posterior over a function of the unit cube, from noisy values at points.

    points: float64[n, d]; values: float64[n], finite
    theta: the kernel's hyperparameters as `fit_theta` gives them
    """

    def __init__(self, points: Floats, values: Floats, theta: Floats, *, linear: bool = False):
        self.offset, self.unit = standard_units(values)
        self.process = GaussianProcessRegressor(kernel_for(points.shape[1], linear).clone_with_theta(theta), optimizer=None)
        self.process.fit(points, (values - self.offset) / self.unit)
        self.noise = float(np.exp(theta[-1]))

    def predict(self, points: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the function itself, without the noise: float64[m] each (eq. 2.25, 2.26)."""
        mean, std = self.process.predict(points, return_std=True)
        latent = np.sqrt(np.maximum(std**2 - self.noise, 1e-12))
        return mean * self.unit + self.offset, latent * self.unit

    def mean(self, points: Floats) -> Floats:
        """The mean alone, which costs far less."""
        return np.asarray(self.process.predict(points)) * self.unit + self.offset


def standard_units(values: Floats) -> tuple[float, float]:
    """What to subtract and divide by. Values that are all alike are divided by 1."""
    spread = float(np.std(values))
    centre = float(np.mean(values))
    return centre, spread if spread > 1e-12 * max(1.0, abs(centre)) else 1.0


def kernel_for(dimensions: int, linear: bool) -> Any:
    kernel = ConstantKernel(1.0) * Matern(np.ones(dimensions), nu=2.5)
    if linear:
        kernel = kernel + ConstantKernel(LINEAR_VARIANCE) * DotProduct(1.0, sigma_0_bounds="fixed")
    return kernel + WhiteKernel(1.0)


def prior_for(dimensions: int, linear: bool, noise: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Centres, standard deviations and bounds of the logarithms of the hyperparameters, in the kernel's order."""
    length = 0.4 * np.sqrt(dimensions)
    rows = [(1.0, 1.0, 0.05, 20.0), *[(length, 1.0, 0.05, 50.0)] * dimensions]
    if linear:
        rows.append((LINEAR_VARIANCE, 1.0, 1e-3, 100.0))
    rows.append((noise, 1.5, 1e-6, 2.0))
    centre, spread, low, high = np.array(rows).T
    return np.log(centre), spread, np.log(low), np.log(high)


def fit_theta(points: Floats, values: Floats, *, linear: bool = False, noise: float = 0.01) -> Floats:
    """The hyperparameters' logarithms for these points, by at most MAX_ITERATIONS steps of L-BFGS from the priors' centres.

    noise: the centre of the prior of the noise's variance, as a part of the variance of the values
    """
    centre, spread, low, high = prior_for(points.shape[1], linear, noise)
    if len(points) < 2:
        return centre

    def search(objective: Callable[[Floats], tuple[float, Floats]], start: Floats, bounds: Floats) -> tuple[Floats, float]:
        def loss(theta: Floats) -> tuple[float, Floats]:
            value, gradient = objective(theta)
            away = (theta - centre) / spread
            return float(value + away @ away / 2), gradient + away / spread

        found = minimize(
            loss,
            centre,
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(low, high, strict=True)),
            options={"maxiter": MAX_ITERATIONS},
        )
        return found.x, float(found.fun)

    offset, unit = standard_units(values)
    process = GaussianProcessRegressor(kernel_for(points.shape[1], linear), optimizer=search)
    process.fit(points, (values - offset) / unit)
    theta: Floats = process.kernel_.theta
    return theta


class FailureModel:
    """How likely a point is to fail: a Gaussian process on the labels -1 (finished) and 1 (failed), squashed by the normal
    distribution function (least-squares classification, Rasmussen & Williams 2006, section 6.5).
    """

    def __init__(self, points: Floats, failed: NDArray[np.bool_], theta: Floats):
        self.surrogate = Surrogate(points, np.where(failed, 1.0, -1.0), theta)

    def success(self, points: Floats) -> Floats:
        """Probability of success, float64[m]."""
        mean, std = self.surrogate.predict(points)
        return np.asarray(ndtr(-mean / np.sqrt(FAILURE_SLOPE**2 + std**2)))


FAILURE_SLOPE = 0.5
"""Standard deviation of the squashing: a point amid finished trials has a probability of about 0.98."""
