"""Resources of a queue by kind of card. The pools are status (`sky_core.status`); cards are kept apart in areas."""

from sky_core.plugin import Context, Functions, Plugin


def open_session(_context: Context, _arguments: None) -> Functions:
    """Needs nothing of the session."""
    return Functions()


PLUGIN = Plugin(name="specpool", open=open_session)
