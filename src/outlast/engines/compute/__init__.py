"""Machines of Compute Engine: one managed group per launch, which lives without anybody of ours."""
