"""Our own contestants: programs that `bench.serve` loads, each in a process of its own."""
