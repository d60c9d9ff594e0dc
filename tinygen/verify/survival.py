"""Whether an oracle's own code lets this process live: some of its checks end it, whatever the caller handles."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from tinygen.system.process import tied

_PACKAGES = Path(__file__).resolve().parents[2]  # the folder that tinygen is imported from
_START = "import sys; sys.path.append(sys.argv[1]); from tinygen.verify.survival import attempt; attempt(sys.argv[2])"


def is_survived(call: str, *arguments: object) -> bool:
    """Whether a process outlives `call`, `module:function` of `arguments` (JSON), in which no signal kills it.

    LiteRT's and TFLite Micro's kernels abort on multipliers that they have no form for, such as one of 0. What else
    goes wrong, an exception or a module that is missing, does not count. The process is started anew: a copy of this
    one (`fork`) has none of its threads, and may wait for what they hold for ever.
    """
    command = [sys.executable, "-P", "-c", _START, str(_PACKAGES), json.dumps([call, arguments])]
    silent = subprocess.DEVNULL
    return subprocess.run(tied(command), stdin=silent, stdout=silent, stderr=silent, check=False).returncode >= 0


def attempt(job: str) -> None:
    """In that process: call what `is_survived` was told."""
    call, arguments = json.loads(job)
    module, _, name = call.partition(":")
    getattr(import_module(module), name)(*arguments)
