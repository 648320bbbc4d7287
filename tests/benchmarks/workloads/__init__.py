"""The programs that are compared: each written once, as one writes it with NumPy.

A `Workload` makes its function from a namespace that offers NumPy's names, so that the same text is
run by every engine. It is read in the interpreters of the engines, so that these modules import
nothing but NumPy.
"""

from __future__ import annotations

from tests.benchmarks.workloads.models import MODELS
from tests.benchmarks.workloads.networks import NETWORKS
from tests.benchmarks.workloads.numerics import NUMERICS
from tests.benchmarks.workloads.simulations import SIMULATIONS
from tests.benchmarks.workloads.table import Workload

__all__ = ["WORKLOADS", "Workload"]

WORKLOADS: dict[str, Workload] = {
    workload.name: workload for workload in (*NUMERICS, *MODELS, *SIMULATIONS, *NETWORKS)
}
