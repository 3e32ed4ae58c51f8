"""What a report looks like as a scene."""

from sky_core.model import Instant
from sky_core.simulation.run import run
from sky_shell.reading.places import File
from skyctl.configuration import configured
from skyctl.manifests import loaded
from skyctl.scene import Machine, Scene, Use
from skyctl.staging import staged

SKY = "apiVersion: scheduling.infini-ai.com/v1alpha1"
READY = "conditions: [{type: Ready, status: 'True'}]"


RESOURCES = {
    "gpu": "nvidia.com/gpu",
    "spot": "scheduling.infini-ai.com/spot-gpu",
    "npu": "huawei.com/npu",
    "cpu": "cpu",
}


def requests(amounts: dict[str, int]) -> str:
    return ", ".join(f"{RESOURCES[name]}: '{amount}'" for name, amount in amounts.items())


def node(name: str, gpu: int | str = 8, more: str = "", labels: str = "") -> str:
    allocatable = f"{{cpu: '8', nvidia.com/gpu: '{gpu}', pods: '110'{more}}}"
    meta = f"{{name: {name}, labels: {{kubernetes.io/hostname: {name}{labels}}}}}"
    return f"apiVersion: v1\nkind: Node\nmetadata: {meta}\nstatus: {{allocatable: {allocatable}, {READY}}}\n"


def pod(name: str, *, on: str = "", scheduler: str = "sky-scheduler", **amounts: int) -> str:
    names = {
        "gpu": "nvidia.com/gpu",
        "spot": "scheduling.infini-ai.com/spot-gpu",
        "cpu": "cpu",
        "npu": "huawei.com/npu",
    }
    asked = ", ".join(f"{names[name]}: '{amount}'" for name, amount in amounts.items())
    where = f"nodeName: {on}, " if on else ""
    spec = f"{{schedulerName: {scheduler}, {where}containers: [{{name: main, resources: {{requests: {{{asked}}}}}}}]}}"
    phase = "Running" if on else "Pending"
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {spec}\nstatus: {{phase: {phase}}}\n"


def quota(name: str, on: str, **amounts: int) -> str:
    asked = requests(amounts)
    spec = f"{{queueName: default, request: {{{asked}}}, staticBindNode: {on}}}"
    status = f"{{phase: QuotaBound, nodeName: {on}}}"
    return f"{SKY}\nkind: Quota\nmetadata: {{name: {name}}}\nspec: {spec}\nstatus: {status}\n"


def scene(*objects: str) -> Scene:
    policy = configured(None)
    given = loaded([File("f.yaml", "---\n".join(objects))])
    return staged(run(given.objects, (), policy, policy.settings, now=Instant(0), cycles=9), policy.settings)


def machine(*objects: str) -> Machine:
    return scene(*objects).zones[0].machines[0]


SPOT = ", scheduling.infini-ai.com/spot-gpu: '8'"


def test_each_card_shows_what_it_is_used_for() -> None:
    shown = machine(
        node("n0", more=SPOT),
        quota("q", "n0", gpu=5),
        pod("w", gpu=2),
        pod("other", on="n0", scheduler="default-scheduler", gpu=1),
        pod("s", on="n0", spot=1),
    )
    assert shown.picture == "aa#~==.."
    assert [card.pod for card in shown.cards[:4]] == ["default/w", "default/w", "default/other", "default/s"]
    assert shown.pods == ("default/other", "default/s", "default/w")
    assert shown.notes == ()


def test_spot_sits_on_promised_cards_first() -> None:
    assert machine(node("n0", more=SPOT), quota("q", "n0", gpu=4), pod("s", on="n0", spot=4)).picture == "~~~~...."


def test_other_devices_are_cards_where_there_are_no_gpus() -> None:
    npus = ", huawei.com/npu: '4'"
    assert machine(node("n0", 0, npus), quota("q", "n0", npu=2), pod("w", npu=1)).picture == "a=.."


def test_a_machine_without_cards_tells_of_its_cpus() -> None:
    shown = machine(node("n0", 0), pod("p", on="n0", scheduler="other", cpu=3))
    assert (shown.picture, shown.notes) == ("", ("5 of 8 cpu idle",))


def test_too_many_cards_are_told_in_words() -> None:
    shown = machine(node("n0", "9P"), pod("p", on="n0", scheduler="other", gpu=10**15))
    assert (shown.picture, shown.notes) == ("", ("8P of 9P nvidia.com/gpu idle",))


def test_what_is_more_than_there_is_is_said() -> None:
    shown = machine(node("n0", 2), quota("q", "n0", gpu=4), pod("p", on="n0", scheduler="other", gpu=3))
    assert shown.picture == "##"
    assert shown.notes == ("1 more nvidia.com/gpu in use than there is", "5 more nvidia.com/gpu promised than there is")


def test_zones_have_letters_in_the_order_of_their_machines_and_jobs_that_wait_come_first() -> None:
    zones = {f"n{n}": f", scheduling.infini-ai.com/zone: z{5 - n // 2}" for n in range(4)}
    nodes = [node(name, 1, labels=zone) for name, zone in zones.items()]
    one = scene(*nodes, node("n9", 1), quota("q", "n2", gpu=1), pod("a", gpu=1), pod("z", gpu=9))
    assert [(zone.letter, zone.key) for zone in one.zones] == [("A", "z5"), ("B", "z4"), ("", None)]
    assert [(job.name, job.letter, job.zones) for job in one.jobs] == [
        ("default/z", "", ()),
        ("default/a", "a", ("B",)),
    ]
    assert one.uses == [Use.JOB, Use.IDLE]
