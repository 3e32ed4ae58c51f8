"""Inter-pod affinity, case by case as kube-scheduler's tests have them: which of four nodes take the pod."""

from typing import Any

import pytest

from sky_core.constraints import PodAffinity, PodTerm, PreferredPod
from sky_core.kubernetes import pod_affinity
from sky_core.kubernetes.comers import comers
from sky_core.model import Instant, Node, NodeName, QuotaName, Task
from sky_core.reasons import Code
from sky_core.selectors import EVERYTHING, Operator, Requirement, Selector, equals
from sky_core.statement import Statement
from sky_core.states import TaskState
from sky_core.testing.rows import claim, node, quota, task, world
from sky_core.world import World

HOST, ZONE = "kubernetes.io/hostname", "zone"


def machine(name: str, zone: str | None) -> Any:
    return node(name, labels={HOST: name, **({} if zone is None else {ZONE: zone})})


NODES = (machine("n0", "a"), machine("n1", "a"), machine("n2", "b"), machine("n3", None))
"""n3 is in no zone."""


def term(app: str, key: str = ZONE, *namespaces: str, **fields: Any) -> PodTerm:
    return PodTerm(key, equals({"app": app}), namespaces or ("default",), **fields)


def pod(name: str, app: str = "", **fields: Any) -> Task:
    affinity = {key: fields.pop(key) for key in list(fields) if key in PodAffinity.__struct_fields__}
    return task(name, labels={"app": app} if app else {}, pod_affinity=PodAffinity(**affinity), **fields)


def takers(w: World, *tasks: Task) -> str:
    refusal = pod_affinity.required(w)
    return " ".join(str(n.name) for n in w.nodes.values() if refusal(comers(tasks), n) is None)


ALL, NONE = "n0 n1 n2 n3", ""
WEB_AND_TIER = Selector((Requirement("app", Operator.IN, ("web",)), Requirement("tier", Operator.EXISTS)))

CASES: dict[str, tuple[Task, list[Task], str]] = {
    "nothing asked, nobody there": (pod("p"), [], ALL),
    "affinity to a zone": (pod("p", required=(term("web"),)), [pod("w", "web", node="n0")], "n0 n1"),
    "affinity to a node": (pod("p", required=(term("web", HOST),)), [pod("w", "web", node="n0")], "n0"),
    "affinity to nobody": (pod("p", required=(term("web"),)), [pod("x", "db", node="n0")], NONE),
    "affinity to a pod in no zone": (pod("p", required=(term("web"),)), [pod("w", "web", node="n3")], NONE),
    "affinity to a terminating pod": (
        pod("p", required=(term("web"),)),
        [pod("w", "web", node="n0", state=TaskState.RELEASING)],
        "n0 n1",
    ),
    "affinity to a finished pod": (
        pod("p", required=(term("web"),)),
        [pod("w", "web", node="n0", state=TaskState.SUCCEEDED)],
        NONE,
    ),
    "affinity to a pod of another namespace": (
        pod("p", required=(term("web"),)),
        [pod("w", "web", node="n0", namespace="other")],
        NONE,
    ),
    "affinity to a pod of a named namespace": (
        pod("p", required=(term("web", ZONE, "default", "other"),)),
        [pod("w", "web", node="n0", namespace="other")],
        "n0 n1",
    ),
    "affinity to pods of namespaces by label": (
        pod("p", required=(PodTerm(ZONE, equals({"app": "web"}), (), equals({"team": "x"})),)),
        [pod("w", "web", node="n0", namespace="other"), pod("v", "web", node="n2")],
        "n0 n1",
    ),
    "affinity to pods of all namespaces": (
        pod("p", required=(PodTerm(ZONE, equals({"app": "web"}), (), EVERYTHING),)),
        [pod("w", "web", node="n0", namespace="other"), pod("v", "web", node="n2")],
        "n0 n1 n2",
    ),
    "several terms want one pod that matches all": (
        pod("p", required=(term("web"), PodTerm(HOST, WEB_AND_TIER, ("default",)))),
        [pod("w", "web", node="n0"), task("v", node="n1", labels={"app": "web", "tier": "1"})],
        "n1",
    ),
    "the first of a group goes anywhere in its topology": (pod("p", "web", required=(term("web"),)), [], "n0 n1 n2"),
    "the first of a group in a far zone": (
        pod("p", "web", required=(term("web"),)),
        [pod("w", "web", node="n3")],
        "n0 n1 n2",
    ),
    "the second of a group": (pod("p", "web", required=(term("web"),)), [pod("w", "web", node="n2")], "n2"),
    "the first of a group that is not of the group by all terms": (
        pod("p", "web", required=(term("web"), term("db"))),
        [],
        NONE,
    ),
    "the first of a group by a term for another namespace": (
        pod("p", "web", required=(term("web", ZONE, "x"),)),
        [],
        NONE,
    ),
    "anti-affinity to a zone": (pod("p", anti_required=(term("web"),)), [pod("w", "web", node="n0")], "n2 n3"),
    "anti-affinity to a node": (pod("p", anti_required=(term("web", HOST),)), [pod("w", "web", node="n0")], "n1 n2 n3"),
    "anti-affinity to a pod in no zone": (pod("p", anti_required=(term("web"),)), [pod("w", "web", node="n3")], ALL),
    "any term of anti-affinity keeps away": (
        pod("p", anti_required=(term("web"), term("db", HOST))),
        [pod("w", "web", node="n0"), pod("d", "db", node="n2")],
        "n3",
    ),
    "affinity and anti-affinity": (
        pod("p", required=(term("web"),), anti_required=(term("web", HOST),)),
        [pod("w", "web", node="n0")],
        "n1",
    ),
    "a pod there keeps its kind away": (
        pod("p", "web"),
        [pod("w", "db", node="n0", anti_required=(term("web"),))],
        "n2 n3",
    ),
    "a pod there keeps another kind away": (
        pod("p", "db"),
        [pod("w", "db", node="n0", anti_required=(term("web"),))],
        ALL,
    ),
    "a pod in no zone keeps nobody away": (
        pod("p", "web"),
        [pod("w", "db", node="n3", anti_required=(term("web"),))],
        ALL,
    ),
    "a pod there keeps away whom it says in namespaces": (
        pod("p", "web"),
        [pod("w", "db", node="n0", namespace="other", anti_required=(term("web", ZONE, "other"),))],
        ALL,
    ),
    "affinity to whom keeps it away": (
        pod("p", "web", required=(term("db"),)),
        [pod("w", "db", node="n0", anti_required=(term("web", HOST),))],
        "n1",
    ),
}


