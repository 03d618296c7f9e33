"""The first code of a bundle: makes its modules and starts the hook.

A handler in hooks/ runs it among its own names: `bundle` (see bundle.py), `arguments` of the hook, `here`,
`implementation`, `loads`.
"""

import gc
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from marshal import loads
    from sys import implementation
    from typing import Any

    here: str
    bundle: tuple[bytes, list[Any], tuple[str, dict[str, str]]]
    arguments: tuple[Any, ...]

try:
    from posix import stat
except ImportError:  # Windows
    from os import stat

client = arguments[2] if len(arguments) > 2 else ""
magic, modules, (folder, c_modules) = bundle
try:
    fits = magic == sys.modules["_frozen_importlib_external"].MAGIC_NUMBER
    if client:
        name = client.replace("-", "_")
        modules += loads(open(f"{here}__pycache__/{name}.{implementation.cache_tag}.bundle", "rb").read())
    for _, path, changed, size, code in modules:
        if code:
            source = stat(path)
            fits = fits and source.st_mtime_ns == changed and source.st_size == size
except Exception:  # no such agent, or not a bundle
    fits = False
if not fits:
    exec(open(f"{here}imports.py", "rb").read())  # does not return

gc.disable()  # the process ends before anything could be freed
sys.path.reverse()  # C modules first: the folder of the whole standard library need not be searched
for name, path, _, _, code in modules:
    module = sys.modules[name] = type(sys)(name)
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, module)
    if code:
        module.__file__ = path
        exec(code, module.__dict__)
    else:
        module.__path__ = [path]
        if not parent and folder in sys.path:  # another Python of this version may have others
            module.__dict__["c_modules"] = c_modules

sys.modules["sessionlog.record.hook"].main(*arguments)
