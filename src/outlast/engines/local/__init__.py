"""This machine as an engine: a supervisor that appears on demand forks machines into slots of CPUs and GPUs."""
