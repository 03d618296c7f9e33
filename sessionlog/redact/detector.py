"""A kind of secret with a form. Imported only on suspicion."""


class Detector:
    """A kind of secret with a form: how to suspect it in raw bytes, and how to find it in text.

    The secret is the group `secret` of the regex, or the whole match when there is no such group. `judge` names the one
    in replace.py that has the last word on a match.
    """

    __slots__ = ("judge", "kind", "needles", "regex", "rule", "turn")

    def __init__(
        self,
        kind: str,
        regex: str,
        needles: tuple[bytes, ...] = (),
        judge: str | None = None,
        rule: str = "a pattern of your own",
        turn: int = 0,
    ) -> None:
        self.kind, self.regex, self.needles, self.judge, self.rule = kind, regex, needles, judge, rule
        self.turn = turn  # private keys go before the tokens in them, tokens before what their names tell

    def suspects(self, data: bytes) -> bool:
        """Whether the secret may be there: one of the needles is, or there are none."""
        return not self.needles or any(needle in data for needle in self.needles)
