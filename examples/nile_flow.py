"""The level of the Nile, by a Kalman filter written as a plain loop, fitted by SciPy.

The data are the yearly flow at Aswan, 1871 to 1970, in 10^8 m^3 (Durbin and Koopman, "Time Series
Analysis by State Space Methods", 2.2). The flow is a level plus noise, and the level a random walk.
The likelihood runs through the years one by one: in the generated module that is one loop, and one
backwards for the gradient. Needs SciPy: pip install 'tracejit[scipy]'.
Run: python examples/nile_flow.py
"""

import numpy as np
from scipy.optimize import minimize

import tracejit as tj

FLOW = np.array(
    """1120 1160 963 1210 1160 1160 813 1230 1370 1140 995 935 1110 994 1020 960 1180 799 958 1140
    1100 1210 1150 1250 1260 1220 1030 1100 774 840 874 694 940 833 701 916 692 1020 1050 969 831
    726 456 824 702 1120 1100 832 764 821 768 845 864 862 698 845 744 796 1040 759 781 865 845 944
    984 897 822 1010 771 676 649 846 812 742 801 1040 860 874 848 890 744 749 838 1050 918 986 797
    923 975 815 1020 906 901 1170 912 746 919 718 714 740""".split(),
    float,
)


def negative_log_likelihood(log_variances, flow):
    """Minus the log likelihood of the flows after the first, given that one."""
    noise, drift = np.exp(log_variances)
    level, variance = flow[0], noise
    total = 0.0
    for y in flow[1:]:
        variance = variance + drift
        spread = variance + noise
        surprise = y - level
        total = total + np.log(spread) + surprise**2 / spread
        gain = variance / spread
        level = level + gain * surprise
        variance = variance * (1.0 - gain)
    return 0.5 * (total + (len(flow) - 1) * np.log(2.0 * np.pi))


def main():
    loss = tj.value_and_grad(negative_log_likelihood)
    start = np.log([np.var(FLOW), np.var(FLOW) / 10.0])
    fit = minimize(loss, start, args=(FLOW,), jac=True, method="BFGS")
    noise, drift = np.exp(fit.x)
    print(f"noise {noise:7.0f}, drift {drift:6.0f}, log likelihood {-fit.fun:.4f}")
    print(f"{fit.nfev} evaluations, {len(loss.source.splitlines())} lines for {len(FLOW)} years")
    return noise, drift, loss


if __name__ == "__main__":
    main()
