"""`python -m sky_scheduler` is `sky-scheduler`."""

from sky_scheduler.command_line import main

main()
