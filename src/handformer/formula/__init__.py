"""Formulas written once, as text: read, evaluated, expanded, differentiated, shown, mutated.

The files in the order in which a formula passes through them:

    expression      the tree, and FormulaError, which points into the text
    parse           text to tree
    text, names     tree to text again; names of gradients, near misses, names taken apart
    edit            other names, absent terms
    sheet           Formula and Sheet: the lines of an op or layer
    mentions        the names that a formula mentions, directly and through others
    sizes           how far each letter runs; the leading axes
    arithmetic      what operators and functions do
    evaluate        a value from its formula: the oracle
    substitute      letters exchanged for places, abbreviations for what they stand for
    located         a formula at one place
    expand          one entry in its arithmetic
    terms, users    what an entry is the sum of; which entries need it
    rounding, chain how far rounding may take an entry from its formula; counted beforehand
    differences     derivatives from forward formulas alone
    display         where parentheses go in two dimensions: latex, mathml; render for whole formulas
    rounded, breaking    an entry's numbers to four digits; equations in lines of a terminal
    page, paper     a page of its own in HTML; a document in LaTeX
    encode          a tree as lists, for JSON
    mutate          a formula with a mistake in it
"""

from handformer.formula.differences import slope
from handformer.formula.evaluate import evaluate, evaluate_all
from handformer.formula.expand import Expansion, expand
from handformer.formula.expression import FormulaError
from handformer.formula.sheet import Formula, Sheet

__all__ = [
    "Expansion",
    "Formula",
    "FormulaError",
    "Sheet",
    "evaluate",
    "evaluate_all",
    "expand",
    "slope",
]
