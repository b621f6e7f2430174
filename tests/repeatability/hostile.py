"""Programs that try to pass without doing what the contract asks, or to do harm. None may pass, none may linger."""

# ruff: noqa: E501 - programs stand in one line each

from __future__ import annotations

import random

# The contract asks for double(n) = 2 n. Each attack takes the place of the body or of the whole module.
ATTACKS: dict[str, str] = {
    "endless loop": "def double(n):\n    while True: pass",
    "endless loop while loading": "while True: pass\ndef double(n): return 2 * n",
    "sleep": "import time\ndef double(n):\n    time.sleep(3600)",
    "fork bomb": "import os\ndef double(n):\n    while True: os.fork()",
    "thread bomb": "import threading, time\ndef double(n):\n    while True: threading.Thread(target=time.sleep, args=(99,)).start()",
    "ten gigabytes": "def double(n):\n    return len(bytearray(10 * 2**30))",
    "ever more memory": "def double(n):\n    held = []\n    while True: held.append(bytearray(10**7))",
    "recursion": "def double(n): return double(n)",
    "write outside": "def double(n):\n    open('/etc/steelyard-was-here', 'w').write('x')\n    return 2 * n",
    "write to the home folder": "import pathlib\ndef double(n):\n    pathlib.Path('/root/steelyard-was-here').write_text('x')\n    return 2 * n",
    "exit at once": "import os\nos._exit(0)",
    "exit in the call": "import os\ndef double(n): os._exit(0)",
    "sys.exit": "import sys\ndef double(n): sys.exit(0)",
    "print passed": "print('passed')\nprint('PASSED', 'ok', True)",
    "print passed and exit": "import os\nprint('passed', flush=True)\nos._exit(0)",
    "equal to everything": "class Yes:\n    def __eq__(self, other): return True\n    def __hash__(self): return 0\ndef double(n): return Yes()",
    "a number that equals everything": "class Yes(int):\n    def __eq__(self, other): return True\n    __hash__ = int.__hash__\ndef double(n): return Yes(7)",
    "patch json": "import json\njson.dumps = lambda *a, **k: '{\"case\": 0, \"value\": 2}'\ndef double(n): return 0",
    "patch the writer": "import os\nreal = os.write\nos.write = lambda fd, data: real(fd, data.replace(b'0', b'2'))\ndef double(n): return 0",
    "patch the checker": "import sys\nfor module in list(sys.modules.values()):\n    for name in ('equal', 'grade', 'check', 'perform', 'encode'):\n        if hasattr(module, name): setattr(module, name, lambda *a, **k: True)\ndef double(n): return 0",
    "patch builtins": "import builtins\nbuiltins.isinstance = lambda *a: True\nbuiltins.len = lambda *a: 3\ndef double(n): return 0",
    "forge a report without the nonce": "import os\nfor fd in range(3, 20):\n    try: os.write(fd, b'\\n0000 {\"case\": 0, \"value\": 2}\\n')\n    except OSError: pass\ndef double(n): return 0",
    "forge reports with the nonce": "import sys, json, os\njob = sys._getframe(1).f_locals.get('job') or {}\nfor fd in range(3, 20):\n    for case in range(9):\n        try: os.write(fd, ('\\n%s %s\\n' % (job.get('nonce'), json.dumps({'case': case, 'value': 0}))).encode())\n        except OSError: pass\ndef double(n): return 0",
    "kill the parent": "import os, signal\ndef double(n):\n    os.kill(os.getppid(), signal.SIGKILL)\n    return 0",
    "kill everybody": "import os, signal\ndef double(n):\n    os.kill(-1, signal.SIGKILL)\n    return 0",
    "leave a daemon": "import os, time\ndef double(n):\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(3600)\n    return 0",
    "close every file": "import os\nos.closerange(0, 64)\ndef double(n): return 2 * n",
    "flood the output": "import os, sys\ndef double(n):\n    while True: os.write(2, b'x' * 65536)",
    "fill the disk": "def double(n):\n    k = 0\n    while True:\n        open('f%d' % k, 'wb').write(b'x' * 10**6)\n        k += 1",
    "call home": "import socket\ndef double(n):\n    socket.create_connection(('127.0.0.1', 80), 1)\n    return 2 * n",
    "raise": "def double(n): raise ValueError('passed')",
    "raise the way out": "def double(n): raise SystemExit(0)",
    "crash": "import ctypes\ndef double(n): ctypes.string_at(0)",
    "not there": "def triple(n): return 3 * n",
    "not Python": "this is no program",
    "a generator": "def double(n): yield 2 * n",
    "wrong type": "def double(n): return float(2 * n) + 0.5",
    "text": "def double(n): return str(2 * n)",
    "deep": "def double(n):\n    a = []\n    for _ in range(10**5): a = [a]\n    return a",
    "itself": "def double(n):\n    a = []\n    a.append(a)\n    return a",
    "a huge number": "def double(n): return 10 ** (10 ** 6)",
    "signal storm": "import signal, os\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\ndef double(n):\n    while True: pass",
    "unraisable": "class Stay:\n    def __del__(self):\n        while True: pass\nheld = Stay()\ndef double(n): return 0",
    "exit handlers": "import atexit, time\natexit.register(time.sleep, 3600)\ndef double(n): return 0",
}  # fmt: skip


def hostile_programs(count: int, *, seed: int = 20261115) -> list[tuple[str, str]]:
    """That many named programs: every attack, then attacks combined two by two, dressed up differently each time."""
    chooser = random.Random(seed)
    made = list(ATTACKS.items())
    names = [name for name, code in ATTACKS.items() if name != "not Python"]
    while len(made) < count:
        first, second = chooser.sample(names, 2)
        dressing = f"# {chooser.random()}\n_{chooser.randrange(10**9)} = {chooser.randrange(10**9)}\n"
        # The second attack's double() wins; the first one's module code runs before it, its function in a thread or not.
        start = "import threading as _t\n_t.Thread(target=lambda f=double: f(1), daemon=True).start()\n"
        code = dressing + ATTACKS[first] + "\n" + (start if "def double" in ATTACKS[first] else "") + ATTACKS[second]
        made.append((f"{first} + {second}", code))
    return made[:count]
