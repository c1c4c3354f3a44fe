"""Addresses as people write them."""

import pytest

from inspector.client.address import AddressInvalid, Server


@pytest.mark.parametrize(
    "address",
    [
        "http://1.2.3.999:8000",
        "http://my..host:8000",
        f"http://{64 * 'a'}.test",
        "http://ü..b",
        "http://☃.test",
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
