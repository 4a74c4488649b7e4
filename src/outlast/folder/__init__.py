"""What is true: the records of a job and the rules by which they change."""
