"""Identity of this process (job, rank, attempt, and job reference), built from arguments and the environment."""
from __future__ import annotations

import hashlib
import json
import os
import platform as _platform
import re
import sys
from typing import Any, Mapping, NamedTuple, Optional, Tuple, Union

from ._version import __version__

_SERVICE_ACCOUNT_NAMESPACE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
MAX_LABELS = 32
MAX_NAME = 200  # bytes of a job's ID or name; the collector accepts IDs of up to 256 bytes, and derives an ID from name and start


class Identity(NamedTuple):
    """Fields of the Hello message that stay constant for the lifetime of the process."""

    job_id: str
    job_name: str
    job_start_unix_ns: int
    rank: int
    local_rank: int
    world_size: int
    attempt: Optional[int]
    labels: Tuple[Tuple[str, str], ...]
    client: str
    platform: str
    cluster: str
    namespace: str
    kind: str
    uid: str
    queue: str


def _number(env: Mapping[str, str], *names: str) -> Optional[int]:
    """Returns the value of the first variable that contains a non-negative integer, or None."""
    for name in names:
        text = env.get(name, "").strip()
        if text.isdecimal():
            return int(text)
    return None


def _rank_on_first_node(env: Mapping[str, str]) -> int:
    """Returns the rank of a process that knows only its local rank, as under Lightning's launcher. On the first node, the two ranks are equal."""
    return 0 if _number(env, "NODE_RANK") else _clamp(_number(env, "LOCAL_RANK") or 0, 32)


def _start_ns(text: str) -> int:
    """Parses PITWALL_JOB_START, which is either seconds (possibly with a fraction) or nanoseconds since the epoch. Returns 0 if the value is absent
    or malformed."""
    try:
        if text.strip().isdecimal() and len(text.strip()) > 12:
            return int(text) & ((1 << 63) - 1)
        seconds = float(text)
    except ValueError:
        return 0
    return int(seconds * 1e9) if 0 < seconds < 9e9 else 0


def _read_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.readline().strip()
    except OSError:
        return ""


def _job_reference(env: Mapping[str, str]) -> tuple[str, ...]:
    """Returns (platform, cluster, namespace, kind, uid, queue). PITWALL_* variables override the scheduler's variables."""
    if env.get("SLURM_JOB_ID"):
        found = ("slurm", env.get("SLURM_CLUSTER_NAME", ""), "", "Job", env["SLURM_JOB_ID"],
                 env.get("SLURM_JOB_PARTITION", ""))
    elif env.get("KUBERNETES_SERVICE_HOST"):
        # Kubernetes itself provides no other fields. Pod specs pass the remaining fields as PITWALL_* through the downward API.
        found = ("kubernetes", "", env.get("POD_NAMESPACE") or _read_line(_SERVICE_ACCOUNT_NAMESPACE), "", "", "")
    else:
        found = ("",) * 6
    names = ("PLATFORM", "CLUSTER", "NAMESPACE", "KIND", "JOB_UID", "QUEUE")
    return tuple(env.get("PITWALL_" + name) or value for name, value in zip(names, found))


def config_hash(config: object) -> str:
    """Returns 12 hex digits that are the same for equal configurations in every process. Dicts and sets are sorted, tuples hash like lists, and
    values without a JSON form are hashed by their repr() without addresses."""
    def plain(value: Any, depth: int = 0) -> Any:
        if isinstance(value, dict) and depth < 32:
            return sorted(([repr(key), plain(item, depth + 1)] for key, item in value.items()), key=lambda pair: pair[0])
        if isinstance(value, (set, frozenset)) and depth < 32:
            return sorted((plain(item, depth + 1) for item in value), key=repr)
        if isinstance(value, (list, tuple)) and depth < 32:
            return [plain(item, depth + 1) for item in value]
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        return re.sub(" at 0x[0-9a-fA-F]+", "", repr(value))

    text = json.dumps(plain(config), separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:12]


