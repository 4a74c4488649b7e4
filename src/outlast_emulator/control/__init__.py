"""The surface at `/_emulator/`: faults, latency, a cut network, switches, the ledger."""
