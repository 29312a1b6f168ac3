"""What wraps a model, and what is in what it takes and gives."""
import torch

MAX_TENSORS = 64  # of one input or output


def unwrap(model):
    """-> the user's module, whether it is compiled, whether DDP or the like reduces its gradients."""
    compiled = distributed = False
    while True:
        if isinstance(getattr(model, "_orig_mod", None), torch.nn.Module):
            model, compiled = model._orig_mod, True
        elif isinstance(model, (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)):
            distributed = distributed or isinstance(model, torch.nn.parallel.DistributedDataParallel)
            model = model.module
        else:
            return model, compiled or getattr(model, "_compiled_call_impl", None) is not None, distributed


def tensors(value, depth=3):
    """The tensors in what a module took or gave, at most MAX_TENSORS."""
    found = []

    def walk(value, depth):
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif depth and isinstance(value, (tuple, list)):
            for part in value[:MAX_TENSORS]:
                walk(part, depth - 1)
        elif depth and isinstance(value, dict):
            for part in list(value.values())[:MAX_TENSORS]:
                walk(part, depth - 1)
    walk(value, depth)
    return iter(found[:MAX_TENSORS])


def loss_in(output):
    found = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
    return found if isinstance(found, torch.Tensor) and found.numel() == 1 else None


def scale_of(scaler):
    """The scale of a GradScaler, without waiting for its device; None without one, or before its first use."""
    if scaler is None or not getattr(scaler, "is_enabled", lambda: True)():
        return None
    scale = getattr(scaler, "_scale", None)
    return scale.detach() if isinstance(scale, torch.Tensor) else None
