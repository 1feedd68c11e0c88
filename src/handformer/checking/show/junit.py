"""A report as JUnit XML, which CI servers read: a test case a value that was compared.

What only inherits a mistake is skipped: it passes where the mistake is mended. What isn't in the
dump has no test case.
"""

from xml.etree import ElementTree as Xml

from handformer.checking.report import BAD, Report, Status, Verdict
from handformer.checking.show import said


def junit(report: Report) -> bytes:
    """The whole document, in UTF-8."""
    suites = Xml.Element("testsuites", name="handformer check")
    title = f"{report.dump} against {report.case}" if report.case else report.dump
    suite = Xml.SubElement(suites, "testsuite", name=said.visible(title))
    for verdict in report.verdicts:
        if verdict.status is not Status.MISSING:
            _value(suite, report, verdict)
    for name, near in report.unknown.items():
        meant = f"; did you mean {said.listed(near, 'or')}?" if near else ""
        _failed(_case(suite, name), "unknown", f"nothing here is called {name}{meant}")
    if not report.compared:
        _failed(_case(suite, "compared"), "nothing", said.answer(report))
    counts = {
        "tests": len(suite),
        "failures": len(suite.findall("testcase/failure")),
        "errors": 0,
        "skipped": len(suite.findall("testcase/skipped")),
    }
    for element in (suites, suite):
        for name, count in counts.items():
            element.set(name, str(count))
        element.set("time", f"{report.seconds:.3f}")
    Xml.indent(suites)
    written: bytes = Xml.tostring(suites, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _value(suite: Xml.Element, report: Report, verdict: Verdict) -> None:
    case = _case(suite, verdict.path)
    if verdict.status is Status.INHERITED:
        since = f" since {said.listed(verdict.since)}" if verdict.since else ""
        Xml.SubElement(case, "skipped", message=said.visible(f"inherits a mistake{since}"))
    elif verdict.status in BAD:
        found = said.compared(verdict)
        ids = " or ".join(cause.id for cause in verdict.causes) or verdict.status.value
        sentences = said.told(report, verdict)
        far = [said.sentence(said.off(found))] if found else []
        _failed(case, ids, " ".join([*far, *sentences]).replace("`", ""))


def _case(suite: Xml.Element, path: str) -> Xml.Element:
    scope, _, name = said.visible(path).rpartition(".")
    return Xml.SubElement(suite, "testcase", classname=scope or "model", name=name, time="0")


def _failed(case: Xml.Element, kind: str, message: str) -> None:
    message = said.visible(" ".join(message.split()))
    failure = Xml.SubElement(case, "failure", message=message, type=said.visible(kind))
    failure.text = message
