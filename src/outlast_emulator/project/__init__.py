"""What a project is made of beside its data and machines: APIs that are on, policies, accounts, roles, secrets, prices."""
