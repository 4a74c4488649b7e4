"""This computer: its processes, its files, and the directory of a machine on it."""
