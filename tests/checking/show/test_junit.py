"""The report as JUnit XML: a test case a value, for readers that only know XML."""

from dataclasses import replace
from xml.etree import ElementTree as Xml

from handformer.checking.report import Report, Status
from handformer.checking.show import junit
from tests.checking.show.reports import HOSTILE, SCORES, fine, nothing, scaled, with_verdict


def read(report: Report) -> Xml.Element:
    suites = Xml.fromstring(junit(report))
    assert suites.tag == "testsuites"
    (suite,) = suites
    assert suite.tag == "testsuite"
    for element in (suites, suite):
        counted = {name: int(element.get(name, "")) for name in ("tests", "failures", "skipped")}
        assert counted == {
            "tests": len(suite.findall("testcase")),
            "failures": len(suite.findall("testcase/failure")),
            "skipped": len(suite.findall("testcase/skipped")),
        }
        assert element.get("errors") == "0"
    return suite


def named(suite: Xml.Element, path: str) -> Xml.Element:
    scope, _, name = path.rpartition(".")
    (found,) = suite.findall(f"testcase[@classname='{scope}'][@name='{name}']")
    return found


def test_each_compared_value_is_a_test_case() -> None:
    suite = read(scaled(2))
    assert len(suite) == 133  # two are missing
    assert suite.get("name") == "dump.npz against small"
    failure = named(suite, SCORES).find("failure")
    assert failure is not None
    assert failure.get("type") == "SCALE-1"
    message = failure.get("message") or ""
    assert message == failure.text
    assert message.startswith("Off by 0.0051; rounding explains 8e-6. Your own q and k are right")
    assert not list(named(suite, "blocks.0.attention.q"))
    skipped = named(suite, "blocks.0.attention.attn").find("skipped")
    assert skipped is not None
    assert skipped.get("message") == f"inherits a mistake since {SCORES}"
    assert len(suite.findall("testcase/failure")) == 2


def test_all_right_has_no_failure() -> None:
    suite = read(fine())
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("135", "0", "0")


def test_what_is_not_fine_fails_somewhere() -> None:
    unreadable = with_verdict(fine(), "norm.out", status=Status.UNREADABLE, hints=("too short",))
    for report in (nothing(), replace(fine(), unknown={"zz": ()}), unreadable):
        assert not report.fine
        (failure,) = read(report).findall("testcase/failure")
        assert failure.get("message")


def test_hostile_names_are_no_xml_of_their_own() -> None:
    report = replace(
        with_verdict(scaled(), SCORES, hints=(HOSTILE,), causes=(), note=HOSTILE),
        unknown={HOSTILE: (HOSTILE,), "\x00\ufffe": ()}, dump=HOSTILE,
    )  # fmt: skip
    suite = read(report)
    assert "</script>\\x1b[2J<b>\\udc80\\u202e]]>&\"'" in (suite.get("name") or "")
    names = [case.get("name") for case in suite.findall("testcase[@classname='model']")]
    assert "\\x00\\ufffe" in names
