"""Agent and engine, joined: the program that boots on a machine."""
