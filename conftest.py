"""Keep the modules of tracejit.dask out of the doctests where Dask is not installed."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("dask") else ["tracejit/dask/*.py"]
