#!/usr/bin/env python3
"""A small real training script with faults ("troubles") that can be switched on, for Pitwall's demo.

Trains a multi-layer perceptron (numpy, momentum SGD) on scikit-learn's handwritten digits, augmented on the fly, with
Pitwall's client in the loop. A step takes 20 to 50 ms. Troubles, one line of text each, come from --control (a file
that is appended to, or a FIFO) or from --script:

    slow_loader [SECONDS]   each batch waits for "storage": loading takes several times as long as a normal step
    cpu_hog [SECONDS]       processes that keep every core busy
    hang [SECONDS]          one step blocks in a collective; the process is alive and its client sends heartbeats
    explode [SECONDS]       the learning rate is multiplied by 1000 and the loss becomes NaN; afterwards the last good weights are restored
    off [NAME]              ends that trouble, or all troubles

A script is a list "start:name:seconds", in seconds since the first step: 20:slow_loader:30,60:hang:25.
Every start and end is written as a line to stdout and, with --events, as a JSON line with its wall-clock time.
SIGTERM: finishes the step, prints a last line, and exits with 143.
"""
import argparse
import json
import math
import os
import signal
import stat
import subprocess
import sys
import threading
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: one rank, one core, as a launcher would set it
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

try:
    import numpy as np
    from sklearn.datasets import load_digits
except ImportError as error:
    sys.exit("train.py: %s; run deploy/install-deps.sh python, then use the python of the virtual environment it "
             "names" % error)

try:
    import pitwall
except ImportError:
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "clients", "python", "src"))
    import pitwall

TROUBLES = ("slow_loader", "cpu_hog", "hang", "explode")
LEARNING_RATE = 0.05
MOMENTUM = 0.9
LEAK = 0.1  # slope of the ReLUs: without it, an exploding run dies quietly instead of reaching NaN
BURN = """
import os, sys
parent = int(sys.argv[1])
while os.getppid() == parent:      # ends with the training process, however that ends
    sum(i * i for i in range(200000))
"""


class Events:
    """Writer for events, as text on stdout and as JSON lines in a file."""

    def __init__(self, path):
        self._file = open(path, "a", encoding="utf-8") if path else None

    def write(self, event, step, **details):
        now = time.time()
        line = dict(event=event, time=time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + ".%03dZ" % (now % 1 * 1000),
                    time_unix_ns=int(now * 1e9), step=step, **details)
        text = " ".join("%s=%s" % pair for pair in details.items())
        print("%s step %d: %s %s" % (line["time"], step, event, text), flush=True)
        if self._file:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()


class Control:
    """Reader for commands from a FIFO or a growing file, and from the timed script. Never blocks."""

    def __init__(self, path, script):
        self._script = script  # [(start, line)], sorted
        self._begin = None
        self._rest = b""
        self._file = -1
        if path:
            if not os.path.exists(path):
                open(path, "a", encoding="utf-8").close()
            # A FIFO opened for reading and writing never reports end of file, even without writers.
            fifo = stat.S_ISFIFO(os.stat(path).st_mode)
            self._file = os.open(path, (os.O_RDWR if fifo else os.O_RDONLY) | os.O_NONBLOCK)

    def lines(self):
        now = time.monotonic()
        if self._begin is None:
            self._begin = now
        found = []
        while self._script and self._script[0][0] <= now - self._begin:
            found.append(self._script.pop(0)[1])
        if self._file >= 0:
            try:
                self._rest += os.read(self._file, 4096)
            except BlockingIOError:
                pass
            *lines, self._rest = self._rest.split(b"\n")
            found += [line.decode("utf-8", "replace").strip() for line in lines]
        return [line for line in found if line and not line.startswith("#")]


