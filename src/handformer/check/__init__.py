"""Checks of code against formulas, and of formulas against finite differences."""
