"""Rules of the texts of expressions: what parses, what is refused, in which words and in which order."""

from __future__ import annotations

import pytest

from surewrite.core.values import AttributeValue
from surewrite.engine.evaluator import holds
from surewrite.engine.faults import ServiceError
from surewrite.engine.grammar import Substitutions, parse_condition, parse_key_condition, parse_projection, parse_update

NAMES = {"#a": "x.y", "#status": "status", "#1": "one"}
VALUES: dict[str, AttributeValue] = {
    ":n": {"N": "1"},
    ":m": {"N": "2"},
    ":s": {"S": "dog"},
    ":t": {"BOOL": True},
    ":l": {"L": []},
    ":p": {"M": {}},
    ":0": {"NULL": True},
    ":set": {"SS": ["a"]},
    ":b": {"B": "AA=="},
}


def substitutions() -> Substitutions:
    return Substitutions(NAMES, VALUES)


def condition_fault(text: str) -> str:
    with pytest.raises(ServiceError) as caught:
        parse_condition(text, "ConditionExpression", substitutions())
    assert caught.value.code == "ValidationException"
    return caught.value.message.removeprefix("Invalid ConditionExpression: ")


def update_fault(text: str) -> str:
    with pytest.raises(ServiceError) as caught:
        parse_update(text, substitutions())
    return caught.value.message.removeprefix("Invalid UpdateExpression: ")


def projection_fault(text: str) -> str:
    with pytest.raises(ServiceError) as caught:
        parse_projection(text, substitutions())
    return caught.value.message.removeprefix("Invalid ProjectionExpression: ")


