"""Somebody else's op in the place of ours: is it right, what does it do to a model, is it quick?

    handformer check --op softmax --with ./my_softmax.so
    handformer check --op layer_norm --with mymodule:function
    handformer check --op layer_norm --direction backward --with-command "./prog {inputs} {outputs}"

The files in the order in which a question passes through them:

    contract    what an op takes and gives, in which order
    asked       one call: the arrays, the numbers, and what is to come back
    wire        a call and its answer as bytes between two processes
    library     theirs is a function with a C interface
    function    theirs is a function of Python
    child       the process that runs one of the two, and may crash
    process     the other end: it starts the child, waits, and says how it died
    program     theirs is a program that reads and writes files
    contestant  any of them, by what the user gave
    answer      what came back: shapes, types, and whether everything was written
    allowed     how far rounding may take every entry from its formula
    local       the op alone, on the cases that the package holds its own ops against
    mistakes    which known ones a wrong value shows
    stand_in    the ops with theirs in place of ours, also inside of other ops
    models      the models in which each op stands
    in_model    the same models with ours and with theirs: the loss, and every gradient
    speed       theirs and ours in turns, on large inputs
    report      what was found
    show        the report as text and as JSON
    api         all of these together
"""
