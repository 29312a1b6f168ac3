"""What a PyTorch DataLoader was made with, told now and then by steps().

How many of its workers delivered lately cannot be seen from outside without taking part in it, so it is not told.
"""
from ._guard import swallow

TELL_EVERY = 500  # batches; rules on the step clock look back 1000 steps

_FACTS = (("num_workers", "train_loader_workers_configured"), ("prefetch_factor", "train_loader_prefetch_factor"),
          ("pin_memory", "train_loader_pin_memory"))


class Facts:
    """Of one pass over one loader. tell() after each batch."""

    def __init__(self, loader):
        self._loader = loader if _is_torch_loader(loader) else None
        self._left = 0

    def tell(self, recorder):
        if self._loader is None or recorder is None:
            return
        if self._left > 0:
            self._left -= 1
            return
        self._left = TELL_EVERY - 1
        try:
            given = [(metric, getattr(self._loader, name, None)) for name, metric in _FACTS]
            # Without workers nothing is prepared ahead, and the factor is None.
            recorder.log([(metric, float(value)) for metric, value in given if value is not None], ())
        except Exception:
            swallow("steps")


def _is_torch_loader(loader):
    try:
        return any(kind.__module__.startswith("torch.utils.data.") and kind.__name__ == "DataLoader"
                   for kind in type(loader).__mro__)
    except Exception:
        swallow("steps")
        return False
