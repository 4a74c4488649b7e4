"""The verbs over all of it."""
