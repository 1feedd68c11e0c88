"""How fast: training steps, traces and writing, beside their peers and this machine's own limit."""