@pytest.mark.parametrize(
    "text",
    [
        "a = :n",
        ":n = a",
        "a=:n",
        "a\t=\r\n:n",
        "a . b [ 0 ] . c = :n",
        "a[00] = :n",
        "#1 = :n",
        "#a = :n",
        "(a = :n)",
        "(a) = (:n)",
        "((a = :n) AND b = :n)",
        "(a = :n) AND (b = :n)",
        "NOT NOT a = :n",
        "not a = :n And b = :n oR c = :n",
        "a BETWEEN :n AND :m AND b = :n",
        "a between :n and :m",
        "a IN (:n)",
        "a IN (:n, :s, b, size(c))",
        "size(a) > :n",
        "(size(a)) > :n",
        "size(:s) = a",
        "attribute_exists(a.b[1])",
        "attribute_not_exists (a)",
        "contains(a, :t)",
        "contains(:s, a)",
        "contains(:l, a)",
        "begins_with(:s, a)",
        "begins_with(a, :b)",
        "begins_with((a), (b))",
        "a.b = a",
        "a <> :t",
        "a = :set",
        "sizes = :n",
        "attribute_exists(a) AND (NOT (b = :n OR c = :n))",
    ],
)
def test_a_well_formed_condition_parses(text):
    parse_condition(text, "ConditionExpression", substitutions())


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [
        ("a = = :n", "=", "= = :n"),
        ("attribute_not_exists(", "<EOF>", "("),
        ("a", "<EOF>", "a"),
        ("a =", "<EOF>", "="),
        ("a AND b = :n", "AND", "a AND b"),
        ("a = :n b", "b", ":n b"),
        ("_a = :n", "_", "_a"),
        ("1a = :n", "1", "1a"),
        ("a = 'x'", "'", "= 'x"),
        ("a = 5", "5", "= 5"),
        ("a = :n AND", "<EOF>", "AND"),
        ("(a = :n", "<EOF>", ":n"),
        ("a = :n)", ")", ":n)"),
        ("a = (b = :n)", "=", "b = :n"),
        ("(a AND b) = :n", "AND", "a AND b"),
        ("NOT (a) = :n = :m", "=", ":n = :m"),
        (":n.a = :m", ".", ":n.a"),
        (":n[0] = :m", "[", ":n[0"),
        ("a[:n] = :m", ":n", "[:n]"),
        ("a[-1] = :m", "-", "[-1"),
        ("a[] = :m", "]", "[] ="),
        ("a IN :n", ":n", "IN :n"),
        ("a IN ()", ")", "()"),
        ("a NOT IN (:n)", "NOT", "a NOT IN"),
        ("a BETWEEN :n, :m", ",", ":n, :m"),
        ("attribute_exists()", ")", "()"),
        ("a + b = :n", "+", "a + b"),
        ("#a( b ) = :n", "(", "#a( b"),
        ("a = # b", "#", "= # b"),
        ("a. = :n", "=", ". = :n"),
        ("()", ")", "()"),
    ],
)
def test_a_syntax_error_names_the_token_and_its_neighbours(text, token, near):
    assert condition_fault(text) == f'Syntax error; token: "{token}", near: "{near}"'


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_an_empty_expression_is_refused(text):
    assert condition_fault(text) == "The expression can not be empty;"
    assert update_fault(text) == "The expression can not be empty;"
    assert projection_fault(text) == "The expression can not be empty;"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("((a = :n))", "The expression has redundant parentheses;"),
        ("((a)) = :n", "The expression has redundant parentheses;"),
        ("a = ((:n))", "The expression has redundant parentheses;"),
        ("((attribute_exists(a)))", "The expression has redundant parentheses;"),
        ("((a = :n AND b = :n))", "The expression has redundant parentheses;"),
        ("attribute_exists((( a )))", "The expression has redundant parentheses;"),
        ("f(a)", "Invalid function name; function: f"),
        ("SIZE(a) = :n", "Invalid function name; function: SIZE"),
        ("a = f(b)", "Invalid function name; function: f"),
        ("size(a)", "The function is not allowed to be used this way in an expression; function: size"),
        ("attribute_exists(a) = :n", "The function is not allowed to be used this way in an expression; function: attribute_exists"),
        ("if_not_exists(a, :n) = :n", "The function is not allowed to be used this way in an expression; function: if_not_exists"),
        ("contains(a, list_append(a, b))", "The function is not allowed to be used this way in an expression; function: list_append"),
        ("status = :n", "Attribute name is a reserved keyword; reserved keyword: status"),
        ("a.Status = :n", "Attribute name is a reserved keyword; reserved keyword: Status"),
        ("a = set", "Attribute name is a reserved keyword; reserved keyword: set"),
        ("#b = :n", "An expression attribute name used in the document path is not defined; attribute name: #b"),
        ("a.#b = :n", "An expression attribute name used in the document path is not defined; attribute name: #b"),
        ("a = :x", "An expression attribute value used in expression is not defined; attribute value: :x"),
        ("contains(a)", "Incorrect number of operands for operator or function; operator or function: contains, number of operands: 1"),
        ("attribute_exists(a, b)", "Incorrect number of operands for operator or function; operator or function: attribute_exists, number of operands: 2"),
        ("size(a, b) = :n", "Incorrect number of operands for operator or function; operator or function: size, number of operands: 2"),
        ("attribute_exists(:n)", "Operator or function requires a document path; operator or function: attribute_exists"),
        ("attribute_not_exists(size(a))", "Operator or function requires a document path; operator or function: attribute_not_exists"),
        ("a < :t", "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL"),
        (":0 >= a", "Incorrect operand type for operator or function; operator or function: >=, operand type: NULL"),
        ("a BETWEEN :l AND b", "Incorrect operand type for operator or function; operator or function: BETWEEN, operand type: L"),
        ("begins_with(a, :n)", "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N"),
        ("begins_with(size(a), b)", "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N"),
        ("contains(:n, a)", "Incorrect operand type for operator or function; operator or function: contains, operand type: N"),
        ("contains(:p, a)", "Incorrect operand type for operator or function; operator or function: contains, operand type: M"),
        ("size(:n) = :n", "Incorrect operand type for operator or function; operator or function: size, operand type: N"),
        ("attribute_type(a, :n)", "Incorrect operand type for operator or function; operator or function: attribute_type, operand type: N"),
        ("attribute_type(a, :s)", "Invalid attribute type name found; type: dog, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"),
        (
            "a = a",
            "The first operand must be distinct from the remaining operands for this operator or function; operator: =, first operand: [a]",
        ),
        (
            "contains(a[1].b, a[1].b)",
            "The first operand must be distinct from the remaining operands for this operator or function; operator: contains, first operand: [a, [1], b]",
        ),
        (
            "a BETWEEN :m AND :s",
            (
                "The BETWEEN operator requires same data type for lower and upper bounds; "
                "lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {S:dog}"
            ),
        ),
        (
            "a BETWEEN :m AND :n",
            (
                "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
                "lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}"
            ),
        ),
        ("a[2147483648] = :n", "List index is not within the allowable range; index: [2147483648]"),
        ("a[99999999999999999999] = :n", "List index is not within the allowable range; index: [99999999999999999999]"),
    ],
)
def test_a_condition_that_can_never_be_right_is_refused_before_any_item_is_looked_at(text, message):
    assert condition_fault(text) == message


