"""The texts of a short rollout: a question, a tool call and its result, an answer, a second question."""

__all__ = [
    "ANALYSIS",
    "ANSWERED",
    "ARGUMENTS",
    "CALL",
    "CALLED",
    "DEVELOPER",
    "FINAL",
    "HISTORY",
    "NEXT",
    "OPEN",
    "PROMPT",
    "RESULT",
    "SYSTEM",
    "USER",
]

SYSTEM = "<|start|>system<|message|>You are ChatGPT.\nCurrent date: 2025-08-05\n\nReasoning: medium<|end|>"
DEVELOPER = "<|start|>developer<|message|># Instructions\n\nBe brief.<|end|>"
USER = "<|start|>user<|message|>What is the weather in Paris?<|end|>"
OPEN = "<|start|>assistant"
ANALYSIS = "<|channel|>analysis<|message|>Need the weather.<|end|>"
ARGUMENTS = '{"city": "Paris", "unit": "C"}'
CALL = f"<|channel|>commentary to=functions.get <|constrain|>json<|message|>{ARGUMENTS}<|call|>"
RESULT = "<|start|>functions.get to=assistant<|channel|>commentary<|message|>sunny<|end|>"
FINAL = "<|channel|>final<|message|>It is sunny in Paris.<|return|>"
NEXT = "<|start|>user<|message|>And in Rome?<|end|>"
PROMPT = SYSTEM + DEVELOPER + USER + OPEN
CALLED = f"{ANALYSIS}{OPEN}{CALL}"
ANSWERED = f"{ANALYSIS}{OPEN}{FINAL}"
HISTORY = f"{PROMPT}{FINAL.replace('<|return|>', '<|end|>')}{NEXT}{OPEN}"
"""What the template makes of an answered turn."""
