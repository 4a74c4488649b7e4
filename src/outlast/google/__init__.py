"""The only speaker to Google: credentials, one transport, and a thin client per API."""
