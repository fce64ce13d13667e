"""Texts that do harm if they are not escaped."""

from __future__ import annotations

SCRIPT = "<script>document.body.dataset.harmed = 'script'</script>"
HANDLER = '"><img src=x onerror="document.body.dataset.harmed=\'handler\'">'
QUOTE = "' onmouseover='document.body.dataset.harmed=1' x='"
END_OF_STYLE = "</style><style>body{display:none}</style>"
END_OF_TITLE = "</title><script>document.body.dataset.harmed = 'title'</script>"
END_OF_SVG = "</text></svg><script>document.body.dataset.harmed = 'svg'</script>"
COMMENT = "<!-- ]]> --!> <![CDATA["
OVERRIDE = "evil\u202egnp.exe"
ISOLATE = "\u2067\u2066never closed"
ANSI = "\x1b[31mred\x1b[0m \x1b]8;;http://example.org\x07link\x1b]8;;\x07"
NUL = "before\x00after\x07\x08"
RICH = "[bold red]not bold[/bold red] [link=file:///etc/passwd]x[/link]"
SURROGATE = "half \ud83d of an emoji"
HEBREW = "שלום עולם 123 abc"
ENTITY = "&lt;b&gt; &amp;amp; &#60;script&#62;"
HTPY = "{{ 7 * 7 }} {% raw %} ${alert(1)}"

ALL = [
    SCRIPT,
    HANDLER,
    QUOTE,
    END_OF_STYLE,
    END_OF_TITLE,
    END_OF_SVG,
    COMMENT,
    OVERRIDE,
    ISOLATE,
    ANSI,
    NUL,
    RICH,
    SURROGATE,
    HEBREW,
    ENTITY,
    HTPY,
]


def requests_to(address: str) -> str:
    """A text that asks a browser for something from this address, in each way that works without a script."""
    return (
        f'<img src="{address}/img"><link rel=stylesheet href="{address}/css"><iframe src="{address}/frame"></iframe>'
        f"<style>@import url({address}/import); body {{ background: url({address}/background) }}</style>"
        f'<script src="{address}/script"></script><meta http-equiv=refresh content="0;url={address}/refresh">'
        f'<object data="{address}/object"></object><video src="{address}/video" autoplay></video>'
        f'<svg><image href="{address}/svg"/></svg>'
    )
