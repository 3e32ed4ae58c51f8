"""Our kinds have the fields that others rely on."""

import msgspec
import pytest

from sky_core.api.wire import crds, topology

FIELDS = [
    (crds.QuotaSpec, "queueName request nodeSelector tolerations affinity sharedQueues staticBindNode"),
    (crds.QuotaAffinity, "nodeAffinity quotaAffinity quotaAntiAffinity"),
    (crds.QuotaTerms, "required preferred"),
    (crds.QuotaAffinityTerm, "labelSelector topologyKey"),
    (crds.PreferredQuotaTerm, "weight labelSelector topologyKey"),
    (
        crds.QuotaStatus,
        "phase nodeName allocated shadowResource staticBindStatus tasks reservedTasks epoch conditions",
    ),
    (crds.StaticBindStatus, "nodeName bound"),
    (crds.QuotaTask, "namespace name uid job rank resources reservationSeconds reservedUntil"),
    (crds.ReservedTask, "namespace job task rank resources nodeName expiresAt"),
    (crds.PodGroupSpec, "minMember minTaskMember minResources queue priorityClassName"),
    (crds.PodGroupStatus, "phase pending running succeeded failed conditions rung reasons nextAttemptTime"),
    (crds.QueueSpec, "weight priority capability namespaceSelector state"),
    (crds.QueueStatus, "allocated specAllocatable specAllocated specShadow pending running"),
    (crds.JobQueueSpec, "queueName priority jobSelector maxRunningJobs capability policy suspend"),
    (crds.JobQueueStatus, "pending running allocated"),
    (topology.Nic, "name switchName switchId rdmaDevice switchPort stale"),
    (topology.Hca, "device nodeGuid portGuids"),
    (topology.NodeTopologyStatus, "hcas lastSeen"),
]


@pytest.mark.parametrize(("kind", "fields"), FIELDS)
def test_a_kind_has_the_fields_of_the_contract(kind: type[msgspec.Struct], fields: str) -> None:
    assert {field.encode_name for field in msgspec.structs.fields(kind)} == set(fields.split())