@pytest.mark.parametrize(
    ("text", "winner"),
    [
        ("((f(a))) AND ((b = :n))", "The expression has redundant parentheses;"),
        ("size(a) AND f(a)", "Invalid function name; function: f"),
        ("status = :n AND size(a)", "The function is not allowed to be used this way in an expression; function: size"),
        ("#b = :n AND status = :n", "Attribute name is a reserved keyword; reserved keyword: status"),
        ("a < :t AND #b = :n", "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL"),
        ("contains(:x)", "An expression attribute value used in expression is not defined; attribute value: :x"),
        ("#b = :x", "An expression attribute name used in the document path is not defined; attribute name: #b"),
        (":x = #b", "An expression attribute value used in expression is not defined; attribute value: :x"),
        ("a = :x OR a = a", "An expression attribute value used in expression is not defined; attribute value: :x"),
    ],
)
def test_of_several_faults_the_service_reports_the_same_one(text, winner):
    assert condition_fault(text) == winner


def test_a_filter_names_itself_in_its_errors():
    with pytest.raises(ServiceError, match=r"Invalid FilterExpression: Invalid function name; function: f"):
        parse_condition("f(a)", "FilterExpression", substitutions())


def test_an_expression_has_at_most_4096_bytes_as_sent():
    text = "a = :n"
    parse_condition(text.ljust(4096), "ConditionExpression", substitutions())
    assert condition_fault(text.ljust(4109)) == "Expression size has exceeded the maximum allowed size; expression size: 4109"
    assert update_fault("SET a = :n".ljust(4097)) == "Expression size has exceeded the maximum allowed size;"
    assert condition_fault("é" * 2049) == "Expression size has exceeded the maximum allowed size; expression size: 4098"


def test_an_expression_has_at_most_300_operators():
    parse_condition("NOT " * 299 + "a=:n", "ConditionExpression", substitutions())
    assert condition_fault("NOT " * 300 + "a=:n") == "The expression contains too many operators; operator count: 301"
    parse_condition(" OR ".join(["a=:n"] * 150), "ConditionExpression", substitutions())
    assert condition_fault(" OR ".join(["a=:n"] * 151)) == "The expression contains too many operators; operator count: 301"


def test_the_deepest_condition_that_the_limits_allow_can_be_evaluated():
    depth = 149
    text = "(a=:n OR " * depth + "a=:n" + ")" * depth
    node = parse_condition(text, "ConditionExpression", substitutions())
    assert holds(node, {"a": {"N": "1"}})
    assert not holds(node, {"a": {"N": "2"}})


@pytest.mark.parametrize("text", ["(" * 4096, "f(" * 2048, "size(" * 819, "NOT " * 250 + "(" * 3000, "a = " + "(" * 4000])
def test_a_text_of_many_openings_is_a_syntax_error(text):
    assert condition_fault(text).startswith('Syntax error; token: "<EOF>"')


def test_in_takes_up_to_100_choices():
    parse_condition(f"a IN ({','.join([':n'] * 100)})", "ConditionExpression", substitutions())
    assert condition_fault(f"a IN ({','.join([':n'] * 101)})") == "The IN operator is provided with too many operands; number of operands: 101"


def test_a_path_has_at_most_32_parts():
    parse_projection("a" + "[0]" * 31, substitutions())
    assert projection_fault("a" + "[0]" * 32) == "The document path has too many nesting levels; nesting levels: 33"


@pytest.mark.parametrize(
    "text",
    [
        "SET a = :n",
        "set a = :n remove b add c :n delete d :set",
        "SET a = :n, b.c[1] = d",
        "SET a = a + :n",
        "SET a = :n - b",
        "SET a = (a + :n)",
        "SET a = (a) + (:n)",
        "SET a = ((a) + :n)",
        "SET a = if_not_exists(a, :n) + :n",
        "SET a = if_not_exists(a, if_not_exists(b, :n))",
        "SET a = list_append(a, :l)",
        "SET a = list_append(if_not_exists(a, :l), :l)",
        "REMOVE a, b[0], c.d",
        "REMOVE a[0] SET a[1] = :n",
        "ADD a.b :n, c :set",
        "DELETE a :set",
        "REMOVE a SET b = a",
    ],
)
def test_a_well_formed_update_parses(text):
    parse_update(text, substitutions())


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [
        ("INVALID SYNTAX HERE", "INVALID", "INVALID SYNTAX"),
        ("SET _123 = :n", "_", "SET _123"),
        ("SET a = a + b + :n", "+", "b + :n"),
        ("SET a = (a + b) + :n", "+", ") + :n"),
        ("SET a = if_not_exists(a + :n, :n)", "+", "a + :n"),
        ("SET a = :n,", "<EOF>", ","),
        ("SET a", "<EOF>", "a"),
        ("SET :n = a", ":n", "SET :n ="),
        ("SET", "<EOF>", "SET"),
        ("ADD a b", "b", "a b"),
        ("ADD a if_not_exists(a, :n)", "if_not_exists", "a if_not_exists("),
        ("REMOVE a = :n", "=", "a = :n"),
        ("SET a = :n b = :n", "b", ":n b ="),
        ("SET a = b * c", "*", "b * c"),
        ("SET REMOVE b", "REMOVE", "SET REMOVE b"),
    ],
)
def test_a_syntax_error_in_an_update_names_the_token(text, token, near):
    assert update_fault(text) == f'Syntax error; token: "{token}", near: "{near}"'


