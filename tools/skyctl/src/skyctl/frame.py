"""The frame of a page: one file that needs neither network nor script."""

from typing import Final

_FRAME: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Sky-Scheduler: {title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: #1b1d1f; background: #ffffff; margin: 2rem auto;
  max-width: 70rem; padding: 0 1rem; }}
figcaption {{ font-weight: 600; }}
{style}</style>
</head>
<body>
<main>
{body}</main>
</body>
</html>
"""


def framed(title: str, style: str, body: str) -> str:
    """A page of this title, style and content, which are markup already."""
    return _FRAME.format(title=title, style=style, body=body)
