"""Random trees of every kind of node that text can hold."""

from hypothesis import strategies as st

from handformer.axes import LEGEND
from handformer.formula.expression import (
    FUNCTIONS,
    REDUCTIONS,
    Call,
    Entry,
    Index,
    Negative,
    Node,
    Number,
    Operation,
    Reduction,
    Scalar,
)

OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!=", "and", "or")
NAMES = ("x", "w_q", "d_k", "d_x_hat", "eps", "inf", "norm_1.out", "attention.d_scores", "mean")

_letters = st.sampled_from(sorted(LEGEND))
_numbers = st.integers(0, 10**6) | st.floats(0, 1e300)


def _larger(trees: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    def call(function: str) -> st.SearchStrategy[Node]:
        arguments = st.tuples(*[trees] * FUNCTIONS[function])
        return st.builds(Call, st.just(function), arguments)

    return st.one_of(
        st.builds(Operation, st.sampled_from(OPERATORS), trees, trees),
        st.builds(Negative, trees),
        st.builds(
            Entry, st.sampled_from(NAMES), st.lists(trees, min_size=1, max_size=3).map(tuple)
        ),
        st.sampled_from(sorted(FUNCTIONS)).flatmap(call),
        st.builds(
            Reduction,
            st.sampled_from(REDUCTIONS),
            st.lists(_letters, min_size=1, max_size=2).map(tuple),
            trees,
        ),
    )


trees: st.SearchStrategy[Node] = st.recursive(
    st.one_of(
        st.builds(Number, _numbers),
        st.builds(Index, _letters),
        st.builds(Scalar, st.sampled_from(NAMES)),
    ),
    _larger,
    max_leaves=12,
)