OVERLAP = "Two document paths overlap with each other; must remove or rewrite one of these paths; "
CONFLICT = "Two document paths conflict with each other; must remove or rewrite one of these paths; "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SET a = :n SET b = :n", 'The "SET" section can only be used once in an update expression;'),
        ("REMOVE a remove b", 'The "REMOVE" section can only be used once in an update expression;'),
        ("SET status = :n", "Attribute name is a reserved keyword; reserved keyword: status"),
        ("SET a = f(b)", "Invalid function name; function: f"),
        ("SET a = size(b)", "The function is not allowed to be used this way in an expression; function: size"),
        ("SET a = attribute_exists(b)", "The function is not allowed to be used this way in an expression; function: attribute_exists"),
        ("SET a = list_append(list_append(a, b), :l)", "The function is not allowed to be used this way in an expression; function: list_append"),
        ("SET #b = :n", "An expression attribute name used in the document path is not defined; attribute name: #b"),
        ("SET a = :x", "An expression attribute value used in expression is not defined; attribute value: :x"),
        ("ADD a :x", "An expression attribute value used in expression is not defined; attribute value: :x"),
        ("SET a = :n, a = :n", f"{OVERLAP}path one: [a], path two: [a]"),
        ("SET a.b = :n REMOVE a", f"{OVERLAP}path one: [a, b], path two: [a]"),
        ("REMOVE a ADD a[0].b :n", f"{OVERLAP}path one: [a], path two: [a, [0], b]"),
        ("SET a.b = :n, a[1] = :n", f"{CONFLICT}path one: [a, b], path two: [a, [1]]"),
        ("SET a[0].b = :n REMOVE a[0][1]", f"{CONFLICT}path one: [a, [0], b], path two: [a, [0], [1]]"),
        ("SET a.b = :n, a[1] = :n, c = :n, c = :m", f"{OVERLAP}path one: [c], path two: [c]"),
        ("SET a = a + :s", "Incorrect operand type for operator or function; operator or function: +, operand type: S"),
        ("SET a = :t - :n", "Incorrect operand type for operator or function; operator or function: -, operand type: BOOL"),
        ("SET a = list_append(a, :s)", "Incorrect operand type for operator or function; operator or function: list_append, operand type: S"),
        ("SET a = list_append(a, b) + :n", "Incorrect operand type for operator or function; operator or function: +, operand type: L"),
        ("SET a = list_append(a)", "Incorrect number of operands for operator or function; operator or function: list_append, number of operands: 1"),
        ("SET a = if_not_exists(:n, :n)", "Operator or function requires a document path; operator or function: if_not_exists"),
        ("ADD a :s", "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND"),
        ("ADD a :l", "Incorrect operand type for operator or function; operator: ADD, operand type: LIST, typeSet: ALLOWED_FOR_ADD_OPERAND"),
        ("ADD a :p", "Incorrect operand type for operator or function; operator: ADD, operand type: MAP, typeSet: ALLOWED_FOR_ADD_OPERAND"),
        ("ADD a :t", "Incorrect operand type for operator or function; operator: ADD, operand type: BOOLEAN, typeSet: ALLOWED_FOR_ADD_OPERAND"),
        ("ADD a :0", "Incorrect operand type for operator or function; operator: ADD, operand type: NULL, typeSet: ALLOWED_FOR_ADD_OPERAND"),
        ("ADD a :b", "Incorrect operand type for operator or function; operator: ADD, operand type: BINARY, typeSet: ALLOWED_FOR_ADD_OPERAND"),
        ("DELETE a :n", "Incorrect operand type for operator or function; operator: DELETE, operand type: NUMBER, typeSet: ALLOWED_FOR_DELETE_OPERAND"),
        ("SET a[9999999999] = :n", "List index is not within the allowable range; index: [9999999999]"),
    ],
)
def test_an_update_that_can_never_be_right_is_refused_before_any_item_is_looked_at(text, message):
    assert update_fault(text) == message