class Troubles:
    """Active faults. poll() is called between and inside steps."""

    def __init__(self, control, events):
        self._control = control
        self._events = events
        self._until = {}  # name -> monotonic end
        self._burners = []
        self.step = 0
        self.on_explode_end = None

    def on(self, name):
        return name in self._until

    def poll(self):
        for line in self._control.lines():
            self._command(line.split())
        now = time.monotonic()
        for name in [name for name, until in self._until.items() if until <= now]:
            self._end(name)

    def end_all(self):
        for name in list(self._until):
            self._end(name)

    def _command(self, words):
        name = words[0]
        try:
            if name == "off" and len(words) <= 2 and all(word in TROUBLES for word in words[1:]):
                for ending in words[1:] or list(self._until):
                    self._end(ending)
                return
            seconds = float(words[1]) if len(words) == 2 else math.inf
            if name not in TROUBLES or len(words) > 2 or not seconds > 0:
                raise ValueError
        except ValueError:
            print("train.py: unknown command: %s" % " ".join(words), file=sys.stderr, flush=True)
            return
        if name not in self._until:
            self._events.write("begin", self.step, trouble=name)
            if name == "cpu_hog":
                self._burners = [subprocess.Popen([sys.executable, "-S", "-c", BURN, str(os.getpid())])
                                 for _ in range(2 * (os.cpu_count() or 1))]
        self._until[name] = time.monotonic() + seconds

    def _end(self, name):
        if self._until.pop(name, None) is None:
            return
        if name == "cpu_hog":
            for burner in self._burners:
                burner.kill()
            for burner in self._burners:
                burner.wait()
            self._burners = []
        if name == "explode" and self.on_explode_end:
            self.on_explode_end()
        self._events.write("end", self.step, trouble=name)


class Digits:
    """Data set: 1437 digits for training, 360 held out, and a loader that shifts the digits and blurs them with noise."""

    def __init__(self, seed):
        digits = load_digits()
        order = np.random.default_rng(seed).permutation(len(digits.target))
        images, labels = digits.images[order] / 16.0, digits.target[order]
        self._images, self._labels = images[360:], labels[360:]
        self.test = images[:360].reshape(360, 64), labels[:360]

    def batches(self, size, rng, troubles, stop):
        while not stop.is_set():
            picked = rng.integers(0, len(self._labels), size)
            images = self._images[picked]
            shifts = rng.integers(-1, 2, (size, 2))
            for i, (down, right) in enumerate(shifts):
                images[i] = np.roll(images[i], (down, right), (0, 1))
            images = images + rng.normal(0.0, 0.15, images.shape)
            if troubles.on("slow_loader"):
                stop.wait(0.25)  # a read from slow storage
            yield images.reshape(size, 64), self._labels[picked]


class Network:
    """Three dense layers with leaky ReLU and softmax cross-entropy, with handwritten gradients."""

    def __init__(self, hidden, rng):
        sizes = [64, hidden, hidden, 10]
        self.weights = [rng.normal(0, math.sqrt(2 / m), (m, n)) for m, n in zip(sizes, sizes[1:])]
        self.biases = [np.zeros(n) for n in sizes[1:]]
        self._speed = [np.zeros_like(p) for p in self.parameters()]

    def parameters(self):
        return self.weights + self.biases

    def forward(self, inputs):
        """Returns the activations of each layer. The last layer's activations are the logits."""
        activations = [inputs]
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            outputs = activations[-1] @ weight + bias
            activations.append(np.maximum(outputs, LEAK * outputs) if i < len(self.weights) - 1 else outputs)
        return activations

    @staticmethod
    def loss(logits, labels):
        """Returns (mean cross-entropy, its gradient with respect to the logits, accuracy)."""
        rows = np.arange(len(labels))
        shifted = logits - logits.max(axis=1, keepdims=True)
        exponents = np.exp(shifted)
        total = exponents.sum(axis=1, keepdims=True)
        loss = float(np.mean(np.log(total[:, 0]) - shifted[rows, labels]))
        gradient = exponents / total
        gradient[rows, labels] -= 1
        return loss, gradient / len(labels), float(np.mean(logits.argmax(axis=1) == labels))

    def backward(self, activations, gradient):
        """Returns the gradients of parameters(), in that order."""
        weights, biases = [], []
        for i in reversed(range(len(self.weights))):
            weights.insert(0, activations[i].T @ gradient)
            biases.insert(0, gradient.sum(axis=0))
            if i:
                gradient = (gradient @ self.weights[i].T) * np.where(activations[i] > 0, 1.0, LEAK)
        return weights + biases

    def update(self, gradients, rate):
        for parameter, speed, gradient in zip(self.parameters(), self._speed, gradients):
            speed *= MOMENTUM
            speed -= rate * gradient
            parameter += speed

    def copy_state(self):
        return [p.copy() for p in self.parameters()]

    def restore_state(self, state):
        for parameter, speed, kept in zip(self.parameters(), self._speed, state):
            parameter[...] = kept
            speed[...] = 0


