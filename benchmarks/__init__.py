"""Speed, as ratios against a peer or a limit measured in the same run. `make bench` runs all of them."""
