"""Our own code against the formulas, and the formulas against finite differences."""
