"""HTTP/1.1 on sockets; knows nothing of Google."""
