"""Takes secrets out of an event before it is written, and leaves fingerprints that only this machine can compute."""

from sessionlog import secret_forms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessionlog.secret_forms import Detector


class Rules:
    """What to redact in the archive of the folder `home`: what we know, and what its config.json adds or allows."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.enabled = True
        self.allow: frozenset[str] = frozenset()
        self.own: list[Detector] = []
        self.problems: list[str] = []
        self.key: bytes | None = None  # of the fingerprints; read on first need
        try:
            with open(f"{home}/config.json", "rb") as file:
                config = file.read()
        except FileNotFoundError:
            return
        except OSError as error:
            self.problems.append(f"it cannot be read ({error})")
            return
        from sessionlog import cleaning

        cleaning.configure(self, config)

    def suspects(self, data: bytes) -> "tuple[Detector, ...]":
        """The detectors worth running on a payload, by its raw bytes: as a rule none, and nothing more is imported."""
        return secret_forms.suspects(data, (*self.own, *secret_forms.BUILT_IN)) if self.enabled else ()

    def clean(self, value: "Any", suspects: "tuple[Detector, ...]") -> "Any":
        """The parsed JSON value without its secrets; dicts and lists are changed in place."""
        if not suspects:
            return value
        from sessionlog import cleaning

        return cleaning.clean(value, cleaning.redactor(self, suspects))

    def clean_text(self, text: str, suspects: "tuple[Detector, ...]") -> str:
        """The text of a payload that is not JSON, without its secrets."""
        if not suspects:
            return text
        from sessionlog import cleaning

        return cleaning.redactor(self, suspects)(text)

    def fingerprint(self, secret: str) -> str:
        """The same ten digits for the same secret; nobody without this machine's key can try guesses against them."""
        from sessionlog import cleaning

        return cleaning.fingerprint(self, secret)

    @property
    def problem(self) -> str | None:
        """What is wrong with config.json, in one sentence. It compiles the user's patterns: not for the hot path."""
        from sessionlog import cleaning

        return cleaning.problem(self)
