"""All detectors that come with sessionlog, in one list: for tests and benches. The cheap test names them one by one."""

from sessionlog.redact.assignments import ASSIGNMENTS
from sessionlog.redact.nearby import NEARBY
from sessionlog.redact.private_keys import PRIVATE_KEYS
from sessionlog.redact.token_forms import DETECTORS

BUILT_IN = (*PRIVATE_KEYS, *DETECTORS, ASSIGNMENTS, NEARBY)
