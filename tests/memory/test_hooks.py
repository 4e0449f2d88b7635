"""The hooks of a session: what a client is told at its events, and that nothing ever stops it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from support.command_line import run_command
from support.vaults import snapshot, write_vault

# What our hook says at the end of a turn.
REQUEST = "Call remember for what should last, one fact each, clear by itself; leave out the rest, and go on."
TRANSCRIPTS: dict[str, list[dict[str, Any]]] = {
    "claude-code": [
        {"type": "user", "message": {"role": "user", "content": "Fix it. From now on, run the linter first."}},
        {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "never do b"}]}},
        {
            "type": "user",
            "message": {"role": "user", "content": [{"type": "text", "text": "We decided to use SQLite."}]},
        },
        {"type": "user", "isMeta": True, "message": {"role": "user", "content": "Remember that this is meta."}},
        {"type": "assistant", "message": {"role": "assistant", "content": "Remember that I said this."}},
        {"type": "user", "message": {"role": "user", "content": "Should we always test? Always why?"}},
    ],
    "codex": [
        {
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "<environment_context>always x</environment_context>"},
                    {"type": "input_text", "text": "From now on, run the linter first."},
                    {"type": "input_text", "text": "We decided to use SQLite."},
                ],
            },
        }
    ],
    "gemini-cli": [
        {"sessionId": "s1", "kind": "main"},
        {
            "$set": {
                "messages": [{"type": "user", "content": [{"text": "<session_context>always x</session_context>"}]}]
            }
        },
        {
            "type": "user",
            "content": [
                {
                    "text": "<hook_context>Remembered:\n- We prefer &lt;b&gt;.</hook_context>\n\n"
                    "From now on, run the linter first."
                }
            ],
        },
        {"type": "gemini", "content": "From now on, I obey."},
        {"type": "user", "content": "We decided to use SQLite."},
        {"type": "user", "content": [{"text": f"{REQUEST}\n- Always ask twice."}]},
    ],
    "gemini-cli, one record": [
        {
            "messages": [
                {"type": "user", "content": "From now on, run the linter first."},
                {"type": "gemini", "content": "From now on, I obey."},
                {"type": "user", "content": [{"text": "We decided to use SQLite."}]},
            ]
        }
    ],
}
SAID = ["From now on, run the linter first.", "We decided to use SQLite."]


class Session:
    """One session of a client: what its hooks print."""

    def __init__(self, tmp_path: Path) -> None:
        self.vault = write_vault(
            tmp_path / "Notes",
            "=== Memory/Shop.md\n- 2026-01-02 The shop's database is at port 5433. ^m1\n"
            "- 2026-01-03 Old words. [superseded:: 2026-01-04] ^m2\n"
            "=== Memory/Me.md\n---\nrecall: always\n---\n- 2026-01-02 Answer in English. ^m1\n"
            "=== Memory/Garden.md\n- 2026-01-02 Roses need clay. ^m1\n",
        )
        self.folder = tmp_path / "work" / "shop" / "src"
        (self.folder.parent / ".git").mkdir(parents=True)
        self.folder.mkdir()
        self.transcript = tmp_path / "transcript.jsonl"
        self.places = {"VAULTWIRE_STATE": str(tmp_path / "state"), "VAULTWIRE_CACHE": str(tmp_path / "cache")}

    def say(self, client: str) -> None:
        lines = [json.dumps(each, indent=2 if client.endswith("one record") else None) for each in TRANSCRIPTS[client]]
        self.transcript.write_text("\n".join(lines), encoding="utf-8")

    def hook(self, action: str, event: str, **more: Any) -> str:
        data = {
            "hook_event_name": event,
            "session_id": "s1",
            "cwd": str(self.folder),
            "transcript_path": str(self.transcript),
            **more,
        }
        ended = run_command("memory", action, "--vault", str(self.vault), stdin=json.dumps(data), **self.places)
        assert (ended.returncode, ended.stderr) == (0, "")
        return ended.stdout


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def test_a_session_begins_with_what_memory_has_of_the_project(session: Session) -> None:
    before = snapshot(session.vault)
    told = json.loads(session.hook("start", "SessionStart", source="startup"))["hookSpecificOutput"]
    assert told["hookEventName"] == "SessionStart"
    context = told["additionalContext"]
    assert "about 'shop'" in context
    assert "it gives no orders" in context
    assert context.splitlines()[1:] == [
        "- Me (2026-01-02): Answer in English.",
        "- Shop (2026-01-02): The shop's database is at port 5433.",
    ]
    assert snapshot(session.vault) == before
    assert not Path(session.places["VAULTWIRE_CACHE"]).exists()


def test_it_is_silent_where_there_is_nothing(session: Session, tmp_path: Path) -> None:
    for path in (session.vault / "Memory").iterdir():
        path.unlink()
    assert session.hook("start", "SessionStart", source="startup") == ""
    (session.vault / "Memory").rmdir()
    for action, event in (("start", "SessionStart"), ("compact", "PreCompact"), ("stop", "Stop")):
        assert session.hook(action, event) == ""
    assert not (tmp_path / "state" / "memory-offers.json").exists()


def test_the_start_is_at_most_fifteen_hundred_tokens(session: Session) -> None:
    lines = [
        f"- 2026-02-{1 + number % 28:02} The shop has {'many ' * 40}rules, number {number}. ^m{number}"
        for number in range(99)
    ]
    (session.vault / "Memory" / "Shop.md").write_text("\n".join(lines), encoding="utf-8")
    context = json.loads(session.hook("start", "SessionStart"))["hookSpecificOutput"]["additionalContext"]
    assert 4000 < len(context.encode()) <= 6000
    assert context.splitlines()[-1].startswith("… and ")


@pytest.mark.parametrize("client", [*TRANSCRIPTS])
def test_what_should_last_is_offered_once(session: Session, client: str) -> None:
    session.say(client)
    stop = "AfterAgent" if client.startswith("gemini") else "Stop"
    assert session.hook("stop", stop, stop_hook_active=True) == ""
    offer = json.loads(session.hook("stop", stop))
    assert offer["decision"] == "block"
    assert [line[2:] for line in offer["reason"].splitlines()[1:]] == SAID
    assert session.hook("stop", stop) == ""
    assert session.hook("stop", stop, session_id="s2") != ""


def test_before_and_after_compaction_nothing_is_lost(session: Session) -> None:
    session.say("claude-code")
    assert session.hook("compact", "PreCompact").splitlines()[1:] == [f"- {each}" for each in SAID]
    assert session.hook("compact", "PreCompress") == ""  # Gemini CLI takes no words there
    context = json.loads(session.hook("start", "SessionStart", source="compact"))["hookSpecificOutput"]
    assert all(each in context["additionalContext"] for each in SAID)


def test_what_memory_has_is_not_offered(session: Session) -> None:
    session.say("claude-code")
    notes = "\n".join(f"- {each} ^m{number}" for number, each in enumerate(SAID))
    (session.vault / "Memory" / "Rules.md").write_text(notes, encoding="utf-8")
    assert session.hook("stop", "Stop") == ""


def test_a_policy_hides_notes_from_hooks_too(session: Session, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[paths]\ndeny = ["Memory/Shop.md"]\n', encoding="utf-8")
    data = json.dumps({"cwd": str(session.folder)})
    ended = run_command(
        "memory", "start", "--vault", str(session.vault), "--policy", str(policy), stdin=data, **session.places
    )
    assert ended.returncode == 0
    assert "Answer in English" in ended.stdout
    assert "5433" not in ended.stdout


def test_nothing_stops_the_client(session: Session, tmp_path: Path) -> None:
    broken = write_vault(tmp_path / "Broken", "=== a.md\nx\n")
    (broken / "Memory").write_text("a file, not a folder", encoding="utf-8")
    bad_policy = tmp_path / "bad.toml"
    bad_policy.write_text("][", encoding="utf-8")
    vault = str(session.vault)
    for action in ("start", "compact", "stop"):
        for options in (
            ("--vault", str(tmp_path / "nowhere")),
            ("--vault", str(broken)),
            ("--vault", vault, "--policy", str(bad_policy)),
            ("--vault", vault, "--memory-folder", "/etc"),
            ("--vault", vault, "--tools", "nonsense"),
            ("--vault",),
            ("--nonsense",),
            (),
        ):
            ended = run_command(
                "memory", action, *options, stdin='{"session_id": "s"}', VAULTWIRE_VAULT="", **session.places
            )
            assert (ended.returncode, ended.stdout) == (0, ""), options
            assert len(ended.stderr.splitlines()) <= 1


def test_hostile_json_is_survived(session: Session) -> None:
    seed = 20261126
    chance = random.Random(seed)
    print(f"seed {seed}")  # noqa: T201 - to repeat a failure
    values: list[Any] = [None, 1, "", "\0", "/", "../..", str(session.vault), [], {}, "x" * 9999, "\ud800", True]
    texts = ["", "{", "[]", "null", "[" * 100_000, '"x"', "\0", "{}" * 9, "NaN"]
    names = ("hook_event_name", "session_id", "cwd", "transcript_path", "source", "stop_hook_active")
    texts += [json.dumps({name: chance.choice(values) for name in names}) for _ in range(40)]
    session.transcript.write_text(
        "[" * 5000 + "\n" + '{"type": "user", "message": 5}\n{"messages": [[[]]]}\n' + "\0\n", "utf-8"
    )
    texts.append(json.dumps({"transcript_path": str(session.transcript), "session_id": "s"}))
    before = snapshot(session.vault)
    for text in texts:
        for action in ("start", "compact", "stop"):
            ended = run_command("memory", action, "--vault", str(session.vault), stdin=text, **session.places)
            assert ended.returncode == 0
            assert len(ended.stderr.splitlines()) <= 1
    assert snapshot(session.vault) == before


@pytest.mark.parametrize(
    ("client", "file", "events"),
    [
        ("claude-code", ".claude/settings.json", ["SessionStart", "PreCompact", "Stop"]),
        ("codex", ".codex/hooks.json", ["SessionStart", "Stop"]),
        ("gemini-cli", ".gemini/settings.json", ["SessionStart", "AfterAgent"]),
    ],
)
def test_hooks_are_installed_and_taken_out(
    session: Session, tmp_path: Path, client: str, file: str, events: list[str]
) -> None:
    home = tmp_path / "home"
    path = home / file
    path.parent.mkdir(parents=True)
    own = '{\n  "a": 1,\n  "hooks": {\n    "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]\n  }\n}\n'
    path.write_text(own, encoding="utf-8")
    places = {**session.places, "HOME": str(home), "USERPROFILE": str(home), "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": ""}
    places |= {"CLAUDE_CONFIG_DIR": str(home / ".claude"), "CODEX_HOME": str(home / ".codex")}

    def install(*options: str) -> None:
        ended = run_command("install", client, "--hooks", *options, **places)
        assert ended.returncode == 0, ended.stderr

    def commands() -> dict[str, list[str]]:
        hooks = json.loads(path.read_text(encoding="utf-8"))["hooks"]
        return {event: [each["hooks"][0]["command"] for each in items] for event, items in hooks.items()}

    install("--vault", str(session.vault), "--dry-run")
    assert path.read_text(encoding="utf-8") == own
    install("--vault", str(session.vault))
    assert {event for event, lines in commands().items() if any(" memory " in line for line in lines)} == {*events}
    assert commands()["Stop"][0] == "say done"
    install("--undo")
    assert path.read_text(encoding="utf-8") == own
    install("--vault", str(session.vault))
    install("--vault", str(session.vault), "--memory-folder", "Mind")
    assert [len(commands()[event]) for event in events] == [1 + (event == "Stop") for event in events]
    path.write_text(path.read_text(encoding="utf-8").replace('"a": 1', '"a": 2'), encoding="utf-8")
    install("--undo")
    assert json.loads(path.read_text(encoding="utf-8")) == json.loads(own.replace('"a": 1', '"a": 2'))
    path.write_text('{"hooks": {"SessionStart": 5}}', encoding="utf-8")
    ended = run_command("install", client, "--hooks", "--vault", str(session.vault), **places)
    assert ended.returncode == 1
    assert "must be a list" in ended.stderr
    assert path.read_text(encoding="utf-8") == '{"hooks": {"SessionStart": 5}}'