@pytest.mark.parametrize(
    ("text", "winner"),
    [
        ("SET a = f(b), status = :n", "Attribute name is a reserved keyword; reserved keyword: status"),
        ("SET a = f(b) SET b = :n", "Invalid function name; function: f"),
        ("SET #b = :n SET a = :n", 'The "SET" section can only be used once in an update expression;'),
        ("SET a = :x, #b = :n", "An expression attribute name used in the document path is not defined; attribute name: #b"),
        ("SET a = :n, a = :x", "An expression attribute value used in expression is not defined; attribute value: :x"),
        ("ADD a :s SET a = :n", f"{OVERLAP}path one: [a], path two: [a]"),
        ("SET a = b + :s ADD c :s", "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND"),
    ],
)
def test_of_several_faults_of_an_update_the_service_reports_the_same_one(text, winner):
    assert update_fault(text) == winner


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.b, a", f"{OVERLAP}path one: [a, b], path two: [a]"),
        ("a, a", f"{OVERLAP}path one: [a], path two: [a]"),
        ("a.b, a[1]", f"{CONFLICT}path one: [a, b], path two: [a, [1]]"),
        ("!!!", 'Syntax error; token: "!", near: "!!"'),
        ("a,", 'Syntax error; token: "<EOF>", near: ","'),
        ("a b", 'Syntax error; token: "b", near: "a b"'),
        (":n", 'Syntax error; token: ":n", near: ":n"'),
        ("a, status", "Attribute name is a reserved keyword; reserved keyword: status"),
        ("a, #b", "An expression attribute name used in the document path is not defined; attribute name: #b"),
    ],
)
def test_a_projection_that_can_never_be_right_is_refused(text, message):
    assert projection_fault(text) == message


def test_a_name_placeholder_is_one_part_whatever_its_text():
    node = parse_condition("#a = :s", "ConditionExpression", substitutions())
    assert holds(node, {"x.y": {"S": "dog"}})
    assert not holds(node, {"x": {"M": {"y": {"S": "dog"}}}})


def test_a_repeated_text_takes_the_constants_and_names_of_each_request():
    def outcome(names: dict[str, str], value: AttributeValue) -> bool:
        return holds(parse_condition("#x = :x", "ConditionExpression", Substitutions(names, {":x": value})), {"a": {"N": "1"}, "b": {"N": "2"}})

    assert outcome({"#x": "a"}, {"N": "1"})
    assert not outcome({"#x": "a"}, {"N": "2"})
    assert outcome({"#x": "b"}, {"N": "2"})
    with pytest.raises(ServiceError, match="not defined"):
        parse_condition("#x = :x", "ConditionExpression", Substitutions({"#x": "a"}, {":y": {"N": "1"}}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = :n OR b = :n", "Invalid operator used in KeyConditionExpression: OR"),
        ("NOT a = :n", "Invalid operator used in KeyConditionExpression: NOT"),
        ("NOT NOT a = :n", "Invalid operator used in KeyConditionExpression: NOT"),
        ("a <> :n", "Invalid operator used in KeyConditionExpression: <>"),
        ("a IN (:n)", "Invalid operator used in KeyConditionExpression: IN"),
        ("attribute_exists(a)", "Invalid operator used in KeyConditionExpression: attribute_exists"),
        ("contains(a, :s)", "Invalid operator used in KeyConditionExpression: contains"),
        ("size(a) = :n", "Invalid operator used in KeyConditionExpression: size"),
        ("a = b", "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"),
        (":n = :m", "Invalid condition in KeyConditionExpression: No key attribute specified"),
        (":n BETWEEN a AND :m", "Invalid condition in KeyConditionExpression: BETWEEN operator must have the key attribute as its first operand"),
        ("a.b = :n", "KeyConditionExpressions cannot have conditions on nested attributes"),
        ("a = :n AND a > :n", "KeyConditionExpressions must only contain one condition per key"),
        ("a < :t", "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL"),
        ("begins_with(a, :n)", "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N"),
        ("a = :x", "An expression attribute value used in expression is not defined; attribute value: :x"),
        ("a = :x OR b = :n", "An expression attribute value used in expression is not defined; attribute value: :x"),
    ],
)
def test_a_key_condition_takes_only_conditions_on_keys(text, message):
    with pytest.raises(ServiceError) as caught:
        parse_key_condition(text, substitutions())
    assert caught.value.message == f"Invalid KeyConditionExpression: {message}"
