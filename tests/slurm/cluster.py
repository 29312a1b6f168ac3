"""A real one-node Slurm cluster from Debian packages: munged, slurmctld, and slurmd, in its own directory and on its own ports."""
import glob
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from harness import wait_for, write

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "scontrol", "squeue")
CLUSTER = "pit"
JOBS = 1000  # maximum number of jobs per cluster
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MEMORY_GROUP = "/sys/fs/cgroup/memory"  # cgroup version 1


def missing():
    """Returns why Slurm cannot run here, or ""."""
    lacking = [p for p in PROGRAMS if shutil.which(p, path=PATH) is None]
    if lacking:
        return "not installed: %s (deploy/install-deps.sh tests)" % ", ".join(lacking)
    if os.geteuid() != 0:
        return "slurmd needs root"
    return ""


def free_ports(count):
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in taken]
    for each in taken:
        each.close()
    return ports


class Cluster:
    """A running cluster. After construction, the node is idle. `prolog` and `epilog`: programs that slurmd runs."""

    def __init__(self, folder, prolog, epilog, kill_wait=2):
        self.folder = folder
        os.makedirs(folder, mode=0o755)
        self.memory_limits = os.access(os.path.join(MEMORY_GROUP, "cgroup.procs"), os.W_OK)
        self.conf = os.path.join(folder, "slurm.conf")
        self.environment = dict(os.environ, SLURM_CONF=self.conf, PATH=PATH)
        self.processes = []
        self.first_job = secrets.randbelow(50000) * JOBS + JOBS
        try:
            self._start(prolog, epilog, kill_wait)
        except BaseException:
            self.stop()
            raise

    def _start(self, prolog, epilog, kill_wait):
        at = lambda name: os.path.join(self.folder, name)
        for name in ("state", "spool"):
            os.mkdir(at(name), 0o755)
        with open(os.open(at("munge.key"), os.O_WRONLY | os.O_CREAT, 0o400), "wb") as key:
            key.write(secrets.token_bytes(128))
        ctld_port, slurmd_port = free_ports(2)
        host = socket.gethostname().partition(".")[0]
        groups = self.memory_limits
        write(at("cgroup.conf"), "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\nConstrainRAMSpace=yes\n")
        write(self.conf, "\n".join([
            "ClusterName=%s" % CLUSTER,
            # cgroups are named after job numbers, and another Slurm cluster on this machine may have left some behind.
            "FirstJobId=%d" % self.first_job,
            "SlurmctldHost=%s(127.0.0.1)" % host,
            "SlurmctldPort=%d" % ctld_port, "SlurmdPort=%d" % slurmd_port,
            "SlurmUser=root", "AuthType=auth/munge", "AuthInfo=socket=%s" % at("munge.socket"),
            "StateSaveLocation=%s" % at("state"), "SlurmdSpoolDir=%s" % at("spool"),
            "SlurmctldPidFile=%s" % at("slurmctld.pid"), "SlurmdPidFile=%s" % at("slurmd.pid"),
            "ProctrackType=proctrack/%s" % ("cgroup" if groups else "linuxproc"),
            "TaskPlugin=task/%s" % ("cgroup" if groups else "none"),
            "JobAcctGatherType=jobacct_gather/none", "MpiDefault=none",
            "ReturnToService=2", "SchedulerType=sched/builtin", "SchedulerParameters=sched_min_interval=0",
            "SelectType=select/cons_tres", "SelectTypeParameters=CR_CPU_Memory", "DefMemPerCPU=400",
            "SlurmdParameters=config_overrides", "KillWait=%d" % kill_wait, "MailProg=/bin/true",
            "Prolog=%s" % prolog, "Epilog=%s" % epilog, "PrologFlags=Alloc",
            "NodeName=%s NodeAddr=127.0.0.1 CPUs=32 RealMemory=16000 State=UNKNOWN" % host,
            "PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP", ""]))
        self._run("munged", "--foreground", "--force", "--key-file=" + at("munge.key"), "--socket=" + at("munge.socket"),
                  "--pid-file=" + at("munged.pid"), "--seed-file=" + at("munge.seed"), "--log-file=" + at("munged.log"))
        wait_for("munged", lambda: os.path.exists(at("munge.socket")))
        self._run("slurmctld", "-D", "-c")
        self._run("slurmd", "-D")
        wait_for("an idle node", lambda: self.ask("sinfo", "-h", "-o", "%t").strip() == "idle")

    def _run(self, program, *arguments):
        with open(os.path.join(self.folder, program + ".out"), "w") as out:
            self.processes.append((program, subprocess.Popen(
                [shutil.which(program, path=PATH), *arguments], env=self.environment, stdout=out, stderr=out,
                stdin=subprocess.DEVNULL, start_new_session=True)))

    def ask(self, *command):
        """Returns the output of a command, or an empty string if the command fails."""
        done = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              timeout=60)
        return done.stdout if done.returncode == 0 else ""

    def submit(self, name, script, *options):
        """Submits a job and returns its number."""
        number = subprocess.run(
            ["sbatch", "--parsable", "--job-name=" + name, "--output=/dev/null", "--chdir=/", *options],
            input="#!/bin/bash\n" + script, env=self.environment, stdout=subprocess.PIPE, check=True, text=True, timeout=60)
        return number.stdout.strip().partition(";")[0]

    def field(self, job, name):
        """Returns a field of `scontrol show job`."""
        for word in self.ask("scontrol", "--oneliner", "show", "job", job).split():
            if word.startswith(name + "="):
                return word.partition("=")[2]
        return ""

    def jobs(self):
        """Returns the numbers of the jobs that have not ended."""
        return self.ask("squeue", "-h", "-o", "%A").split()

    def _left(self):
        """Returns the processes of this cluster's jobs. They include slurmstepd, which outlives its slurmd."""
        found = []
        for folder in glob.glob("/proc/[0-9]*"):
            try:
                with open(folder + "/cmdline", "rb") as line:
                    step = re.match(rb"slurmstepd: \[(\d+)\.", line.read())
                with open(folder + "/environ", "rb") as variables:
                    job = step or re.search(rb"(?:^|\0)SLURM_JOB_ID=(\d+)\0", variables.read())
            except OSError:
                continue  # the process has exited
            if job and 0 <= int(job.group(1)) - self.first_job < JOBS:
                found.append(int(os.path.basename(folder)))
        return found

    def stop(self):
        """Stops every process: the daemons and the jobs' processes."""
        try:
            for job in self.jobs():
                self.ask("scancel", "--signal=KILL", "--full", job)
                self.ask("scancel", job)
            wait_for("the ends of all jobs", lambda: not self.jobs() and not self._left(), 30)
        finally:
            self._stop_daemons()
            for pid in self._left():
                os.kill(pid, signal.SIGKILL)

    def _stop_daemons(self):
        for program, process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def logs(self):
        text = ""
        for program, _ in self.processes:
            with open(os.path.join(self.folder, program + ".out")) as out:
                text += "== %s\n%s" % (program, out.read()[-3000:])
        return text
