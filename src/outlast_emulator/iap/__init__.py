"""Identity-Aware Proxy's tunnels: a port of a machine, by a websocket, for whoever may."""
