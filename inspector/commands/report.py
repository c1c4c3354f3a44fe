"""`report`: a capture as an HTML page or a Markdown bug report."""

from argparse import Namespace, RawDescriptionHelpFormatter

from inspector.capture.errors import InspectorError
from inspector.commands.shared import one_capture, write_text
from inspector.commands.terminal import Commands
from inspector.inspection.compare import compare
from inspector.inspection.inspection import inspect
from inspector.views.report import html_report, markdown_report

_EXAMPLE = """examples:
  python -m inspector report fixtures/chat-tool-call-leak-vllm-0.14.1.jsonl --html report.html
  python -m inspector report stream.jsonl --markdown - --html report.html --against older.jsonl

exit codes: 0 written, 2 a file cannot be read or written
"""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "report",
        description="Write a report with the verdict, token strip, findings, texts, timing, the shortest "
        "token list that still fails, known issues, and how to replay the capture. API keys are masked, "
        "texts are not: read a report before you publish it.",
        epilog=_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "file", metavar="FILE", help="a capture or another supported file; - is standard input"
    )
    parser.add_argument(
        "--html", metavar="OUT", help="write one self-contained HTML page; - is standard output"
    )
    parser.add_argument("--markdown", metavar="OUT", help="write a bug report; - is standard output")
    parser.add_argument("--against", metavar="FILE", help="add a comparison with FILE to the HTML page")
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Write the requested reports."""
    if arguments.html is None and arguments.markdown is None:
        raise InspectorError("no output selected; use --html OUT, --markdown OUT, or both")
    name, capture = one_capture(arguments.file)
    inspection = inspect(capture, name=name)
    against = None
    if arguments.against is not None:
        reference_name, reference = one_capture(arguments.against)
        against = compare(inspect(reference, name=reference_name), inspection)
    if arguments.html is not None:
        write_text(arguments.html, html_report(inspection, against=against))
    if arguments.markdown is not None:
        write_text(arguments.markdown, markdown_report(inspection))
    return 0
