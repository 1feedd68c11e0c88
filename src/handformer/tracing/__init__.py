"""Run a model and keep everything; explain any number of it; say beforehand what it will take.

api         hand.trace: text or tokens in, a trace out
prompt      what goes through the model, and how its tokens are spelled
passing     forward, loss, backward; every value by path
seen        the same numbers seen from several places are one value
scopes      the layers where they stand, with their formulas
stated      which formula each value has, and which ones need it
entries     what the manifest says of a value
lens        what each layer would have predicted
run         all of these together
manifest    the records that stand in the file
file, fit   the file, and whether its manifest makes sense
trace       a trace: values by path, from a pass or from a file
cut         less of one, and how large it will be
explain     one entry in its arithmetic (explanation, parents, users); show: in five forms
figure      a value as a picture (planes, lettering); notebook: in a notebook

ledger      every value of a training step on shapes alone: its memory, who needs it (fold, table)
shapes      the ops without their arithmetic (cost, outline)
"""
