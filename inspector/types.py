"""Public names of the types that the library returns, for annotations; the functions are in `inspector`.

from inspector.types import Cause, Transcript
"""

from inspector.analysis.alignment.cells import Alignment, Fate, FateState
from inspector.analysis.audit.facts import (
    BelowLimit,
    CallAsText,
    CallWithoutEvents,
    Disconnection,
    EndWithoutAnswer,
    HarmonyText,
    Incomplete,
    LimitReached,
    MisnamedCall,
    MisplacedCall,
    MistakenCall,
    NoFacts,
    OpenMessage,
    ParserRejection,
    PromptRejection,
    ProtocolNotice,
    RepeatedEvent,
    ServerRejection,
    SpecialToken,
    TextWithoutField,
    TokenCounts,
    UndeliveredCall,
    UnexplainedCount,
    UnknownChannel,
    UnknownRole,
    UnnamedCall,
    UnofferedCall,
    UnreportedLimit,
)
from inspector.analysis.audit.outcome import ResponseOutcome
from inspector.analysis.audit.rejection import Rejection
from inspector.analysis.audit.stream_checks import Transmission
from inspector.analysis.audit.verdict import Clause
from inspector.analysis.metrics import Figures
from inspector.analysis.prompt.first import FirstDifference
from inspector.analysis.reading import ChoiceReading
from inspector.capture.capture import ClosedBy
from inspector.capture.deltas import Delta
from inspector.capture.tokens import Token, Tokens
from inspector.inspection.compare.comparison import ChoiceComparison, Divergence
from inspector.inspection.compare.comparison import Outcome as ComparisonOutcome
from inspector.inspection.compare.joining import JoinedBy
from inspector.inspection.compare.matching import FindingPairs
from inspector.inspection.compare.passing import Passing, PassingOutcome
from inspector.inspection.compare.sequences import Counts as TokenDifference
from inspector.inspection.compare.settings import Setting as SettingDifference
from inspector.issues.advice import Advice
from inspector.issues.catalogue.issue import Confidence, Issue, Step
from inspector.issues.catalogue.issue import Side as FaultSide
from inspector.issues.catalogue.routes import Route
from inspector.issues.catalogue.steps import ReleaseMeasured, Situation
from inspector.issues.catalogue.versions import ReportedVersion
from inspector.issues.diagnosis import Count as MinuteCount
from inspector.issues.diagnosis import DiagnosisOutcome, Failure
from inspector.issues.findings.cause import Cause
from inspector.issues.findings.diagnose import IssueMatches
from inspector.issues.ranking import Answer
from inspector.issues.reference_parsers import ParserResult
from inspector.protocol.engines.engine import Engine
from inspector.protocol.harmony.transcript import Message, Transcript
from inspector.protocol.wire.endpoints import EndpointSpec
from inspector.protocol.wire.excerpt import Excerpt
from inspector.protocol.wire.stream import ServerError, Stream
from inspector.views.tokens import TokenFate

__all__ = [
    "Advice",
    "Alignment",
    "Answer",
    "BelowLimit",
    "CallAsText",
    "CallWithoutEvents",
    "Cause",
    "ChoiceComparison",
    "ChoiceReading",
    "Clause",
    "ClosedBy",
    "ComparisonOutcome",
    "Confidence",
    "Delta",
    "DiagnosisOutcome",
    "Disconnection",
    "Divergence",
    "EndWithoutAnswer",
    "EndpointSpec",
    "Engine",
    "Excerpt",
    "Failure",
    "Fate",
    "FateState",
    "FaultSide",
    "Figures",
    "FindingPairs",
    "FirstDifference",
    "HarmonyText",
    "Incomplete",
    "Issue",
    "IssueMatches",
    "JoinedBy",
    "LimitReached",
    "Message",
    "MinuteCount",
    "MisnamedCall",
    "MisplacedCall",
    "MistakenCall",
    "NoFacts",
    "OpenMessage",
    "ParserRejection",
    "ParserResult",
    "Passing",
    "PassingOutcome",
    "PromptRejection",
    "ProtocolNotice",
    "Rejection",
    "ReleaseMeasured",
    "RepeatedEvent",
    "ReportedVersion",
    "ResponseOutcome",
    "Route",
    "ServerError",
    "ServerRejection",
    "SettingDifference",
    "Situation",
    "SpecialToken",
    "Step",
    "Stream",
    "TextWithoutField",
    "Token",
    "TokenCounts",
    "TokenDifference",
    "TokenFate",
    "Tokens",
    "Transcript",
    "Transmission",
    "UndeliveredCall",
    "UnexplainedCount",
    "UnknownChannel",
    "UnknownRole",
    "UnnamedCall",
    "UnofferedCall",
    "UnreportedLimit",
]
