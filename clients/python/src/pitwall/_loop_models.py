"""Models that a loop of steps() trains, to tell a new training from the next epoch of the same one.

Both are a further loop of the process. A new training has other models: then its steps count from 0, which rules take as a roll-back,
so that its first losses are not compared with the last ones of the training before. Loops that take turns, such as those of a generator
and a discriminator, have models that were trained before: they count on.
"""
import sys
import weakref

MAX_FRAMES = 6    # from the loop outwards; wrappers such as tqdm are between
MAX_VALUES = 256  # looked at in each
MAX_MODELS = 256  # live ones of one mode; beyond it the oldest are forgotten


class LoopModels:
    """Models that the loops of one recorder have trained, by mode."""

    def __init__(self):
        self._trained = {}  # mode -> weak references

    def are_new(self, mode, frame):
        """Whether the loop in the frame trains only models that no loop of the mode trained before; False for the first with models."""
        torch = sys.modules.get("torch.nn")
        module = getattr(torch, "Module", None)
        found = _models(frame, module) if module is not None else []
        if not found:
            return False
        known = mode in self._trained
        before = [(reference, model) for reference, model in ((r, r()) for r in self._trained.get(mode, ())) if model is not None]
        fresh = [model for model in found if not any(model is other for _, other in before)]
        references = [reference for reference, _ in before] + [weakref.ref(model) for model in fresh]
        self._trained[mode] = references[-MAX_MODELS:]
        return known and len(fresh) == len(found)


def _models(frame, module):
    """Models with parameters of the innermost frame that has any: its local variables, the global ones that its code names, and the
    attributes of `self`."""
    for _ in range(MAX_FRAMES):
        if frame is None:
            return []
        found = [model for value in _values(frame) for model in _unwrapped(value, module)]
        if found:
            return found
        frame = frame.f_back
    return []


def _values(frame):
    code, variables = frame.f_code, frame.f_locals
    names = code.co_names if variables is frame.f_globals else list(variables)
    values = [variables.get(name) for name in names]
    if variables is not frame.f_globals:
        values += [frame.f_globals.get(name) for name in code.co_names]
    values += list(getattr(variables.get("self"), "__dict__", {}).values())
    return values[:MAX_VALUES]


def _unwrapped(value, module):
    """The value and the modules that it wraps (DDP, torch.compile), if it is a model."""
    found = []
    while isinstance(value, module) and len(found) < 8 and next(value.parameters(), None) is not None:
        found.append(value)
        inner = vars(value).get("_modules", {})
        value = inner.get("_orig_mod") or inner.get("module")
    return found
