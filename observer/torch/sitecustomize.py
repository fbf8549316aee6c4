"""Prepares the recorder of PyTorch's collectives in a program of Python.

The preloaded library (preload.c) puts the folder of this file in front of PYTHONPATH, so `site`
imports this module instead of a sitecustomize of the image. The program must not notice that:
the variable and sys.path become what they are without the tool, and the sitecustomize of the image
runs in the place of this one, with its own errors. Without PyTorch, nothing else happens. With it,
a finder waits until the program has imported torch.distributed, and imports nothing itself.
"""

import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
DISTRIBUTED = "torch.distributed.distributed_c10d"


def restore_variable():
    """Gives PYTHONPATH the value that it has without the tool; see preload.c."""
    value = os.environ.get("PYTHONPATH", "")
    if value == FOLDER:
        del os.environ["PYTHONPATH"]
    elif value == FOLDER + "/":
        os.environ["PYTHONPATH"] = ""
    elif value.startswith(FOLDER + ":"):
        os.environ["PYTHONPATH"] = value[len(FOLDER) + 1 :]


def leave():
    """Removes every trace of this folder, so that the next import finds that of the image."""
    restore_variable()
    sys.path[:] = [path for path in sys.path if path != FOLDER]
    for path in (FOLDER, FOLDER + "/"):
        sys.path_importer_cache.pop(path, None)
    sys.modules.pop("sitecustomize", None)


def has_torch():
    """Whether the program can import torch. Modules are found, and not imported."""
    for finder in sys.meta_path:
        spec = finder.find_spec("torch", None)
        if spec is not None:
            return spec.origin is not None
    return False


class Watch:
    """Finds no module. Notices that torch.distributed is there, and then begins to record."""

    is_done = False

    def find_spec(self, name, path=None, target=None):
        """Is called before each import of a module that is not loaded yet."""
        module = None if self.is_done else sys.modules.get(DISTRIBUTED)
        if hasattr(module, "_update_default_pg"):
            self.is_done = True
            begin(module)
        return None


def begin(module):
    """Runs the recorder, which is no module that the program could see."""
    try:
        path = os.path.join(FOLDER, "recorder.py")
        with open(path, encoding="utf-8") as file:
            code = compile(file.read(), path, "exec")
        names = {"__name__": "ridealong"}
        exec(code, names)
        names["attach"](module)
    except Exception:
        # The program runs without the tool.
        pass


try:
    leave()
    if has_torch():
        sys.meta_path.insert(0, Watch())
except Exception:
    pass

# Without a sitecustomize of the image, `site` handles the error as without the tool.
import sitecustomize  # noqa: E402,F401
