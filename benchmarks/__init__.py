"""Speed, as ratios against a peer or a limit measured in the same run. `make bench` runs all of them."""

import os

# What is started is compiled once, as an installed crewtop is, and not each time anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
