"""Keep the script that draws pictures out of the doctests: it imports matplotlib."""

collect_ignore = ["gallery/draw.py"]