@pytest.mark.parametrize(("asker", "present", "expected"), CASES.values(), ids=CASES)
def test_pods_are_near_and_apart_as_in_kubernetes(asker: Task, present: list[Task], expected: str) -> None:
    w = world(*NODES, *present, asker)
    w.namespaces["other"] = {"team": "x"}
    assert takers(w, asker) == expected


def test_claims_on_bound_quotas_count_as_present() -> None:
    asker = pod("p", required=(term("web"),))
    w = world(*NODES, quota("q", node="n2"), pod("w", "web", quota="q"), asker)
    assert takers(w, asker) == "n2"


def test_those_who_come_together_keep_each_other_company() -> None:
    one, other = pod("p", "a", required=(term("b", HOST),)), pod("q", "b", required=(term("a", HOST),))
    w = world(*NODES, one, other)
    assert takers(w, one) == takers(w, other) == NONE
    assert takers(w, one, other) == ALL


def test_those_who_come_together_stay_apart_if_they_must() -> None:
    one, other = pod("p", "web", anti_required=(term("web", HOST),)), pod("q", "web")
    w = world(*NODES, one, other)
    assert takers(w, one) == takers(w, other) == ALL
    assert takers(w, one, other) == takers(w, other, one) == NONE


def test_a_task_that_claims_a_quota_here_is_not_its_own_neighbour() -> None:
    apart = pod("p", "web", quota="q", anti_required=(term("web"),))
    alone = pod("r", "web", quota="q", required=(term("web"),))
    assert takers(world(*NODES, quota("q", node="n0"), apart), apart) == ALL
    assert takers(world(*NODES, quota("q", node="n0"), alone), alone) == "n0 n1 n2"


def test_counts_follow_a_trial_there_and_back() -> None:
    asker, other = pod("p", required=(term("web"),)), pod("w", "web")
    w = world(*NODES, quota("q"), quota("r", node="n0"), asker, other)
    refusal = pod_affinity.required(w)

    def near() -> list[str]:
        return [n.name for n in w.nodes.values() if refusal(comers([asker]), n) is None]

    assert near() == []
    with Statement(w, Instant(0)) as trial:
        trial.claim(other, QuotaName("q"), claim(other))
        assert near() == []
        trial.bind_quota(QuotaName("q"), NodeName("n2"))
        assert near() == ["n2"]
    assert near() == []
    with Statement(w, Instant(0)) as trial:
        trial.claim(other, QuotaName("r"), claim(other))
        assert near() == ["n0", "n1"]
        trial.allocate(w.tasks[other.id], NodeName("n0"))
        assert near() == ["n0", "n1"]
    assert near() == []


def test_the_code_says_whether_it_is_near_or_apart() -> None:
    near, apart = pod("p", required=(term("web"),)), pod("q", anti_required=(term("web"),))
    w = world(*NODES, near, apart, pod("w", "web", node="n0"))
    refusal = pod_affinity.required(w)
    codes = []
    for asker, name in ((near, "n2"), (apart, "n0")):
        refused = refusal(comers([asker]), w.nodes[NodeName(name)])
        assert refused is not None
        codes.append(refused.code)
    assert codes == [Code.POD_AFFINITY_NOT_MATCH, Code.POD_ANTI_AFFINITY_NOT_MATCH]


def test_preferences_weigh_every_pod_that_matches_and_dislikes_count_against() -> None:
    asker = pod("p", preferred=(PreferredPod(5, term("web")),), anti_preferred=(PreferredPod(3, term("db", HOST)),))
    w = world(*NODES, asker, pod("w-0", "web", node="n0"), pod("w-1", "web", node="n1"), pod("d", "db", node="n1"))
    score = pod_affinity.preferred(w)

    def scores(of: Task) -> list[int]:
        return [score(of, n) for n in w.nodes.values()]

    assert scores(asker) == [10, 7, 0, 0]
    assert scores(pod("x")) == [0, 0, 0, 0]


def test_a_term_that_is_liked_and_disliked_is_counted_once_each() -> None:
    both = (PreferredPod(5, term("web")),)
    asker = pod("p", preferred=both, anti_preferred=both)
    w = world(*NODES, asker, pod("w", "web", node="n0"))
    n0: Node = w.nodes[NodeName("n0")]
    assert pod_affinity.preferred(w)(asker, n0) == 0
