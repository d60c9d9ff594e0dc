"""Templates of strangers: what they ask for is counted, so that none takes endless time, memory or text."""

import tracemalloc
from dataclasses import replace

import pytest

from tinygen import budget
from tinygen.codegen import sandbox
from tinygen.codegen.engine_templates import print_engine
from tinygen.errors import UsageError
from tinygen.targets.engine_templates import EngineTemplates

STEPS = 1 << 17  # a hundredth of what there is, so that tests end soon
MOST_BYTES = 64 << 20
NESTED = "{% set n = namespace(x=BEGIN) %}{% for i in range(3000) %}{% set n.x = THEN %}{% endfor %}"
NEXT_PAGE = {f"_{page}.c.j2": f"{{% include '_{page + 1}.c.j2' %}}" * 2 for page in range(60)} | {"_60.c.j2": "x"}
DATA = "x" * 200_000


def _grown(first: str, following: str) -> str:
    return NESTED.replace("BEGIN", first).replace("THEN", following)


ENDLESS = {
    "loops": "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
    "filtered loops": "{% for a in range(9999) %}{% for b in range(9999) if false %}{% endfor %}{% endfor %}",
    "loops of data": f"{{% for a in range(99999) %}}{DATA}{{% endfor %}}",
    "macros of data": f"{{% macro m() %}}{{% for a in range(99999) %}}{DATA}{{% endfor %}}{{% endmacro %}}"
    "{% set x = m() %}",
    "blocks of data": f"{{% set x %}}{{% for a in range(99999) %}}{DATA}{{% endfor %}}{{% endset %}}",
    "values printed": "{% set s = 'a' * 999999 %}{% for a in range(99999) %}{{ s }}{% endfor %}",
    "texts that double": _grown("'a'", "n.x ~ n.x"),
    "sums that double": _grown("'a'", "n.x + n.x"),
    "lists that double": _grown("[1]", "n.x + n.x"),
    "lists of lists": _grown("[1]", "n.x if n.x is none else [n.x, n.x]") + "{{ n.x }}",
    "lists compared": _grown("[1]", "[n.x, n.x]").replace("3000", "60") + "{{ n.x == [n.x[0], n.x[0]] }}",
    "calls": "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "includes": "{% include '_0.c.j2' %}",
    "kept lists": "{% macro m(a) %}{{ m([range(9999) | list, a]) }}{% endmacro %}{{ m(1) }}",
    "numbers listed": "{% for a in range(9999) %}{{ range(99999) | sum }}{% endfor %}",
}
LARGE = {
    "text": "{{ 'a' * 10 ** 9 }}",
    "list": "{% set x = [0] * 10 ** 9 %}",
    "range": "{{ range(99999) | join('b' * 99999) }}",
    "join": "{{ ('b' * 99999).join('a' * 99999) }}",
    "replace": "{{ ('a' * 99999).replace('a', 'b' * 99999) }}",
    "filter replace": "{{ ('a' * 99999) | replace('a', 'b' * 99999) }}",
    "indent": "{{ ('\\n' * 99999) | indent(99999) }}",
    "wordwrap": "{{ ('a ' * 99999) | wordwrap(1, wrapstring='b' * 99999) }}",
    "batch": "{{ [1] | batch(10 ** 9, 0) | list }}",
    "slice": "{{ [1] | slice(10 ** 9) | list }}",
    "center": "{{ 'a' | center(10 ** 9) }}",
    "ljust": "{{ 'a'.ljust(10 ** 9) }}",
    "zfill": "{{ 'a'.zfill(width=10 ** 9) if false else 'a'.zfill(10 ** 9) }}",
    "many widths": "{{ ('%9999d' * 9999) % ((1,) * 9999) }}",
}
REFUSED = {
    "{{ 10 ** (10 ** 10) }}": "makes a number of over 4096 bits",
    "{{ (2 ** 4000) * (2 ** 4000) }}": "makes a number of over 4096 bits",
    "{{ ('f' * 9999) | int(base=16) }}": "makes a number of over 4096 bits",
    "{{ '%999999999d' % 1 }}": "has a format with a width that is no number of up to 4 digits",
    "{{ '%*d' % (999999999, 1) }}": "has a format with a width that is no number of up to 4 digits",
    "{{ '%.999999999f' | format(1.0) }}": "has a format with a width that is no number of up to 4 digits",
    "{{ '%(a(b)c)99999d' % {'a(b)c': 1} }}": "has a format with a width that is no number of up to 4 digits",
    "{{ '{:>999999999}'.format(1) }}": "has a format with a width of over 4 digits",
    "{{ '{:>{w}}'.format(1, w=999999999) }}": "has a format with a width of over 4 digits",
    "{{ '{a:>999999999}'.format_map({'a': 1}) }}": "has a format with a width of over 4 digits",
    "{{ '\t'.expandtabs(10 ** 9) }}": "expandtabs is nothing that templates may call",
    "{{ (1).to_bytes(10 ** 9, 'big') }}": "to_bytes is nothing that templates may call",
    "{{ ([[1]] * 999) | sum(start=[]) }}": "sum adds numbers",
    "{{ [1] | map('string') }}": "a generator cannot be printed",
    "{{ ['%s'.format] }}": "a _Format cannot be printed",
    "{{ namespace(x=1) }}": "a Namespace cannot be printed",
    "{{ 1 | tojson(indent=10 ** 9) }}": "No filter named 'tojson'",
    "{{ '{0.__class__}'.format(1) }}": "access to attribute '__class__' of 'int' object is unsafe",
    _grown("(1,)", "(n.x,)") + "{{ {n.x: 1} }}": "has lists in lists, over 100 deep",
    _grown("(1,)", "(n.x,)") + "{{ [n.x] | unique | list }}": "has lists in lists, over 100 deep",
    _grown("(1,)", "(n.x,)") + "{{ {}[n.x] }}": "has lists in lists, over 100 deep",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}": "maximum recursion depth exceeded",
    "{% include 'prologue.c.j2' %}": "maximum recursion depth exceeded",
    "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}": "maximum recursion depth exceeded",
    "{% for a in [1] %}" * 40 + "{% endfor %}" * 40: "too many statically nested blocks",
}
PRINTS = {
    "{{ '%08X %s' % (255, 'a') }}|{{ '%d' | format(3) }}|{{ '%(a)-3d' % {'a': 5} }}|": "000000FF a|3|5  |",
    "{{ '{0:04d}|{x}|{0!r}'.format(7, x='y') }}{{ '0x%08X' % 0x40000000 }}": "0007|y|70x40000000",
    "{{ 1 ~ 'a' ~ none ~ 2.5 }}{{ 'a' * -5 }}{{ -7 // 2 }}{{ 2 ** -1 }}": "1aNone2.5-40.5",
    "{% for a in [1, 2, 3] %}{{ loop.index }}/{{ loop.length }}{{ ',' if not loop.last }}{% endfor %}": "1/3,2/3,3/3",
    "{% for r in range(6) | batch(4, 0) %}{{ r | join(', ') }};{% endfor %}": "0, 1, 2, 3;4, 5, 0, 0;",
    "{% for a in [[1], [2]] recursive %}{{ loop(a) if a is iterable }}x{% endfor %}": "xxxx",
    "{% macro w() %}[{{ caller() }}]{% endmacro %}{% call w() %}x{% endcall %}": "[x]",
    "{% set n = namespace(i=0) %}{% for a in range(3) %}{% set n.i = n.i + a %}{% endfor %}{{ n.i }}": "3",
    "{% set c = cycler(1, 2) %}{% set j = joiner('-') %}{{ j() }}{{ c.next() }}{{ j() }}{{ c.next() }}": "1-2",
    "{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}{{ [{'b': 4}] | sum('b') }}": "a14",
    "{% block a %}z{% endblock %}{{ self.a() }}{% filter upper %}b{% endfilter %}": "zzB",
    "{{ 1 < 2 < 3 }} {{ 2 in [1, 2] }} {{ 3 is odd }} {{ [3, 1] | sort | first }}": "True True True 1",
}


