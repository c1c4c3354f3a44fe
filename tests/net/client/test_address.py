"""Addresses as people write them."""

from typing import Any

import pytest

from inspector.capture.errors import InspectorError
from inspector.net.client.address import AddressInvalid, Server


@pytest.mark.parametrize(
    "address",
    [
        "http://1.2.3.999:8000",
        "http://my..host:8000",
        f"http://{64 * 'a'}.test",
        "http://ü..b",
        "http://☃.test",
        "http://xn--",
        "http://host/\x01",
        "http://[::1",
        "http://host:99999",
        "http://a b",
        "http://",
    ],
)
def test_a_name_that_no_host_can_have_is_refused_before_anything_is_asked(address: str) -> None:
    with pytest.raises(AddressInvalid, match="invalid server address"):
        Server(base_url=address)


@pytest.mark.parametrize(
    "address",
    ["localhost:8000", "http://10.0.0.1", "https://[::1]:8000/v1", "http://gpu_box", "http://bücher.test"],
)
def test_names_and_numbers_of_hosts_are_taken(address: str) -> None:
    assert Server(base_url=address).v1.endswith("/v1")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"api_key": "sk-…"}, "the API key has a character"),
        ({"api_key": "sk-1\n"}, "the API key has a character"),
        ({"headers": {"X-Team": "größe"}}, "invalid header 'X-Team'"),
        ({"headers": {"X Team": "a"}}, "invalid header 'X Team'"),
        ({"headers": {"X-Team": "a\r\nX-Other: b"}}, "invalid header 'X-Team'"),
    ],
)
def test_a_key_or_header_that_http_cannot_carry_is_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(InspectorError, match=why) as refused:
        Server(base_url="http://h", **options)
    assert "sk-" not in str(refused.value)