def _labels(env: Mapping[str, str], extra: Optional[Mapping[Any, Any]]) -> Tuple[Tuple[str, str], ...]:
    """Returns the labels of the process: the caller's labels, the labels in PITWALL_LABELS, and the scheduler's counters. Restart counts are not used
    as attempt numbers, because some are counted per agent and others are reset."""
    labels = {}
    for variable, name in (("TORCHELASTIC_RESTART_COUNT", "torchelastic_restart_count"),
                           ("SLURM_RESTART_COUNT", "slurm_restart_count"),
                           ("SLURM_ARRAY_TASK_ID", "slurm_array_task_id")):
        if env.get(variable):
            labels[name] = env[variable]
    for pair in env.get("PITWALL_LABELS", "").split(","):
        name, equals, value = pair.partition("=")
        if equals and name.strip():
            labels[name.strip()] = value.strip()
    labels.update({str(name): str(value) for name, value in (extra or {}).items() if str(name)})
    return tuple(sorted(labels.items())[:MAX_LABELS])


def _script_name() -> str:
    name = os.path.basename(sys.argv[0] if sys.argv else "")
    return name[:-3] if name.endswith(".py") else name


def _cut(text: object) -> str:
    return str(text).encode("utf-8", "replace")[:MAX_NAME].decode("utf-8", "ignore")


def _clamp(value: int, bits: int) -> int:
    return min(max(int(value), 0), (1 << bits) - 1)


def identify(env: Optional[Mapping[str, str]] = None, job: Any = None, job_id: Any = None, rank: Optional[int] = None,
             local_rank: Optional[int] = None, world_size: Optional[int] = None, attempt: Optional[int] = None,
             labels: Optional[Mapping[Any, Any]] = None) -> Identity:
    """Builds the Identity. Arguments override the environment. Missing fields stay empty and are filled in by the collector."""
    env = os.environ if env is None else env
    reference = _job_reference(env)
    platform, cluster, _, _, uid, _ = reference
    if not job_id:
        job_id = env.get("PITWALL_JOB_ID", "")
    if not job_id and platform == "slurm":
        job_id = "%s-%s" % (cluster, uid) if cluster else ""  # a Slurm ID is unique only within its cluster
    if not job_id and platform == "kubernetes":
        job_id = uid

    def pick(given: Optional[int], bits: int, default: Any, *names: str) -> Any:
        if given is None:
            given = _number(env, *names)
        return default if given is None else _clamp(given, bits)

    return Identity(
        job_id=_cut(job_id or ""),
        job_name=_cut(job or env.get("PITWALL_JOB") or env.get("SLURM_JOB_NAME") or _script_name() or "job"),
        job_start_unix_ns=_start_ns(env.get("PITWALL_JOB_START") or env.get("SLURM_JOB_START_TIME") or ""),
        rank=pick(rank, 32, _rank_on_first_node(env), "RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"),
        local_rank=pick(local_rank, 32, 0, "LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"),
        world_size=pick(world_size, 32, 1, "WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"),
        attempt=pick(attempt, 63, None, "PITWALL_ATTEMPT"),
        labels=_labels(env, labels),
        client="pitwall-python/%s python/%s" % (__version__, _platform.python_version()),
        platform=platform, cluster=cluster, namespace=reference[2], kind=reference[3], uid=uid, queue=reference[5])


def socket_candidates(env: Optional[Mapping[str, str]] = None, path: Union[str, os.PathLike[str], None] = None) -> list[str]:
    """Returns the possible socket paths of this node's collector, in the order to try."""
    env = os.environ if env is None else env
    path = path or env.get("PITWALL_SOCKET")
    if path:
        return [str(path)]
    candidates = ["/run/pitwall/collector.sock"]
    if env.get("XDG_RUNTIME_DIR"):
        candidates.append(os.path.join(env["XDG_RUNTIME_DIR"], "pitwall", "collector.sock"))
    return candidates
