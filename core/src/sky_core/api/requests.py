"""What a pod requests, as kube-scheduler counts it (k8s.io/component-helpers, resource.PodRequests)."""

from collections.abc import Iterable, Mapping
from typing import Final

from sky_core.api.amounts import bounded, held, resources
from sky_core.api.wire import core
from sky_core.resources import NOTHING, Resources

RESIZE_PENDING: Final = "PodResizePending"
"""The condition of a pod that the kubelet can't give what it asks for by now."""

_OVERCOMMITTED: Final = frozenset({"cpu", "memory"})
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
    whole = aggregate(containers, zip(inits, sidecars, strict=True))
    own = _for_the_pod(spec, whole) if spec.resources != _NOT_ASKED else {}
    infeasible = any(one.type == RESIZE_PENDING and one.reason == "Infeasible" for one in status.conditions)
    if status.container_statuses or status.init_container_statuses:
        known = {one.name: one for one in (*status.container_statuses, *status.init_container_statuses)}
        containers_now = [_resized(*pair, known, infeasible) for pair in zip(containers, spec.containers, strict=True)]
        inits_now = [
            _resized(asked, container, known, infeasible) if sidecar else asked
            for asked, container, sidecar in zip(inits, spec.init_containers, sidecars, strict=True)
        ]
        if (containers_now, inits_now) != (containers, inits):
            whole = aggregate(containers_now, zip(inits_now, sidecars, strict=True))
    if own and status.resources is not None:
        has = _has("status", status.resources, status.allocated_resources)
        own = {name: has[name] if infeasible else max(amount, has[name]) for name, amount in own.items()}
    if own:
        whole = whole.without(own) + Resources.of(own)
    if spec.overhead:
        whole += resources("spec.overhead", spec.overhead)
    return bounded("spec.containers", whole)


def aggregate(containers: list[Resources], inits: Iterable[tuple[Resources, bool]]) -> Resources:
    """What containers need together with init containers, each of which is a sidecar or not, in their order.

    While an init container runs, the sidecars before it run too; they go on beside the containers.
    """
    whole = containers[0] if len(containers) == 1 else Resources.total(containers)
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
    if not infeasible and in_use == container.resources.requests and (not allocated or allocated == in_use):
        return asked
    has = _has(f"status.containerStatuses[{container.name}]", status.resources, allocated)
    return has if infeasible else asked.most(has)


def _has(field: str, in_use: core.ResourceRequirements, allocated: Mapping[str, object]) -> Resources:
    return resources(f"{field}.resources.requests", in_use.requests).most(
        resources(f"{field}.allocatedResources", allocated)
    )


def _for_the_pod(spec: core.PodSpec, whole: Resources) -> dict[str, int]:
    """What is asked for the pod as such, zeros too, in place of what its containers ask for: `whole`.

    The API server completes it: a limit stands for a request, but where there are any limits, cpu and memory that a
    container names are asked for as its containers do. Their hugepages are limits of the pod.
    """
    named = {
        name: whole[name]
        for one in (*spec.containers, *spec.init_containers)
        for name in _at_pod_level({**one.resources.requests, **one.resources.limits})
    }
    huge = {name: amount for name, amount in named.items() if name not in _OVERCOMMITTED}
    plain = {name: amount for name, amount in named.items() if name in _OVERCOMMITTED}
    limits = {**huge, **held("spec.resources.limits", _at_pod_level(spec.resources.limits))}
    requests = held("spec.resources.requests", _at_pod_level(spec.resources.requests))
    return {**limits, **(plain if limits else {}), **requests}


def _at_pod_level(amounts: Mapping[str, object]) -> dict[str, object]:
    return {name: amount for name, amount in amounts.items() if name in _OVERCOMMITTED or name.startswith("hugepages-")}
