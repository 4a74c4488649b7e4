"""What is shipped."""
