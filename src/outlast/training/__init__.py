"""The library inside a training script. It travels to the machine alone and needs nothing but the standard library."""
