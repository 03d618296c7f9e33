"""sessionlog supervise."""

from __future__ import annotations

from sessionlog.cli.main import example
from sessionlog.supervisor import command as supervisor

command = example(
    "sessionlog install --supervisor 'sessionlog review'",
    "sessionlog supervise --reviewer 'sessionlog review' --session-id \"$CLAUDE_CODE_SESSION_ID\"",
    "sessionlog supervise --reviewer ./review.sh < event.json",
)(supervisor.command)
