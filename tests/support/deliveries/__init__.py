"""Random captures with their truth: a script, delivered rightly by a deliverer of its own, then one fault.

The truth comes from `openai_harmony.StreamableParser` and from what is written into the events here; nothing
is asked of `inspector.analysis`. `random_delivery(seed)` gives the same capture for the same seed.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind, Header
from inspector.protocol.harmony.vocab import MARKERS, encode_plain
from tests.support.deliveries.answers import (
    Bit,
    ServedChoice,
    all_bits,
    answer_of,
    damage,
    hide_reasoning,
    hold_back,
    texts_of,
)
from tests.support.deliveries.messages import as_messages
from tests.support.deliveries.payloads import (
    body_payload,
    chunks,
    item_of,
    item_texts,
    response_events,
    response_object,
    usage_of,
)
from tests.support.deliveries.truth import CUTS, FAULTS, Choice, RandomDelivery, SentEvidence

__all__ = ["FAULTS", "RandomDelivery", "random_delivery"]


def random_delivery(
    seed: int, *, fault: str | None = None, endpoint: Endpoint | None = None
) -> RandomDelivery:
    """The capture of a seed, with its truth."""
    random = Random(seed)  # noqa: S311
    any_endpoint = endpoint is None
    if endpoint is None:
        endpoint = random.choice([Endpoint.CHAT] * 5 + [Endpoint.COMPLETIONS] * 2 + [Endpoint.RESPONSES] * 2)
    if fault is None:
        fault = random.choice(
            ["none"] * 6 + ["hold"] * 2 + ["stop", "hide_reasoning", *CUTS] + [*FAULTS, "reorder"]
        )
    responses = endpoint is Endpoint.RESPONSES
    if (fault == "hide_reasoning" and endpoint is not Endpoint.CHAT) or (fault == "stop" and responses):
        fault = "none"
    streamed = random.random() < 0.75 or fault in {"hold", "lose_event", "reorder_across", "unfinished"}
    if fault == "lose_end" and not streamed:
        streamed = True
    evidence = SentEvidence(
        ids="none" if responses else random.choice(["all"] * 6 + ["some", "logprobs", "none"]),
        usage=random.random() < 0.6,
        finish=random.random() < 0.9 or fault == "stop",
        done_sent=streamed and not responses and random.random() < 0.92,
        final=responses,
    )
    if fault == "hide_reasoning":
        evidence = replace(evidence, ids=random.choice(["all", "all", "none"]))
    if not streamed and evidence.ids == "some":
        evidence = replace(evidence, ids="all")
    reports_errors = random.random() < 0.5 and fault == "none" and streamed
    two_choices = (
        endpoint is not Endpoint.RESPONSES
        and random.random() < 0.1
        and fault not in {"stop", "hide_reasoning"}
    )
    skip_special = endpoint is Endpoint.COMPLETIONS and random.random() < 0.3
    answers = [
        answer_of(
            random,
            fault,
            endpoint,
            reports_errors=reports_errors and not two_choices,
            skip_special=skip_special,
        )
        for _ in range(2 if two_choices else 1)
    ]
    right = [replace(bit) for bit in all_bits(answers[0].steps)]
    in_final = False
    usage = sum(len(answer.script.ids) for answer in answers)
    extra: dict[str, Any] = {}
    match fault:
        case "hold":
            for answer in answers:
                hold_back(answer.steps, random)
        case "stop":
            if not answers[0].stopped_by:
                fault = "none"
        case "hide_reasoning":
            if hide_reasoning(answers[0], random):
                extra["include_reasoning"] = False
                if evidence.ids == "all" and random.random() < 0.7:
                    evidence = replace(evidence, usage=True)
            else:
                fault = "none"
        case "none" | "lose_end" | "lose_event" | "unfinished":
            pass
        case _:
            if damage(answers[-1], fault, random, endpoint):
                in_final = responses and (not streamed or random.random() < 0.3)
            else:
                fault = "none"
    if evidence.ids == "some":
        for answer in answers:
            for step in answer.steps:
                step.shows_ids = random.random() < 0.7
    request = _request(endpoint, answers, random, evidence, streamed=streamed) | extra
    if endpoint is Endpoint.COMPLETIONS:
        request["skip_special_tokens"] = skip_special
    limits = [answer for answer in answers if answer.finish == "length"]
    if limits:
        request["max_output_tokens" if responses else "max_tokens"] = len(limits[0].script.ids)
    rejected = any(answer.rejected is not None for answer in answers)
    version = "0.31.0" if reports_errors and rejected else "0.33.0"
    owned_by: str | None = "vllm"
    if random.random() < 0.3 and not reports_errors:
        owned_by = None
    header = Header(
        endpoint=endpoint,
        request=request,
        model="openai/gpt-oss-20b",
        server_version=version if owned_by and random.random() < 0.8 else None,
        owned_by="vllm-frontend-rs" if fault == "hide_reasoning" and owned_by else owned_by,
        status=200,
        started_at="2026-11-25T00:00:00+00:00",
    )
    events, end, evidence, fault = _events(
        endpoint,
        answers,
        evidence,
        random,
        fault=fault,
        right=right,
        streamed=streamed,
        in_final=in_final,
        usage=usage,
    )
    capture = Capture(header=header, events=events, end=end)
    on_messages = as_messages(capture) if any_endpoint and len(answers) == 1 and seed % 4 == 1 else None
    if on_messages is not None:
        capture, evidence = on_messages, replace(evidence, ids="none")
    shown_ids = evidence.ids != "none"
    return RandomDelivery(
        seed=seed,
        capture=capture,
        fault=fault,
        in_final=in_final,
        same_count=_same_count(answers[0]),
        streamed=streamed,
        error_reported=any(answer.error for answer in answers),
        evidence=evidence,
        choices=[_truth(answer, endpoint, shown_ids=shown_ids, streamed=streamed) for answer in answers],
    )


def _request(
    endpoint: Endpoint,
    answers: Sequence[ServedChoice],
    random: Random,
    evidence: SentEvidence,
    *,
    streamed: bool,
) -> dict[str, Any]:
    request: dict[str, Any] = {"model": "openai/gpt-oss-20b", "stream": streamed}
    names = sorted({m.name for answer in answers for m in answer.script.messages if m.name})
    if endpoint is Endpoint.COMPLETIONS:
        request["prompt"] = [200006, 1428, 200008, 13225, 200007, 200006, 173781]
        request["skip_special_tokens"] = False
    elif endpoint is Endpoint.CHAT:
        request["messages"] = [{"role": "user", "content": "Hello"}]
        if names or random.random() < 0.3:
            request["tools"] = [
                {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
                for name in {*names, "run"}
            ]
    else:
        request["input"] = "Hello"
        if names:
            request["tools"] = [
                {"type": "function", "name": name, "parameters": {"type": "object"}} for name in names
            ]
    if evidence.ids in {"all", "some"} and endpoint is not Endpoint.RESPONSES:
        request["return_token_ids"] = True
    if evidence.ids == "logprobs":
        request["logprobs"] = True if endpoint is Endpoint.CHAT else 0
    if evidence.usage and streamed and endpoint is not Endpoint.RESPONSES:
        request["stream_options"] = {"include_usage": True}
    if len(answers) > 1:
        request["n"] = len(answers)
    if answers[0].stopped_by:
        request["stop"] = [answers[0].stopped_by]
    return request


def _same_count(answer: ServedChoice) -> bool:
    """Whether what was delivered may encode to as many tokens as were sampled.

    Items do not show their headers: `commentary` has a token more than `final`, a content type three.
    """
    items = item_texts(all_bits(answer.steps))
    messages = {
        number: message
        for number, message in enumerate(answer.script.messages)
        if message.field is not None and (message.text or message.name)
    }
    if items.keys() != messages.keys():
        return False
    sampled = sum(
        len(message.pieces) + len(encode_plain(message.name or "")) for message in messages.values()
    )
    encoded = sum(len(encode_plain(text)) + len(encode_plain(name)) for _, name, text in items.values())
    return abs(sampled - encoded) <= sum(3 if name else 1 for _, name, _ in items.values())


def _truth(answer: ServedChoice, endpoint: Endpoint, *, shown_ids: bool, streamed: bool) -> Choice:
    count = len(answer.script.ids)
    shown = [False] * count
    for step in answer.steps:
        sent_ids = list(step.ids)
        for place in range(step.first, min(step.first + max(len(sent_ids), 1), count)):
            shown[place] = shown_ids and (step.shows_ids or not streamed)
    last = answer.script.ids[-1] if count else None
    return Choice(
        ids=answer.script.ids,
        shown=shown,
        generated=answer.generated,
        delivered=texts_of(all_bits(answer.steps)),
        faulty=answer.faulty,
        rejected=answer.rejected,
        unheard=answer.unheard,
        open=endpoint is not Endpoint.COMPLETIONS and last not in MARKERS,
    )


def _has_tokens(payload: dict[str, Any] | str) -> bool:
    """Whether a chunk brings tokens; one that only ends a choice does not."""
    if isinstance(payload, str):
        return False
    return any(choice.get("token_ids") or choice.get("logprobs") for choice in payload["choices"])


def _events(
    endpoint: Endpoint,
    answers: Sequence[ServedChoice],
    evidence: SentEvidence,
    random: Random,
    *,
    fault: str,
    right: Sequence[Bit],
    streamed: bool,
    in_final: bool,
    usage: int,
) -> tuple[list[Event], End | None, SentEvidence, str]:
    responses = endpoint is Endpoint.RESPONSES
    end: End | None = End(at_s=None, cut=False)
    if not streamed:
        if responses:
            items = item_texts(all_bits(answers[0].steps) if in_final else right)
            output = [
                item_of(number, kind, name, text, status="completed")
                for number, (kind, name, text) in sorted(items.items())
            ]
            status = "incomplete" if answers[0].finish == "length" else "completed"
            count = usage_of(usage, endpoint) if evidence.usage else None
            body = response_object(output, status, count)
        else:
            body = body_payload(endpoint, answers, evidence, random, usage=usage)
        return [Event(json.dumps(body), 0.02, kind=EventKind.BODY)], end, evidence, fault
    payloads: list[dict[str, Any] | str]
    if responses:
        payloads = [*response_events(answers[0], evidence, right, in_final=in_final, usage=usage)]
    else:
        payloads = chunks(endpoint, answers, evidence, random, usage=usage)
    reports_error = any(answer.error for answer in answers)
    match fault:
        case "unfinished" if len(payloads) > 2:
            payloads = payloads[: random.randrange(1, len(payloads) - 1)]
            end, evidence = None, replace(evidence, done_sent=False, usage=False, finish=False, final=False)
        case "lose_event" if not reports_error and not responses:
            places = [
                place
                for place, payload in enumerate(payloads)
                if isinstance(payload, dict) and any(choice.get("token_ids") for choice in payload["choices"])
            ]
            if not places:
                fault = "none"
            else:
                del payloads[random.choice(places)]
        case "lose_end" if not reports_error:
            # The last event that has text, tokens or the end of a choice, and sometimes what follows it.
            places = [
                place
                for place, payload in enumerate(payloads)
                if isinstance(payload, dict) and (payload.get("choices") or responses)
            ]
            if random.random() < 0.5:
                payloads = payloads[: places[-1]]
                evidence = replace(evidence, done_sent=False, usage=False, finish=False, final=False)
                end = End(at_s=None, cut=random.random() < 0.5)
            else:
                fault = fault if responses or _has_tokens(payloads[places[-1]]) else "none"
                del payloads[places[-1]]
                evidence = replace(evidence, finish=False, final=False)
        case "lose_end" | "lose_event" | "unfinished":
            fault = "none"
        case _:
            pass
    events = [
        Event(
            payload if isinstance(payload, str) else json.dumps(payload),
            (number + 1) * 0.01,
            payload["type"] if responses and isinstance(payload, dict) else "",
        )
        for number, payload in enumerate(payloads)
    ]
    if random.random() < 0.2:
        for _ in range(random.randint(1, 4)):
            place = random.randint(0, len(events))
            before = events[place - 1].at_s if place else 0.0
            events.insert(place, Event(" keep-alive", before, kind=EventKind.COMMENT))
    return events, end, evidence, fault
