"""Datasets: directories and files that are uploaded once by content, and seen as a local path by the trainer."""
