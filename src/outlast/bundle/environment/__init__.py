"""Packages that are declared, resolved at submit, kept in the home and put in place on a machine."""
