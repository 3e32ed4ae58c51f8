"""How large a workload is, against what its name says."""

import msgspec


class Scale(msgspec.Struct, frozen=True):
    """Factors for how many nodes there are, and for how much there is to be placed on them."""

    nodes: float = 1.0
    work: float = 1.0

    def hosts(self, count: int) -> int:
        """So many nodes, scaled."""
        return max(round(count * self.nodes), 1)

    def amount(self, count: int) -> int:
        """So many jobs, tasks or cards, scaled."""
        return max(round(count * self.work), 1)


FULL = Scale()
"""As the names say."""
