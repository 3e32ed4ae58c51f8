"""What a pod asks of other pods and of its node: affinity, spread, host ports."""

from collections.abc import Iterable, Mapping
from typing import Final

from sky_core.api.faults import Invalid
from sky_core.api.selection import NOBODY, selector, selector_or_nobody
from sky_core.api.wire import core, meta
from sky_core.constraints import HostPort, PodAffinity, PodTerm, PreferredPod, Spread
from sky_core.selectors import Labels, Operator, Requirement, Selector

NO_POD_AFFINITY: Final = PodAffinity()
_ANY: Final = "0.0.0.0"  # noqa: S104  Kubernetes' name for all addresses, nothing is bound
_HARD: Final = {"DoNotSchedule": True, "ScheduleAnyway": False}
_POLICY: Final = {"Honor": True, "Ignore": False}


def pod_affinity(affinity: core.Affinity, namespace: str, labels: Labels) -> PodAffinity:
    """Affinity and anti-affinity among pods, of a pod in this namespace with these labels.

    Raises:
        Invalid: A selector or a namespace is malformed.
    """
    near, apart = affinity.pod_affinity, affinity.pod_anti_affinity
    if near == apart == _NOTHING_ASKED:
        return NO_POD_AFFINITY
    required, preferred = _terms("spec.affinity.podAffinity", near, namespace, labels)
    anti_required, anti_preferred = _terms("spec.affinity.podAntiAffinity", apart, namespace, labels)
    return PodAffinity(required, preferred, anti_required, anti_preferred)


def spreads(written: Iterable[core.TopologySpreadConstraint], labels: Labels) -> tuple[Spread, ...]:
    """The topology spread constraints of a pod with these labels.

    Raises:
        Invalid: One is malformed.
    """
    return tuple(_spread(f"spec.topologySpreadConstraints[{i}]", one, labels) for i, one in enumerate(written))


def host_ports(spec: core.PodSpec) -> tuple[HostPort, ...]:
    """The ports that a pod takes on its node: those of its containers and sidecars, each once, sorted."""
    sidecars = (container for container in spec.init_containers if container.restart_policy == "Always")
    found = {
        (number, port.protocol or "TCP", port.host_ip or _ANY)
        for container in (*spec.containers, *sidecars)
        for port in container.ports
        if (number := port.host_port or (port.container_port if spec.host_network else 0)) > 0
    }
    return tuple(HostPort(*port) for port in sorted(found))


_NOTHING_ASKED: Final = core.PodAffinity()


def _terms(
    field: str, written: core.PodAffinity, namespace: str, labels: Labels
) -> tuple[tuple[PodTerm, ...], tuple[PreferredPod, ...]]:
    hard = f"{field}.requiredDuringSchedulingIgnoredDuringExecution"
    soft = f"{field}.preferredDuringSchedulingIgnoredDuringExecution"
    required = tuple(
        _term(f"{hard}[{i}]", term, namespace, labels)
        for i, term in enumerate(written.required_during_scheduling_ignored_during_execution)
    )
    preferred = tuple(
        PreferredPod(one.weight, _term(f"{soft}[{i}].podAffinityTerm", one.pod_affinity_term, namespace, labels))
        for i, one in enumerate(written.preferred_during_scheduling_ignored_during_execution)
    )
    return required, preferred


def _term(field: str, term: core.PodAffinityTerm, namespace: str, labels: Labels) -> PodTerm:
    if not term.topology_key:
        raise Invalid(f"{field}.topologyKey", "is empty")
    chosen = selector_or_nobody(f"{field}.labelSelector", term.label_selector)
    chosen = _keyed(chosen, term.match_label_keys, labels, Operator.IN)
    chosen = _keyed(chosen, term.mismatch_label_keys, labels, Operator.NOT_IN)
    named = term.namespaces
    if not named and term.namespace_selector is None:
        named = (namespace,)
    return PodTerm(
        topology_key=term.topology_key,
        selector=chosen,
        namespaces=tuple(sorted(set(named))),
        namespace_selector=_namespaces(f"{field}.namespaceSelector", term.namespace_selector),
    )


def _namespaces(field: str, written: meta.LabelSelector | None) -> Selector | None:
    return None if written is None else selector(field, written)


def _keyed(chosen: Selector, keys: Iterable[str], labels: Mapping[str, str], operator: Operator) -> Selector:
    """With the pod's own values of these labels, as the API server merges them; those that it lacks are left out."""
    own = {Requirement(key, operator, (labels[key],)) for key in keys if key in labels}
    if chosen is NOBODY or not own:
        return chosen
    every = own.union(chosen.requirements)
    return Selector(tuple(sorted(every, key=lambda one: (one.key, one.operator, one.values))))


def _spread(field: str, written: core.TopologySpreadConstraint, labels: Labels) -> Spread:
    if written.max_skew < 1 or written.min_domains < 1:
        raise Invalid(field, "maxSkew and minDomains are 1 or more")
    if written.when_unsatisfiable not in _HARD:
        raise Invalid(f"{field}.whenUnsatisfiable", "is neither DoNotSchedule nor ScheduleAnyway")
    if not written.topology_key:
        raise Invalid(f"{field}.topologyKey", "is empty")
    chosen = selector_or_nobody(f"{field}.labelSelector", written.label_selector)
    return Spread(
        topology_key=written.topology_key,
        max_skew=written.max_skew,
        hard=_HARD[written.when_unsatisfiable],
        selector=_keyed(chosen, written.match_label_keys, labels, Operator.IN),
        min_domains=written.min_domains,
        honor_node_affinity=_POLICY.get(written.node_affinity_policy, True),
        honor_taints=_POLICY.get(written.node_taints_policy, False),
    )
