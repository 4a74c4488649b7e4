"""Whole jobs on a virtual clock: the real agent and the real commands, seeded faults, and checks that share no code with them.

`python -m outlast.testing.simulation --seed 0x2a` replays one schedule with a readable trace.
"""
