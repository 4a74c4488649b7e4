"""Speed, measured: see bench/RESULTS.md."""
