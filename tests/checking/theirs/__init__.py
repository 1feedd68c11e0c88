"""Somebody else's Transformer: NumPy by hand, on which every mistake of the catalogue can be made.

It shares nothing with the package: no file here but `probes.py` and the tests imports it.
`model.run` computes a case, forward and backward, and gives every value under the case's paths.
"""