def collective(troubles, stop):
    """Simulates the all-reduce of the gradients. With one rank, it returns immediately unless it hangs."""
    with pitwall.phase("collective"):
        while troubles.on("hang") and not stop.is_set():
            stop.wait(0.1)
            troubles.poll()


def train(options, stop):
    events = Events(options.events)
    troubles = Troubles(Control(options.control, options.script), events)
    rng = np.random.default_rng(options.seed)
    data = Digits(options.seed)
    network = Network(options.hidden, rng)
    good = [network.copy_state()]
    troubles.on_explode_end = lambda: network.restore_state(good[0])
    deadline = time.monotonic() + options.seconds if options.seconds else math.inf
    finite = True
    step = 0
    events.write("start", 0, pid=os.getpid())
    try:
        for step, (inputs, labels) in enumerate(pitwall.steps(data.batches(options.batch, rng, troubles, stop))):
            troubles.step = step
            troubles.poll()
            with pitwall.phase("forward"):
                activations = network.forward(inputs)
                loss, gradient, accuracy = network.loss(activations[-1], labels)
            with pitwall.phase("backward"):
                gradients = network.backward(activations, gradient)
            collective(troubles, stop)
            rate = LEARNING_RATE * (1000 if troubles.on("explode") else 1)
            with pitwall.phase("optimizer"):
                network.update(gradients, rate)
            pitwall.log(loss=loss, accuracy=accuracy, learning_rate=rate)
            if finite != math.isfinite(loss):
                finite = math.isfinite(loss)
                events.write("finite" if finite else "not_finite", step, loss=str(loss))
            if step % options.eval_every == options.eval_every - 1:
                with pitwall.mode("eval"):
                    test_loss, _, test_accuracy = network.loss(network.forward(data.test[0])[-1], data.test[1])
                    pitwall.log(loss=test_loss, accuracy=test_accuracy, step=step)
                print("step %d: loss %.4f, accuracy on held-out digits %.3f" % (step, loss, test_accuracy), flush=True)
                if finite and not troubles.on("explode"):
                    with pitwall.phase("checkpoint"):
                        good[0] = network.copy_state()
            if stop.is_set() or step + 1 == options.steps or time.monotonic() >= deadline:
                break
    finally:
        troubles.end_all()
    events.write("stop", step, reason="SIGTERM" if stop.is_set() else "completed")
    return step


def parse_script(text):
    """Parses "20:slow_loader:30,…" into [(20.0, "slow_loader 30"), …]."""
    commands = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        try:
            start, name, seconds = part.split(":")
            if name not in TROUBLES or float(seconds) <= 0:
                raise ValueError
            commands.append((float(start), "%s %g" % (name, float(seconds))))
        except ValueError:
            raise argparse.ArgumentTypeError("%r is not start:name:seconds with a name of %s"
                                             % (part, ", ".join(TROUBLES))) from None
    return sorted(commands)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--job", default=None, help="the job's name (default: PITWALL_JOB, else demo)")
    parser.add_argument("--socket", default=None, help="the collector's socket")
    parser.add_argument("--control", help="file or FIFO to read troubles from")
    parser.add_argument("--script", type=parse_script, default=[], help="start:name:seconds,…")
    parser.add_argument("--events", help="file for JSON lines")
    parser.add_argument("--steps", type=int, default=0, help="stop after this number of steps")
    parser.add_argument("--seconds", type=float, default=0, help="stop after this number of seconds")
    parser.add_argument("--eval-every", type=int, default=50)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    np.seterr(all="ignore")  # some runs explode on purpose
    pitwall.init(job=options.job or os.environ.get("PITWALL_JOB", "demo"), socket=options.socket)
    step = train(options, stop)
    if stop.is_set():
        pitwall.finish("cancelled")  # the executor reports the stop
        print("stopped by SIGTERM at step %d" % step, flush=True)
        return 143
    return 0


if __name__ == "__main__":
    sys.exit(main())
