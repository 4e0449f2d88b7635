"""The session as conversations: every file in ``transcripts`` is played line by line (``support.transcripts`` has how)."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.transcripts import Player, read_transcripts

TRANSCRIPTS = dict(read_transcripts(Path(__file__).parent / "transcripts"))


@pytest.mark.parametrize("title", TRANSCRIPTS)
def test_the_conversation_goes_as_written(title: str) -> None:
    Player().play(TRANSCRIPTS[title])


def test_a_transcript_that_differs_from_what_happens_is_noticed() -> None:
    ping = (1, '-> {"jsonrpc":"2.0","id":1,"method":"ping"}')
    pong = (2, '<- {"jsonrpc":"2.0","id":1,"result":{}}')
    Player().play([ping, pong])
    wrong_answer = (2, '<- {"jsonrpc":"2.0","id":"1","result":{}}')
    for wrong in ([ping], [ping, wrong_answer], [ping, (2, "exit")], [ping, pong, pong], [ping, ping, pong, pong]):
        with pytest.raises(AssertionError):
            Player().play(wrong)
