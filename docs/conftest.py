"""Keep the scripts that draw pictures out of the doctests: they import matplotlib."""

collect_ignore = ["draw_benchmarks.py", "gallery/draw.py"]
