"""Connections to our servers send each write at once, whoever bound the port."""

import socket

from inspector.net.sockets import listening_without_delay


def delays(listening: socket.socket) -> bool:
    """Whether a connection that is accepted now holds small writes back."""
    with socket.create_connection(listening.getsockname()) as client:
        accepted, _ = listening.accept()
        with accepted, client:
            return not accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_port_that_another_bound_sends_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        assert delays(listening), "what asyncio takes over as it is"
        assert listening_without_delay() >= 1
        assert not delays(listening)


def test_other_sockets_are_left_alone() -> None:
    pair = socket.socketpair()
    with socket.socket() as idle, pair[0], pair[1]:
        before = idle.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        listening_without_delay()
        assert idle.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == before == 0
