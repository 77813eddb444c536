#!/usr/bin/python3
"""cluster.py [--gpl BINARY] [--rounds N] [--idle SECONDS] [--realtime]: `gpl run` beside srun and ssh.

One command, which does nothing, is started through one peer; through one of three voters that does
not lead (and runs there, at a third peer, at the leader); by srun of a Slurm of one node; by ssh to
this machine: in turn, over loopback, in one run, each twice, of which the second counts. Then what
a job costs in syncs and in bytes on the wire, and what the three peers take when nothing happens.

Requires root: all happens in a network, a /run and a table of processes of its own, in which this
program starts Slurm, munge and sshd and after which nothing is left. --realtime gives all of them
alike precedence over whatever else the machine does (SCHED_RR).
"""

import argparse
import collections
import contextlib
import getpass
import os
import pathlib
import pwd
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent / "e2e"))
from cluster import Cluster  # noqa: E402

OWN = "GPL_BENCH_OWN_NAMESPACES"
SLURM = """\
ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld_port}
SlurmdPort={slurmd_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={base}/munge/socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_min_interval=0,sched_interval=1,default_queue_depth=1000,bf_interval=1
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
StateSaveLocation={base}/state
SlurmdSpoolDir={base}/spool
SlurmctldPidFile={base}/slurmctld.pid
SlurmdPidFile={base}/slurmd.pid
SlurmctldLogFile={base}/slurmctld.log
SlurmdLogFile={base}/slurmd.log
SlurmctldDebug=error
SlurmdDebug=error
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
SSHD = """\
ListenAddress 127.0.0.1:{port}
HostKey {base}/host_key
AuthorizedKeysFile {base}/client_key.pub
PidFile none
UsePAM no
UseDNS no
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def until(condition, what, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"cluster.py: {what} did not come within {seconds} s")
        time.sleep(0.05)


@contextlib.contextmanager
def daemon(argv, log):
    """A process in the foreground of its own, ended by its pid."""
    with open(log, "ab") as said:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def slurm(base):
    """A Slurm of this node, its controller, its node's daemon and munge; gives srun's words."""
    user = pwd.getpwnam("munge")
    munge = base / "munge"
    for folder in (base, munge, base / "state", base / "spool"):
        folder.mkdir(mode=0o755)
    (munge / "key").write_bytes(os.urandom(128))
    os.chmod(munge / "key", 0o400)
    for path in (munge, munge / "key"):
        os.chown(path, user.pw_uid, user.pw_gid)
    conf = base / "slurm.conf"
    conf.write_text(SLURM.format(host=socket.gethostname().split(".")[0], base=base, cpus=os.cpu_count(),
                                 ctld_port=free_port(), slurmd_port=free_port()))
    os.environ["SLURM_CONF"] = str(conf)  # of no meaning to the others
    as_munge = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    with contextlib.ExitStack() as stack:
        stack.enter_context(daemon([*as_munge, "munged", "--foreground", f"--key-file={munge}/key",
                                    f"--socket={munge}/socket", f"--pid-file={munge}/pid",
                                    f"--log-file={munge}/log", f"--seed-file={munge}/seed"], munge / "said"))
        until((munge / "socket").exists, "munge's socket")
        stack.enter_context(daemon(["slurmctld", "-D", "-c", "-f", conf], base / "slurmctld.said"))
        stack.enter_context(daemon(["slurmd", "-D", "-f", conf], base / "slurmd.said"))
        until(lambda: b"idle" in subprocess.run(["sinfo", "-h", "-o", "%T"], stdout=subprocess.PIPE,
                                                stderr=subprocess.DEVNULL, check=False).stdout, "Slurm's node")
        yield ["srun", "-Q"]


