"""What can be rented: machines, GPUs, where they are offered, what they cost, and which images suit them."""
