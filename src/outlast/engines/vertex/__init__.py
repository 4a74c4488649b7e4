"""Vertex AI: custom jobs whose containers run the agent."""
