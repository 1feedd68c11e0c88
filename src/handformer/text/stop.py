"""Stop strings: the text ends where the first of them begins, however it arrives in pieces."""

from collections.abc import Iterable

from handformer.errors import InputError


class StopStrings:
    """Pass pieces of text on, up to the stop string that begins earliest; never a part of one.

    Text that may be the beginning of a stop string is held back until that is decided. All that
    comes out, in a row, is the text up to its earliest stop string, or all of it.

    Attributes:
        stopped: a stop string was found; nothing comes out any more.
    """

    def __init__(self, stops: str | Iterable[str]) -> None:
        """Take the stop strings (none is fine); raises InputError for an empty one."""
        self._stops = (stops,) if isinstance(stops, str) else tuple(stops)
        if "" in self._stops:
            raise InputError("stop string '' would end every text at once; leave it out")
        self._longest = max(map(len, self._stops), default=0)
        self._held = ""
        self.stopped = False

    def push(self, piece: str) -> str:
        """Take the next piece; returns what is certain now to stand before every stop string."""
        if self.stopped:
            return ""
        text = self._held + piece
        found = self._earliest(text)
        # A stop string that isn't whole yet, but would begin earlier, has to be awaited.
        for start in range(max(0, len(text) - self._longest + 1), min(found, len(text))):
            if any(stop.startswith(text[start:]) for stop in self._stops):
                self._held = text[start:]
                return text[:start]
        self._held = ""
        self.stopped = found < len(text)
        return text[:found]

    def finish(self) -> str:
        """The rest, once no piece follows: what was held back and did not become a stop string."""
        if self.stopped:
            return ""
        text, self._held = self._held, ""
        found = self._earliest(text)
        self.stopped = found < len(text)
        return text[:found]

    def _earliest(self, text: str) -> int:
        """Where the earliest whole stop string begins; the text's length if there is none."""
        return min((at for stop in self._stops if (at := text.find(stop)) >= 0), default=len(text))
