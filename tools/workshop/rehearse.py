"""`skyctl simulate`'s command line, played by the scheduler's process on a sandbox, or on a real control plane.

To run the acceptance cases so:
`SIMULATE=".venv/bin/python tools/workshop/rehearse.py" python3 -B ../shared/cases/cases.py`
"""

from rehearsal.command import main

if __name__ == "__main__":
    main()
