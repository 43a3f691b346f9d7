"""`python -m crewtop`: the same as `crewtop`."""

from crewtop.cli import main

main()
