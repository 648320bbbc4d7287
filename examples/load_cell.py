"""A load cell, calibrated by a spline, read backwards with its error.

The data are of the National Institute of Standards and Technology (Pontius, StRD): the deflection
of a load cell under loads of up to 3,000,000 pounds, each put on twice. The calibration curve is a
straight line plus a cubic spline, whose values at five knots are fitted. A reading is turned into a
load by Newton's steps with the derivative of the spline. The gradient of that load, by the knots
and by the reading, tells how far it can be trusted. Needs SciPy: pip install 'tracejit[scipy]'.
Run: python examples/load_cell.py
"""

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import least_squares

import tracejit as tj

DEFLECTION = np.array(
    """.11019 .21956 .32949 .43899 .54803 .65694 .76562 .87487 .98292 1.09146 1.20001
    1.30822 1.41599 1.52399 1.63194 1.73947 1.84646 1.95392 2.06128 2.16844 .11052 .22018
    .32939 .43886 .54798 .65739 .76596 .87474 .98300 1.09150 1.20004 1.30818 1.41613 1.52408
    1.63159 1.73965 1.84696 1.95445 2.06177 2.16829""".split(),
    float,
)
LOAD = np.tile(0.15 * np.arange(1, 21), 2)  # millions of pounds
KNOTS = np.linspace(0.15, 3.0, 5)


def deflection(values, load):
    """The calibration curve: `values` are what the spline adds to a straight line at the knots."""
    return 0.73 * load + CubicSpline(KNOTS, values, bc_type="natural")(load)


def errors(values):
    """The distances of the curve to the data."""
    return deflection(values, LOAD) - DEFLECTION


def load_of(values, reading):
    """The load under which the curve shows a reading."""
    spline = CubicSpline(KNOTS, values, bc_type="natural")
    load = reading / 0.73
    for _ in range(4):
        excess = 0.73 * load + spline(load) - reading
        load = load - excess / (0.73 + spline(load, 1))
    return load


def main():
    jacobian = tj.jacobian(errors)
    fit = least_squares(tj.function(errors), np.zeros(len(KNOTS)), jac=jacobian)
    scatter = np.sqrt(2.0 * fit.cost / (len(LOAD) - len(KNOTS)))
    covariance = scatter**2 * np.linalg.inv(fit.jac.T @ fit.jac)
    print(f"{fit.nfev} evaluations, scatter of the readings {scatter:.6f}")

    inverse = tj.value_and_grad(load_of, argnums=(0, 1))
    found = []
    for reading in (0.5, 1.0, 2.0):
        load, (by_knots, by_reading) = inverse(fit.x, reading)
        error = np.sqrt(by_knots @ covariance @ by_knots + (scatter * by_reading) ** 2)
        print(f"a reading of {reading:.1f} is {1e6 * load:9,.0f} +- {1e6 * error:3,.0f} pounds")
        found.append((load, error))
    return fit, scatter, found


if __name__ == "__main__":
    main()
