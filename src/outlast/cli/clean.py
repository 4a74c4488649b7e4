"""Foreign bytes made fit for a terminal: text and perhaps colours, nothing that moves, titles, copies or answers."""

from __future__ import annotations

import codecs
import re

SGR_CHARACTERS_MAX = 64
"""No colour needs more; what is longer is dropped, so that an endless sequence costs no memory."""

STRING_CHARACTERS_MAX = 1 << 16
"""An OSC or DCS that goes on for longer was never going to end: the rest is shown as text."""

SPECIAL = "[\x00-\x08\x0b-\x1f\x7f-\x9f]"
"""Everything that a terminal obeys, but newline and tab."""

INTRODUCER_OF_C1 = {"\x9b": "[", "\x9d": "]", "\x90": "P", "\x98": "X", "\x9e": "^", "\x9f": "_"}
STRING_INTRODUCERS = frozenset("]PX^_")


class Cleaner:
    """Takes a stream in pieces cut anywhere, and answers what may be shown. Its memory does not grow with the stream.

    A carriage return comes out as it is unless a newline follows it: what it means is the display's business.
    """

    def __init__(self, *, colour: bool) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._special = re.compile(SPECIAL)
        self._parameters = re.compile("[ -?]+")
        self._intermediates = re.compile("[ -/\x1b]+")
        self._sgr = re.compile(f"\x1b\\[([0-9;:]{{0,{SGR_CHARACTERS_MAX}}})m")
        self._colour = colour
        self._state = self._ground
        self._sequence = ""
        self._string_characters = 0
        self._returned = False
        self.coloured = False
        """A colour has been let through and nothing has reset it since."""

    def clean(self, data: bytes, *, final: bool = False) -> str:
        text = self._decoder.decode(data, final)
        shown: list[str] = []
        at = 0
        while at < len(text):
            at = self._state(text, at, shown)
        return "".join(shown)

    def _ground(self, text: str, at: int, shown: list[str]) -> int:
        match = self._special.search(text, at)
        end = match.start() if match else len(text)
        if end > at:
            if self._returned and text[at] != "\n":
                shown.append("\r")
            self._returned = False
            shown.append(text[at:end])
        if match is None:
            return end
        character = text[end]
        if character == "\r":
            self._returned = True
        elif character == "\x1b":
            whole = self._sgr.match(text, end)  # the usual case, quickly; one that is cut goes the long way
            if whole:
                self._show_colour(whole[1], shown)
                return whole.end()
            self._state = self._escape
        elif character in INTRODUCER_OF_C1:
            self._introduce(INTRODUCER_OF_C1[character])
        return end + 1

    def _introduce(self, introducer: str) -> None:
        self._sequence = ""
        self._string_characters = 0
        self._state = self._string if introducer in STRING_INTRODUCERS else self._control

    def _escape(self, text: str, at: int, shown: list[str]) -> int:
        """Behind ESC, and behind intermediates such as those that choose a character set."""
        run = self._intermediates.match(text, at)
        if run:
            return run.end()
        character = text[at]
        if character == "[" or character in STRING_INTRODUCERS:
            self._introduce(character)
        elif "0" <= character <= "~":
            self._state = self._ground
        else:
            self._state = self._ground
            return at
        return at + 1

    def _control(self, text: str, at: int, shown: list[str]) -> int:
        """Inside CSI: parameters and intermediates, then the final character that says what it does."""
        run = self._parameters.match(text, at)
        if run:
            self._sequence = (self._sequence + run[0])[: SGR_CHARACTERS_MAX + 1]
            return run.end()
        character = text[at]
        self._state = self._ground
        if not "@" <= character <= "~":
            return at
        if character == "m" and self._sgr.fullmatch(f"\x1b[{self._sequence}m"):
            self._show_colour(self._sequence, shown)
        return at + 1

    def _show_colour(self, sequence: str, shown: list[str]) -> None:
        if self._colour:
            self.coloured = sequence.strip("0;") != ""
            shown.append(f"\x1b[{sequence}m")

    def _string(self, text: str, at: int, shown: list[str]) -> int:
        """Inside OSC, DCS and their like: all of it is dropped, up to its terminator or the end of the line."""
        match = self._special.search(text, at)
        newline = text.find("\n", at, match.start() if match else len(text))
        end = newline if newline >= 0 else match.start() if match else len(text)
        self._string_characters += end - at
        if self._string_characters > STRING_CHARACTERS_MAX:
            self._state = self._ground
            return end - (self._string_characters - STRING_CHARACTERS_MAX)
        if end == len(text):
            return end
        character = text[end]
        if character == "\x1b":
            self._state = self._escape
        elif character in "\x07\x9c\x18\x1a":
            self._state = self._ground
        elif character in "\n\r":
            self._state = self._ground
            return end
        return end + 1


def printable(text: str) -> str:
    """A foreign word for one line: what cannot be seen, or would change what is, is written as an escape."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape", "backslashreplace").decode() for one in text
    )
