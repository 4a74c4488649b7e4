"""A sweep's file: how it is read, which cells it means, and what each of them is given."""
