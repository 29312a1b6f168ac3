"""Cost of each individual hook of watch(): `python3 clients/python/tests/bench/bench_parts.py [--sources DIR]`.

Measures the wall time of single calls in turn. The result is the mean of the fastest fifth of the calls, because other processes can only increase
the time. PyTorch's overhead of calling a hook is not included; bench_step.py includes it in whole steps. The client does not send any data.

--sources: the `src` of another version, or a directory written by native_build.py, to compare two versions.
"""
import argparse
import os
import sys
import time


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sources", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src"))
    options.add_argument("--turns", type=int, default=3000)
    options = options.parse_args()
    sys.path.insert(0, options.sources)
    import pitwall
    import torch
    from pitwall._client import client
    from pitwall.pytorch import _hook
    from pitwall.recording import _recorder
    torch.set_num_threads(1)
    torch.manual_seed(0)
    nn, hook = torch.nn, _hook.Hook
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer, criterion = torch.optim.SGD(model.parameters(), lr=0.01), nn.CrossEntropyLoss()
    data, labels = torch.randn(32, 64), torch.randint(0, 10, (32,))
    client.recorder = _recorder.Recorder(10**7)
    watched = pitwall.watch(model, optimizer, criterion, every=0, grad_norm_every=0)
    output = model(data)
    steps = iter(pitwall.steps(range(10**9)))

    def hook_of(name):
        """Returns the registered hook: the C function if this version has one, or else the method."""
        return hook(getattr(watched, name, None) or getattr(watched, "_" + name))
    before_forward, after_forward, after_loss = hook_of("before_forward"), hook_of("after_forward"), hook_of("after_loss")
    before_optimizer, after_optimizer = hook_of("before_optimizer"), hook_of("after_optimizer")
    before_backward = getattr(watched, "before_backward", watched._loop.before_backward)
    after_backward = getattr(watched, "gradients_ready", watched._on_gradients)

    def loss():
        return criterion(output, labels).detach().requires_grad_().mul(1)

    taken = {}

    def take(name, function, *arguments):
        begin = time.perf_counter_ns()
        function(*arguments)
        taken.setdefault(name, []).append(time.perf_counter_ns() - begin)

    def measure_norm():
        watched._measure_norm(*(("train", 1) if hasattr(watched, "_gradients") else ()))
        watched._statistics.send("train", 1)

    for _ in range(options.turns):
        take("an iteration of steps()", next, steps)
        take("before forward", before_forward, model, (data,), {})
        take("after forward", after_forward, model, (data,), output)
        take("after the loss", after_loss, criterion, (output, labels), loss())
        take("  of which its hook", watched._await_backward, loss())
        take("before backward", before_backward)
        take("after backward", after_backward)
        take("before the optimizer", before_optimizer, optimizer)
        take("after the optimizer", after_optimizer, optimizer)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    for _ in range(options.turns // 4):
        take("(a norm of all gradients)", measure_norm)
    best = {name: sum(sorted(times)[:len(times) // 5]) / (len(times) // 5) / 1e3 for name, times in taken.items()}
    for name, microseconds in best.items():
        print("%-28s %6.2f us" % (name, microseconds))
    print("%-28s %6.2f us" % ("a step without a norm", sum(t for name, t in best.items() if name[0] not in " (")))


if __name__ == "__main__":
    sys.exit(main())
