"""Weights on disk: Hugging Face's layout and names, in one table a family."""
