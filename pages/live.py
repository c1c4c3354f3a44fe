"""Live: send a request and watch the tokens arrive; without a server the built-in one replays captures."""

from inspector.net.runs.run import RunState
from pages.parts import live
from pages.ui import state

session = state.current()
run = live.watched(session)
# Asked once: a run that ends while the page is drawn is drawn as growing, and its fragment draws again.
running = run is not None and run.state is not RunState.ENDED
server = live.asking(session, run, running=running)
if run is None:
    live.ghost()
else:
    live.growing(session, run, ended=not running)
live.checkup(server)
live.recent(session, run)
