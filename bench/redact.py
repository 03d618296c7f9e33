"""How many secrets redaction finds in corpora of them, and how much it takes out of ordinary code.

python -m bench.redact samples.jsonl.gz                  # recall by corpus, and by kind with --kinds
python -m bench.redact --code /usr/lib/python3 node_modules   # redactions per MB, by folder; --show prints where

A corpus is JSON lines, packed with gzip or not: `corpus`, `kind`, `text`, `secret`, `tp` (whether it is a secret) and
`whole` (any change counts). A secret is caught when no half of it is left in the text.
"""

import argparse
import gzip
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sessionlog.redact.rules import Rules

MARKER = "[redacted:"
PIECE = 64_000  # characters of a file that are one event
CODE = frozenset(
    ".c .cjs .css .go .h .html .java .js .json .jsx .map .md .mjs .py .pyi .rs .sh .toml .ts .tsx .txt .yaml "
    ".yml".split()
)


def cleaned(rules: Rules, text: str) -> str:
    """As the hook does it: suspected by the raw bytes of an event, parsed, cleaned."""
    data = json.dumps({"tool_response": {"stdout": text}}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    suspects = rules.suspects(data)
    if not suspects:
        return text
    payload = rules.clean(json.loads(data.decode("utf-8", "surrogatepass")), suspects)
    result: str = payload["tool_response"]["stdout"]
    return result


def is_caught(sample: dict[str, Any], after: str) -> bool:
    """Whether no half of the secret is left."""
    if sample.get("whole"):
        return bool(after != sample["text"])
    secret = sample["secret"]
    half = max(1, -(-len(secret) // 2))
    return not any(secret[start : start + half] in after for start in range(len(secret) - half + 1))


def samples(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a corpus."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    yield from (json.loads(line) for line in text.split("\n") if line.strip())


def recall(rules: Rules, paths: list[Path], by_kind: bool, show: bool) -> None:
    """A table of what was caught."""
    there: Counter[str] = Counter()
    caught: Counter[str] = Counter()
    false: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    for path in paths:
        for sample in samples(path):
            name = f"{sample['corpus']} {sample['kind']}" if by_kind else sample["corpus"]
            after = cleaned(rules, sample["text"])
            if not sample["tp"]:
                false[name] += 1
                taken[name] += after != sample["text"]
                continue
            there[name] += 1
            hit = is_caught(sample, after)
            caught[name] += hit
            if show and not hit:
                print(f"  missed: {sample['corpus']} {sample['kind']}: {sample['text'][:160]!r}")
    print(f"{'corpus':40}{'secrets':>9}{'caught':>9}{'recall':>9}{'no secrets':>12}{'taken':>7}")
    for name in sorted({*there, *false}):
        share = f"{100 * caught[name] / there[name]:.1f} %" if there[name] else "-"
        print(f"{name:40}{there[name]:9,}{caught[name]:9,}{share:>9}{false[name]:12,}{taken[name]:7,}")


def precision(rules: Rules, folders: list[Path], show: bool) -> None:
    """A table of what is taken out of ordinary code."""
    print(f"{'folder':48}{'files':>8}{'MB':>8}{'redactions':>12}{'per MB':>8}{'suspect':>9}")
    for folder in folders:
        files = size = redactions = pieces = suspect = 0
        for path in sorted(folder.rglob("*")):
            if path.suffix not in CODE or not path.is_file() or path.is_symlink():
                continue
            text = path.read_text(encoding="utf-8", errors="replace")
            files, size = files + 1, size + len(text)
            for start in range(0, len(text), PIECE):
                piece = text[start : start + PIECE]
                pieces += 1
                after = cleaned(rules, piece)
                suspect += bool(rules.suspects(json.dumps({"a": piece}, ensure_ascii=False).encode("utf-8", "replace")))
                found = max(0, after.count(MARKER) - piece.count(MARKER))
                redactions += found
                if show and found:
                    _show(path, piece, after)
        share = redactions / (size / 1e6) if size else 0
        name = str(folder)[-46:]
        print(f"{name:48}{files:8,}{size / 1e6:8.1f}{redactions:12,}{share:8.2f}{suspect / max(1, pieces):9.1%}")


def _show(path: Path, before: str, after: str) -> None:
    old = before.split("\n")
    for number, line in enumerate(after.split("\n")):
        if line.count(MARKER) > (old[number].count(MARKER) if number < len(old) else 0):
            at = line.find(MARKER)
            print(f"  {path}: {line[max(0, at - 60) : at + 70]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("corpora", nargs="*", type=Path, metavar="FILE", help="JSON lines of samples, or .jsonl.gz")
    parser.add_argument("--code", nargs="+", type=Path, metavar="DIR", default=[], help="folders of ordinary code")
    parser.add_argument("--kinds", action="store_true", help="a line for each kind, not for each corpus")
    parser.add_argument("--show", action="store_true", help="what was missed, and what was taken out of code")
    chosen = parser.parse_args()
    if not chosen.corpora and not chosen.code:
        parser.error("give corpora, or folders with --code")
    for path in (*chosen.corpora, *chosen.code):
        if not path.exists():
            sys.exit(f"{path} is not there")
    with tempfile.TemporaryDirectory() as home:
        rules = Rules(home)
        if chosen.corpora:
            recall(rules, chosen.corpora, chosen.kinds, chosen.show)
        if chosen.code:
            precision(rules, chosen.code, chosen.show)


if __name__ == "__main__":
    main()
