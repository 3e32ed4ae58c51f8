"""What a pod requests, as kube-scheduler counts it (k8s.io/component-helpers, resource.PodRequests)."""

from collections.abc import Iterable, Mapping
from typing import Final

from sky_core.api.amounts import bounded, resources, total
from sky_core.api.wire import core
from sky_core.resources import NOTHING, Resources

_POD_LEVEL: Final = frozenset({"cpu", "memory"})
_NOT_ASKED: Final = core.ResourceRequirements()


def request(pod: core.Pod) -> Resources:
    """max(init, Σ containers + sidecars) + overhead; cpu, memory and hugepages as asked for the pod, where they are.

    A limit stands for a request that is not made, as the API server has it.

    Raises:
        Invalid: An amount is unusable; its field is its path.
    """
    spec, status = pod.spec, pod.status
    sidecars = [container.restart_policy == "Always" for container in spec.init_containers]
    containers = _asked("spec.containers", spec.containers)
    inits = _asked("spec.initContainers", spec.init_containers)
    if status.container_statuses or status.init_container_statuses:
        infeasible = any(
            condition.type == "PodResizePending" and condition.reason == "Infeasible" for condition in status.conditions
        )
        known = {one.name: one for one in (*status.container_statuses, *status.init_container_statuses)}
        containers = [_resized(*pair, known, infeasible) for pair in zip(containers, spec.containers, strict=True)]
        inits = [
            _resized(asked, container, known, infeasible) if sidecar else asked
            for asked, container, sidecar in zip(inits, spec.init_containers, sidecars, strict=True)
        ]
    whole = aggregate(containers, zip(inits, sidecars, strict=True))
    if spec.resources != _NOT_ASKED:
        whole = _for_the_pod(whole, spec.resources)
    if spec.overhead:
        whole += resources("spec.overhead", spec.overhead)
    return bounded("spec.containers", whole)


def aggregate(containers: list[Resources], inits: Iterable[tuple[Resources, bool]]) -> Resources:
    """What containers need together with init containers, each of which is a sidecar or not, in their order.

    While an init container runs, the sidecars before it run too; they go on beside the containers.
    """
    whole = containers[0] if len(containers) == 1 else total(containers)
    running = peak = NOTHING
    for asked, sidecar in inits:
        if sidecar:
            running += asked
            peak = peak.most(running)
        else:
            peak = peak.most(running + asked)
    return (whole + running).most(peak) if peak else whole


def _asked(field: str, containers: tuple[core.Container, ...]) -> list[Resources]:
    return [_with_limits(f"{field}[{i}].resources", container.resources) for i, container in enumerate(containers)]


def _with_limits(field: str, asked: core.ResourceRequirements) -> Resources:
    requests, limits = asked.requests, asked.limits
    found = resources(f"{field}.requests", requests)
    if limits.keys() <= requests.keys():
        return found
    return found + resources(f"{field}.limits", {name: limits[name] for name in limits if name not in requests})


def _resized(
    asked: Resources, container: core.Container, known: Mapping[str, core.ContainerStatus], infeasible: bool
) -> Resources:
    """The larger of what is asked for and what the kubelet says is allocated or in use."""
    status = known.get(container.name)
    if status is None or status.resources is None:
        return asked
    in_use, allocated = status.resources.requests, status.allocated_resources
    if in_use == container.resources.requests and (not allocated or allocated == in_use):
        return asked
    field = f"status.containerStatuses[{container.name}]"
    has = resources(f"{field}.resources.requests", in_use).most(resources(f"{field}.allocatedResources", allocated))
    return has if infeasible else asked.most(has)


def _for_the_pod(whole: Resources, asked: core.ResourceRequirements) -> Resources:
    """With what is asked for the pod as such, in place of what its containers ask for."""
    requests = resources("spec.resources.requests", {n: a for n, a in asked.requests.items() if _is_pod_level(n)})
    limits = resources("spec.resources.limits", {n: a for n, a in asked.limits.items() if _is_pod_level(n)})
    named = asked.requests.keys() | {name for name in asked.limits if whole[name]}
    own = requests + limits.without(named)
    return whole.without({name for name in asked.requests if _is_pod_level(name)}) + own


def _is_pod_level(name: str) -> bool:
    return name in _POD_LEVEL or name.startswith("hugepages-")
