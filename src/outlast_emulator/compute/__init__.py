"""Compute Engine: machines, disks, images and what they are made of; state in a database that survives SIGKILL."""
