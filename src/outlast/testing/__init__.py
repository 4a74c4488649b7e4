"""Shipped proof: contract suites, crash points and the simulation."""
