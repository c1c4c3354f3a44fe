"""`report`: a capture as an HTML page or a Markdown bug report."""

from typing import Final

from inspector.capture.errors import InspectorError
from inspector.commands.options import Command, Options, option
from inspector.commands.progress import progress
from inspector.commands.shared import capture_files, one_capture, write_text
from inspector.inspection.compare import compare
from inspector.inspection.inspection import inspect
from inspector.views.report import html_report, markdown_report

_EXAMPLE = """examples:
  python -m inspector report chat-tool-call-leak-vllm-0.14.1 --html report.html
  python -m inspector report stream.jsonl --markdown - --html report.html --against older.jsonl

exit codes: 0 written, 2 a file cannot be read or written
"""


class Report(Options):
    """Write a report of a capture.

    It has the verdict, token strip, findings, texts, timing, the shortest token list that still fails, known
    issues, and how to replay the capture. API keys are masked, texts are not: read it before you publish it.
    """

    file: str = capture_files()
    html: str | None = option("write one self-contained HTML page; - is standard output", None, "FILE")
    markdown: str | None = option("write a bug report; - is standard output", None, "FILE")
    against: str | None = option("add a comparison with FILE to the HTML page", None, "FILE")


def run(options: Report) -> int:
    """Write the requested reports."""
    if options.html is None and options.markdown is None:
        raise InspectorError("no output selected; use --html FILE, --markdown FILE, or both")
    html = markdown = ""
    with progress() as step:
        step(options.file)
        name, capture = one_capture(options.file)
        inspection = inspect(capture, name=name)
        against = None
        if options.against is not None:
            reference_name, reference = one_capture(options.against)
            against = compare(inspect(reference, name=reference_name), inspection)
        if options.html is not None:
            html = html_report(inspection, against=against)
        if options.markdown is not None:
            markdown = markdown_report(inspection)
    if options.html is not None:
        write_text(options.html, html)
    if options.markdown is not None:
        write_text(options.markdown, markdown)
    return 0


COMMAND: Final = Command(Report, run, _EXAMPLE)
