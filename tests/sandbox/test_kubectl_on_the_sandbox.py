"""Real kubectl against the sandbox on a port, command by command."""

import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import msgspec
import pytest
import trio

from sky_sandbox.hollow.orders import Habits
from sky_sandbox.kubeconfig import kubeconfig, write_kubeconfig
from sky_sandbox.sandbox import Sandbox, open_sandbox
from sky_sandbox.sockets import Door, listen, serve
from sky_sandbox.testing import START, named, node, pod

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
BINARIES = [
    path
    for path in (
        str(Path(sys.executable).with_name("kubectl")),
        shutil.which("kubectl", path="/usr/local/bin:/usr/bin"),
    )
    if path and Path(path).exists()
]
PATIENCE = 90


class Kubectl:
    """kubectl with a kubeconfig, and without what other tests have cached."""

    def __init__(self, binary: str, folder: Path, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self._command = [binary, "--kubeconfig", str(folder / "kubeconfig"), "--cache-dir", str(folder / "cache")]
        self._environment = {**os.environ, "KUBECTL_EXTERNAL_DIFF": "diff -u0", "HOME": str(folder)}

    async def __call__(self, words: str, stdin: object = None, *, fails: bool = False) -> str:
        """What a command prints, on either output if it fails as it should; arguments with blanks are quoted by `'`."""
        given = b"" if stdin is None else msgspec.json.encode(stdin)
        with trio.fail_after(PATIENCE):
            done = await trio.run_process(
                [*self._command, *split(words)], stdin=given, env=self._environment, check=False,
                capture_stdout=True, capture_stderr=True,
            )  # fmt: skip
        printed = done.stdout.decode() + (done.stderr.decode() if fails else "")
        assert bool(done.returncode) is fails, f"kubectl {words}: {done.returncode}\n{printed}{done.stderr.decode()}"
        return printed

    async def follow(self, words: str, nursery: trio.Nursery) -> trio.Process:
        """A command that goes on until it is stopped."""
        run = partial(trio.run_process, stdout=subprocess.PIPE, env=self._environment, check=False)
        process: trio.Process = await nursery.start(run, [*self._command, *split(words)])
        return process


def split(words: str) -> list[str]:
    """The words of a command; what stands between `'` is one."""
    parts = words.split("'")
    return [word for index, part in enumerate(parts) for word in ([part] if index % 2 else part.split())]


def rows(printed: str) -> list[list[str]]:
    return [line.split() for line in printed.splitlines()]


async def until(process: trio.Process, wanted: str) -> str:
    """What a process prints, up to what is wanted of it."""
    printed = ""
    assert process.stdout is not None
    with trio.fail_after(PATIENCE):
        while wanted not in printed:
            printed += (await process.stdout.receive_some()).decode()
    return printed


@pytest.fixture(params=BINARIES or [""], ids=lambda path: Path(path).parts[1] if path else "none")
async def kubectl(request: pytest.FixtureRequest, tmp_path: Path, nursery: trio.Nursery) -> AsyncIterator[Kubectl]:
    if not request.param:
        pytest.skip("there is no kubectl")
    listeners, url = await listen()
    async with open_sandbox(START, habits=Habits()) as sandbox:
        await nursery.start(serve, sandbox, listeners, Door("token"))
        write_kubeconfig(tmp_path / "kubeconfig", kubeconfig(url, "token"))
        yield Kubectl(request.param, tmp_path, sandbox)
        nursery.cancel_scope.cancel()


async def test_it_finds_out_what_there_is(kubectl: Kubectl) -> None:
    assert "Server Version: v1.36" in await kubectl("version")
    assert ["pods", "po", "v1", "true", "Pod"] in rows(await kubectl("api-resources"))
    assert "policy/v1" in await kubectl("api-versions")
    assert "serve deployments.apps" in await kubectl("create deployment d --image=x", fails=True)
    assert "the sandbox does not do this" in await kubectl("auth can-i get pods", fails=True)


async def test_it_makes_and_finds_objects(kubectl: Kubectl) -> None:
    await kubectl("create -f -", node("n", cpu="4"))
    await kubectl("create -f -", pod("a", node="n", cpu="1"))
    await kubectl("run b --image=image --labels=app=b")
    await kubectl("wait --for=condition=Ready pod/a --timeout=60s")
    assert rows(await kubectl("get pods -o wide"))[1][:3] == ["a", "1/1", "Running"]
    (found,) = rows(await kubectl("get pods -A -l app=b --no-headers"))
    assert found[:-1] == ["default", "b", "0/1", "Pending", "0"]
    assert await kubectl("get pods --field-selector status.phase=Running,spec.nodeName=n -o name") == "pod/a\n"
    assert await kubectl("get pods --chunk-size=1 -o name") == "pod/a\npod/b\n"
    assert await kubectl("get pod b -o 'jsonpath={.metadata.labels.app}'") == "b"
    assert rows(await kubectl("get all --no-headers"))[0][0] == "a"
    assert 'pods "absent" not found' in await kubectl("get pod absent", fails=True)


async def test_it_makes_what_it_sends_as_protobuf(kubectl: Kubectl) -> None:
    await kubectl("create namespace team")
    await kubectl("create configmap c --from-literal=a=b -n team")
    assert await kubectl("get cm c -n team -o 'jsonpath={.data}'") == '{"a":"b"}'
    await kubectl("create priorityclass high --value=1000 --description=x")
    assert rows(await kubectl("get pc high --no-headers"))[0][:2] == ["high", "1000"]
    await kubectl("create poddisruptionbudget one --selector=app=a --min-available=50%")
    await kubectl("create poddisruptionbudget two --selector=app=a,!b --max-unavailable=2")
    assert (
        await kubectl("get pdb -o 'jsonpath={.items[*].spec.minAvailable} {.items[*].spec.maxUnavailable}'") == "50% 2"
    )
    assert "ResourceQuotas" in await kubectl("create -f -", named("v1", "ResourceQuota", "q"), fails=True)
    assert "as protobuf" in await kubectl("create quota q --hard=cpu=1", fails=True)
    await kubectl("delete namespace team")
    assert "team" not in await kubectl("get namespaces")


async def test_it_applies_and_compares(kubectl: Kubectl) -> None:
    raw = named("v1", "ConfigMap", "c", data={"a": "1", "b": "2"})
    assert "created" in await kubectl("apply -f -", raw)
    assert "unchanged" in await kubectl("apply -f -", raw)
    changed = {**raw, "data": {"a": "3"}}
    compared = await kubectl("diff -f -", changed, fails=True)
    assert "-  b: " in compared
    assert await kubectl("get cm c -o 'jsonpath={.data}'") == '{"a":"1","b":"2"}'
    assert "configured" in await kubectl("apply -f -", changed)
    assert await kubectl("get cm c -o 'jsonpath={.data}'") == '{"a":"3"}'
    assert "conflict" in await kubectl("apply --server-side -f -", {**raw, "data": {"a": "4"}}, fails=True)
    assert "serverside-applied" in await kubectl("apply --server-side --force-conflicts -f -", raw)
    assert await kubectl("get cm c -o 'jsonpath={.data}'") == '{"a":"1","b":"2"}'
    assert "replaced" in await kubectl("replace -f -", changed)


async def test_it_applies_what_stands_in_one_list(kubectl: Kubectl) -> None:
    both = [named("v1", "ConfigMap", "c", data={"a": "1"}), pod("p")]
    await kubectl("apply -f -", {"apiVersion": "v1", "kind": "List", "items": both})
    assert await kubectl("get cm,pods -o name") == "configmap/c\npod/p\n"


async def test_it_patches_in_three_ways_and_labels(kubectl: Kubectl) -> None:
    await kubectl("create -f -", pod("p"))
    await kubectl("""patch pod p -p '{"metadata":{"labels":{"a":"1"}}}'""")
    await kubectl("""patch pod p --type=merge -p '{"metadata":{"labels":{"b":"2"}}}'""")
    await kubectl("""patch pod p --type=json -p '[{"op":"remove","path":"/metadata/labels/a"}]'""")
    await kubectl("label pod p c=3")
    await kubectl("annotate pod p note=x")
    assert await kubectl("get pod p -o 'jsonpath={.metadata.labels}'") == '{"app":"p","b":"2","c":"3"}'
    await kubectl("""patch pod p --subresource=status --type=merge -p '{"status":{"message":"hello"}}'""")
    assert await kubectl("get pod p --subresource=status -o 'jsonpath={.status.message}'") == "hello"


async def test_it_describes_and_explains(kubectl: Kubectl) -> None:
    await kubectl(f"apply -k {CRDS}")
    await kubectl("create -f -", node("n", gpu="8"))
    await kubectl("create -f -", pod("p", node="n", gpu="2"))
    await kubectl("wait --for=condition=Ready pod/p --timeout=60s")
    described = await kubectl("describe node n")
    assert ["nvidia.com/gpu", "2", "2"] in rows(described)
    assert "No resource quota." in await kubectl("describe namespace default")
    assert "queueName" in await kubectl("explain quotas.spec")
    assert "The sandbox describes no fields" in await kubectl("explain pods")
    uid = await kubectl("get pod p -o 'jsonpath={.metadata.uid}'")
    about = {"kind": "Pod", "name": "p", "namespace": "default", "apiVersion": "v1", "uid": uid}
    said = {"reason": "Because", "message": "of this", "type": "Normal", "source": {"component": "test"}}
    await kubectl("create -f -", named("v1", "Event", "e", involvedObject=about, **said))
    assert "of this" in await kubectl("describe pod p")
    assert "of this" in await kubectl("get events")
    assert "of this" in await kubectl("get events --sort-by=.lastTimestamp")
    assert "of this" in await kubectl("events --for pod/p")


async def test_our_kinds_have_columns_status_and_an_epoch(kubectl: Kubectl, nursery: trio.Nursery) -> None:
    await kubectl(f"apply -k {CRDS}")
    await kubectl("wait --for=condition=Established crd/quotas.scheduling.infini-ai.com --timeout=60s")
    spec = {"request": {"nvidia.com/gpu": 8}, "nodeSelector": {"scheduling.infini-ai.com/spec": "a100"}}
    raw = named("scheduling.infini-ai.com/v1alpha1", "Quota", "q-0", spec=spec)
    await kubectl("apply -f -", raw)
    watching = await kubectl.follow("get quota -w", nursery)
    await until(watching, "q-0")
    status = '{"status":{"nodeName":"n1","phase":"QuotaBound","epoch":2}}'
    await kubectl(f"patch quota q-0 --subresource=status --type=merge -p '{status}'")
    assert "n1" in await until(watching, "QuotaBound")
    watching.terminate()
    for name in ("quota", "quotas", "qo", "sky"):
        assert "q-0" in await kubectl(f"get {name}")
    assert await kubectl("get resourcequota -o name") == ""
    await kubectl("wait --for=jsonpath={.status.nodeName}=n1 quota/q-0 --timeout=60s")
    assert "epoch" in await kubectl(
        "patch quota q-0 --subresource=status --type=merge -p '{\"status\":null}'", fails=True
    )
    assert "unknown field" in await kubectl("apply -f -", {**raw, "spec": {**spec, "reqeust": {}}}, fails=True)
    assert "unchanged" in await kubectl("apply -f -", raw)
    assert "Node Name:" in await kubectl("describe quota q-0")
    await kubectl("delete quota q-0")
    await kubectl("delete crd quotas.scheduling.infini-ai.com")
    assert "resource type" in await kubectl("get quotas.scheduling.infini-ai.com", fails=True)


async def test_it_watches(kubectl: Kubectl, nursery: trio.Nursery) -> None:
    watching = await kubectl.follow("get pods -w --output-watch-events --no-headers", nursery)
    await kubectl("run p --image=x")
    assert rows(await until(watching, "Pending"))[0][:2] == ["ADDED", "p"]
    await kubectl("delete pod p --timeout=60s")
    assert "DELETED" in await until(watching, "DELETED")
    watching.terminate()


async def test_it_cordons_taints_drains_and_deletes(kubectl: Kubectl) -> None:
    await kubectl("create -f -", node("n"))
    await kubectl("create -f -", pod("p", node="n"))
    await kubectl("wait --for=condition=Ready pod/p --timeout=60s")
    await kubectl("cordon n")
    assert "Ready,SchedulingDisabled" in await kubectl("get nodes")
    await kubectl("uncordon n")
    await kubectl("taint node n key=value:NoSchedule")
    assert await kubectl("get node n -o 'jsonpath={.spec.taints[*].key}'") == "key"
    await kubectl("drain n --force --timeout=60s")
    assert await kubectl("get pods -o name") == ""
    await kubectl("create -f -", pod("q", node="n"))
    await kubectl("delete pods --all --timeout=60s")
    await kubectl("delete node n")
    assert await kubectl("get nodes -o name") == ""