def _printed(template: str) -> str:
    templates = EngineTemplates("f", {"prologue.c.j2": template, **NEXT_PAGE})
    return print_engine(templates, "dot", "net", ()).prologue


@pytest.mark.parametrize("case", ENDLESS)
def test_endless_work_ends(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "TEMPLATE_STEPS", replace(budget.TEMPLATE_STEPS, most=STEPS))
    tracemalloc.start()
    try:
        with pytest.raises(UsageError, match=r"takes over 131,072 steps|has lists in lists, over 100 deep"):
            _printed(ENDLESS[case])
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("case", LARGE)
def test_large_values_are_refused_before_they_are_made(case: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(UsageError, match="makes over 16,777,216 letters or elements in one value"):
            _printed(LARGE[case])
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_cannot_be_counted_is_refused(number: int) -> None:
    template, message = list(REFUSED.items())[number]
    with pytest.raises(UsageError) as raised:
        _printed(template)
    assert message in str(raised.value)
    assert str(raised.value).endswith(", what docs/engines.md lists was expected. Correct the template.")


@pytest.mark.parametrize("template", PRINTS)
def test_what_templates_use_is_there(template: str) -> None:
    assert _printed(template) == PRINTS[template].strip("\n")


def test_all_templates_of_an_engine_share_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "TEMPLATE_STEPS", replace(budget.TEMPLATE_STEPS, most=STEPS))
    loop = "{% for a in range(12000) %}{% endfor %}"
    texts = {"header.h.j2": loop, "prologue.c.j2": loop}
    print_engine(EngineTemplates("f", {"header.h.j2": loop}), "dot", "net", ())
    with pytest.raises(UsageError, match=r"prologue.c.j2, line 1: takes over 131,072 steps"):
        print_engine(EngineTemplates("f", texts), "dot", "net", ())
