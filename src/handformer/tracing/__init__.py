"""Run a model and keep everything; and say beforehand what that will take.

cost        the shape and the arithmetic of a value, from its formula
shapes      the ops without their arithmetic: values that take no memory
outline     a model without its weights' numbers
stated      which formula each value has, and which ones need it
ledger      every value of a training step: its memory, who needs it, what it costs
fold        the ledger's rows with those of all blocks as one
table       the ledger for a terminal
"""