@contextlib.contextmanager
def sshd(base):
    """An sshd on a high port with keys of its own; gives the words of ssh to it."""
    base.mkdir(mode=0o755)
    port = free_port()
    for name in ("host_key", "client_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", base / name], check=True)
    (base / "config").write_text(SSHD.format(port=port, base=base))
    host_key = (base / "host_key.pub").read_text()
    (base / "known_hosts").write_text(f"[127.0.0.1]:{port} {host_key}")
    os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # this /run is our own
    words = ["ssh", "-F", "none", "-i", str(base / "client_key"), "-p", str(port), "-o", "BatchMode=yes",
             "-o", f"UserKnownHostsFile={base}/known_hosts", "-o", "IdentitiesOnly=yes",
             "-l", getpass.getuser(), "127.0.0.1"]
    with daemon([shutil.which("sshd") or "/usr/sbin/sshd", "-D", "-e", "-f", base / "config"], base / "said"):
        until(lambda: subprocess.run([*words, "true"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                     check=False).returncode == 0, "sshd")
        yield words


# What is measured: a command, and the environment and folder it is called in.
Call = collections.namedtuple("Call", "argv env cwd")


def call(what):
    began = time.perf_counter()
    subprocess.run(what.argv, env=what.env, cwd=what.cwd, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def gpl_call(node, *words):
    return Call([str(node.place.gpl), "run", *words], node.place.env, node.place.work)


def where_it_runs(node, *words):
    """The name of the peer that such a job of the node's is placed on."""
    done = node("run", *words, "--", "sh", "-c", "echo $GPL_PEER")
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().strip()


def wire_bytes():
    """Sent over this network's loopback, headers and acknowledgements too."""
    for line in open("/proc/net/dev"):
        name, _, counts = line.partition(":")
        if name.strip() == "lo":
            return int(counts.split()[8])
    raise LookupError("there is no loopback")


def pids(node):
    """The peer's own pid and its keeper's."""
    peer, environ = None, f"XDG_STATE_HOME={node.place.state}".encode()
    keeper = None
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            name = open(f"/proc/{entry}/comm").read().strip()
            if name in ("gpl", "gpl-keeper") and environ in open(f"/proc/{entry}/environ", "rb").read().split(b"\0"):
                if name == "gpl-keeper":  # what it forks for a moment is younger
                    keeper = min(int(entry), keeper or int(entry))
                else:
                    peer = min(int(entry), peer or int(entry))
    return {"peer": peer, "keeper": keeper}


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{pid}/status").read())[1]) / 1024


def syncs(nodes, what, jobs, log):
    """Of each node's peer and of its keeper, per job: counted over all of their threads."""
    owner = {}
    for node in nodes:
        for kind, pid in pids(node).items():
            owner[pid] = f"{node.name}'s {kind}"
    threads = {thread: name for pid, name in owner.items() for thread in map(int, os.listdir(f"/proc/{pid}/task"))}
    attach = [word for pid in owner for word in ("-p", str(pid))]
    tracer = subprocess.Popen(["strace", "-f", "-q", "-e", "trace=fdatasync,fsync,sync_file_range,syncfs", "-o", log,
                               *attach], stderr=subprocess.DEVNULL)
    time.sleep(1.5)
    for _ in range(jobs):
        call(what)
    time.sleep(1)
    tracer.terminate()
    tracer.wait()
    counted = collections.Counter()
    for pid in re.findall(r"^(\d+) +\w*sync\w*\(", open(log).read(), re.MULTILINE):
        counted[threads.get(int(pid), "others")] += 1
    return {name: counted[name] / jobs for name in [*owner.values(), "others"] if counted[name]}


def measure_times(calls, rounds):
    """The first of two calls brings what the second needs into the caches."""
    times = {name: [] for name in calls}
    for _ in range(rounds + 3):
        for name, what in calls.items():
            call(what)
            times[name].append(call(what))
    times = {name: sorted(taken[3:]) for name, taken in times.items()}
    median = {name: statistics.median(taken) for name, taken in times.items()}
    print("%-46s %9s %9s %9s %8s %8s" % ("", "median", "10th %", "90th %", "of srun", "of ssh"))
    for name, taken in times.items():
        tenth = len(taken) // 10
        print("%-46s %6.0f us %6.0f us %6.0f us %8s %8s" % (
            name, median[name] * 1e6, taken[tenth] * 1e6, taken[-1 - tenth] * 1e6,
            "1/%.1f" % (median["srun -Q"] / median[name]), "1/%.1f" % (median["ssh localhost"] / median[name])))


def measure_bytes(calls, jobs):
    for name, what in calls.items():
        began, sent = time.perf_counter(), wire_bytes()
        for _ in range(jobs):
            call(what)
        print("%-46s %8.0f bytes a job on the wire, headers too (%.1f a second)" %
              (name, (wire_bytes() - sent) / jobs, jobs / (time.perf_counter() - began)))


def measure_idle(nodes, seconds):
    time.sleep(3)
    every = [pid for node in nodes for pid in pids(node).values()]
    used, sent, began = sum(map(cpu_seconds, every)), wire_bytes(), time.perf_counter()
    time.sleep(seconds)
    took = time.perf_counter() - began
    print("three peers idle for %.0f s: %.3f %% of a core each, %.0f bytes/s on the wire" %
          (took, 100 * (sum(map(cpu_seconds, every)) - used) / took / len(nodes), (wire_bytes() - sent) / took))
    for node in nodes:
        both = pids(node)
        print("  %s: memory of the peer %.1f MiB, of the keeper %.1f MiB" %
              (node.name, memory_mib(both["peer"]), memory_mib(both["keeper"])))


def measure(asked, base):
    if asked.realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))  # what is started from here on inherits it
    print("load %.1f on %d CPUs; %s" % (os.getloadavg()[0], os.cpu_count(), "SCHED_RR for all alike"
                                        if asked.realtime else "ordinary scheduling"), flush=True)
    bare = base / "true"
    subprocess.run(["gcc", "-O2", "-static", "-nostdlib", "-s", "-o", bare, here / "true_without_libc.c"], check=True)
    for name in ("alone", "three"):
        (base / name).mkdir()
    with contextlib.ExitStack() as stack:
        srun = stack.enter_context(slurm(base / "slurm"))
        ssh = stack.enter_context(sshd(base / "ssh"))
        alone = stack.enter_context(Cluster(asked.gpl, base / "alone", 1)).nodes[0]
        three = stack.enter_context(Cluster(asked.gpl, base / "three", 3))
        leader, (near, third) = three.leader(), three.followers()
        print("three voters: %s leads, %s is asked; unless told it places such a job on %s" %
              (leader.name, near.name, where_it_runs(near)))
        for node in (near, third, leader):
            assert where_it_runs(near, "--on", node.name) == node.name
        run = collections.OrderedDict([
            ("gpl run, one peer", gpl_call(alone, "--", bare)),
            ("gpl run, three voters, led elsewhere", gpl_call(near, "--", bare)),
            ("gpl run --on the asked, led elsewhere", gpl_call(near, "--on", near.name, "--", bare)),
            ("gpl run --on a third, led elsewhere", gpl_call(near, "--on", third.name, "--", bare)),
            ("gpl run --on the leader, from another", gpl_call(near, "--on", leader.name, "--", bare)),
            ("gpl run through the leader of three", gpl_call(leader, "--", bare)),
            ("srun -Q", Call([*srun, bare], None, base)),
            ("ssh localhost", Call([*ssh, str(bare)], None, base)),
        ])
        measure_times({"true without libc": Call([bare], None, base), **run}, asked.rounds)
        print()
        measure_bytes(run, max(10, asked.rounds // 2))
        print("\nsyncs a job, of %s (leads), %s (asked) and %s" % (leader.name, near.name, third.name))
        for name, what in run.items():
            if name.startswith("gpl"):
                nodes = [alone] if name.endswith("one peer") else three.nodes
                counted = syncs(nodes, what, 20, base / "strace")
                print("%-46s %4.1f: %s" % (name, sum(counted.values()), ", ".join(
                    f"{who} {count:.1f}" for who, count in counted.items())))
        print()
        measure_idle(three.nodes, asked.idle)


def within():
    """Once more, in namespaces of its own, which take along what may be left in them."""
    if os.geteuid() != 0:
        sys.exit("cluster.py: needs root, for a network of its own and for Slurm")
    # Slurm looks for names only where there is an address beside loopback's.
    script = ("ip link set lo up && ip link add beside type bridge && ip addr add 10.0.0.1/24 dev beside && "
              "ip link set beside up && mount -t tmpfs -o mode=755 tmpfs /run && exec \"$@\"")
    sys.exit(subprocess.run(["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                             "sh", "-c", script, "sh", sys.executable, *sys.argv],
                            env=dict(os.environ, **{OWN: "1"}), check=False).returncode)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--gpl", type=lambda path: pathlib.Path(path).resolve(), default=here.parents[1] / "build/gpl")
    options.add_argument("--rounds", type=int, default=60)
    options.add_argument("--idle", type=int, default=60)
    options.add_argument("--realtime", action="store_true")
    asked = options.parse_args()
    if OWN not in os.environ:
        within()
    with tempfile.TemporaryDirectory(prefix="gpl-bench-") as folder:
        os.chmod(folder, 0o755)
        measure(asked, pathlib.Path(folder))


main()
