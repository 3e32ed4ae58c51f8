"""The expression language: how the answers of several plugins become one answer.

Each function point of a session has one expression over the names of plugins, such as `sum(weight(sylas, 100), *)`.
`parse` reads the text, `compile_expression` checks it against the type of the point and the plugins that answer
there, `Combination.bind` closes it over their functions.
"""

from sky_core.expressions.combination import Combination, compile_expression
from sky_core.expressions.operators import DEFAULT_OPERATOR, Kind
from sky_core.expressions.points import DEFAULTS, POINTS, SYNONYMS, default_text
from sky_core.expressions.syntax import MAX_LENGTH, MAX_NESTING, Expression, ExpressionError, parse

__all__ = [
    "DEFAULTS",
    "DEFAULT_OPERATOR",
    "MAX_LENGTH",
    "MAX_NESTING",
    "POINTS",
    "SYNONYMS",
    "Combination",
    "Expression",
    "ExpressionError",
    "Kind",
    "compile_expression",
    "default_text",
    "parse",
]
