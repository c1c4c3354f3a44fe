"""What all operations of the lab share: folders, package, concurrency and progress reports."""

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from harmony_lab.install import CPU_PACKAGE, Environment, prepare
from harmony_lab.paths import LabPaths
from harmony_lab.process import ServerProcess, free_port
from harmony_lab.server import STANDALONE, ServerOptions, server
from harmony_lab.servers.table import SERVERS
from harmony_lab.standin.install import FRONT_END, RUST, prepare_official
from harmony_lab.standin.serving import standin_server


@dataclass(frozen=True, slots=True, kw_only=True)
class LabSession:
    """The options of one use of the lab."""

    paths: LabPaths
    package: str = CPU_PACKAGE
    jobs: int = 4
    """Requests in flight."""
    say: Callable[[str], None] = print
    """Reports progress to the user."""

    def prepare(self, version: str, *, python: str = sys.executable) -> Environment:
        """Install one release, or resume an earlier attempt."""
        if (other_server := SERVERS.get(self.package)) is not None:
            return other_server.install(self.paths, version, self.say)
        if self.package in {FRONT_END, RUST}:
            return prepare_official(self.paths, version, package=self.package, python=python, say=self.say)
        return prepare(self.paths, version, package=self.package, python=python, say=self.say)

    def serving(
        self, stack: ExitStack, environment: Environment, options: ServerOptions, *, wait: bool = True
    ) -> ServerProcess:
        """Start a server of one release inside the stack, with MCP tool servers if `options` has tools.

        Without `wait` it may still be starting; its method `ready` waits for it.
        """
        if (other_server := SERVERS.get(environment.package)) is not None:
            return stack.enter_context(
                other_server.serving(self.paths, environment, options, wait=wait, say=self.say)
            )
        tool_server = None
        if options.tools:
            python_port, browser_port = free_port(), free_port()
            script = STANDALONE / "tool_server.py"
            name = f"tools-{environment.package}-{environment.version}-{python_port}.log"
            stack.enter_context(
                ServerProcess(
                    [str(environment.python), str(script), str(python_port), str(browser_port)],
                    port=python_port,
                    environment={**os.environ, "HARMONY_LAB_PARENT": str(os.getpid())},
                    log=self.paths.logs / name,
                    timeout_s=60,
                )
            )
            tool_server = f"127.0.0.1:{python_port},127.0.0.1:{browser_port}"
        if environment.package in {FRONT_END, RUST}:
            return stack.enter_context(
                standin_server(
                    self.paths, environment, options, tool_server=tool_server, wait=wait, say=self.say
                )
            )
        return stack.enter_context(
            server(self.paths, environment, options, tool_server=tool_server, wait=wait, say=self.say)
        )
