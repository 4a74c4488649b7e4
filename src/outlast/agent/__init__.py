"""What happens on the machine."""
