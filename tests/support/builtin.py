"""The built-in captures by name, and the ones that tests speak of."""

from inspector.capture.capture import Endpoint
from inspector.files.store import builtin, load

__all__ = ["CAPTURES", "CHATS", "COMPLETE_CHAT", "GROUND", "RESPONSES", "TEXT", "TOOL"]

CAPTURES = {row.name: load(row.path) for row in builtin()}
CHATS = [name for name, capture in CAPTURES.items() if capture.header.endpoint is Endpoint.CHAT]
COMPLETE_CHAT = "chat-whole-one-token-per-step-vllm-0.13.0"
RESPONSES = "responses-whole-vllm-0.14.1"
TEXT = "Hello there! 👋🏽 How can I help?"


TOOL = "chat-tool-call-leak-vllm-0.14.1"
GROUND = "completions-unexpected-token-200002-vllm-0.13.0"
