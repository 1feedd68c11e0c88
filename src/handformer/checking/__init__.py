"""Other people's Transformers against the reference: the first wrong step, and the mistake."""
