"""Container images without a daemon: layers by content, pushed to a registry."""
