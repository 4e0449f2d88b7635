"""A year of conversations: what was remembered is recalled by words alone, no subject is there twice, all can be undone."""

from __future__ import annotations

import os
import random
from datetime import date, timedelta
from pathlib import Path

import pytest

from support.calls import DESCRIPTIONS, call
from support.vaults import open_vault, snapshot, write_vault
from vaultwire.memory.keeping import Memory
from vaultwire.memory.ranking import subject_named
from vaultwire.toolkit.catalog import lean_schema, lean_text
from vaultwire.toolkit.phrases import rough_tokens
from vaultwire.vault.caller import Caller
from vaultwire.vault.links.likeness import letters_of
from vaultwire.vault.value_types import NO_PROGRESS

# Subject as first named, the fact, and how somebody asks for it months later, in other words.
TASKS = (
    ("Ana", "Ana takes her tea without milk.", "how does Ana drink tea?"),
    ("Ana", "Ana's birthday is on 14 March.", "when is the birthday of Ana?"),
    ("Ana", "Ana is allergic to walnuts.", "which nuts must I not put into a cake for Ana?"),
    ("Ana", "Ana works at the harbour office on weekdays.", "where does Ana work?"),
    ("Garden", "Tomatoes go to the south wall because the bed is deeper there.", "why are the tomatoes at the wall?"),
    ("Garden", "The garden fence is 1.8 m high, as the town allows.", "what height may the fence have?"),
    ("Garden", "Slugs stay away since copper tape is around the raised bed.", "what helped against slugs?"),
    ("Garden", "The water tap outside is closed from November to March.", "when do we close the tap outside?"),
    ("Boat", "The boat's engine needs 10W-40 oil, two litres.", "which oil does the engine of the boat take?"),
    ("Boat", "The mooring contract ends on 30 September.", "until when does the mooring contract run?"),
    ("Boat", "The bilge pump was replaced after the storm in April.", "what happened to the bilge pump?"),
    ("Shelf", "The kitchen shelf is made of oak, 120 cm long.", "what wood is the shelf in the kitchen?"),
    (
        "Shelf",
        "We decided on hidden brackets, because visible ones collect grease.",
        "why did we choose hidden brackets?",
    ),
    (
        "Database",
        "The orders database runs on PostgreSQL 16 at port 5433.",
        "on which port does the orders database listen?",
    ),
    ("Database", "Migrations are written by hand, never by the ORM.", "do we let the ORM write migrations?"),
    ("Database", "Backups of the database are tested on the first Monday of a month.", "how often do we test backups?"),
    ("Deploy", "Deploys happen on Tuesdays and never before a holiday.", "on which weekday do we deploy?"),
    ("Deploy", "A rollback needs the script in ops/rollback.sh and a second person.", "what do I need for a rollback?"),
    ("Deploy", "Feature flags are removed two weeks after a release.", "when should feature flags be removed?"),
    (
        "Code style",
        "Functions in the billing module raise exceptions, they do not return error codes.",
        "exceptions or error codes in billing?",
    ),
    ("Code style", "Tests use real files, no mocks of our own code.", "may I mock our own code in tests?"),
    ("Code style", "Line length is 120 characters in Python files.", "how long may a line of Python be?"),
    ("Thesis", "The supervisor of the thesis is Professor Lindqvist.", "who supervises the thesis?"),
    ("Thesis", "Chapter three waits for the interview transcripts.", "what does chapter three wait for?"),
    ("Thesis", "Citations follow the Chicago style with footnotes.", "which citation style does the thesis have?"),
    ("Travel", "Train seats are booked by the window in the quiet carriage.", "where do I like to sit in a train?"),
    ("Travel", "The passport expires in May 2029.", "when does my passport expire?"),
    ("Travel", "The hotel in Lisbon had mould; do not book it again.", "which hotel should we not book again?"),
    ("Health", "Penicillin causes a rash, so ask for another antibiotic.", "which antibiotic is bad for me?"),
    ("Health", "The dentist is Doctor Okafor in Mill Street.", "who is my dentist?"),
    ("Health", "Physiotherapy is on Thursdays at eight in the morning.", "when is physiotherapy?"),
    ("Kids", "Mila has swimming on Wednesdays and needs the blue bag.", "what does Mila need for swimming?"),
    ("Kids", "Jonas reads only books with dragons at the moment.", "what books does Jonas read?"),
    ("Kids", "The school asks for absences before 7:45 by phone.", "how do I report an absence to the school?"),
    ("Recipes", "The sourdough rises for fourteen hours in the cellar.", "how long does sourdough rise?"),
    (
        "Recipes",
        "Grandmother's soup has lovage instead of celery.",
        "what is in the soup of grandmother instead of celery?",
    ),
    ("Music", "The cello's A string is a Jargar medium.", "which A string is on the cello?"),
    ("Music", "Choir rehearsals moved to the old library.", "where are choir rehearsals now?"),
    (
        "Money",
        "The tax adviser wants receipts by the end of January.",
        "by when does the tax adviser want the receipts?",
    ),
    (
        "Money",
        "The savings account for the roof has to stay above 4000 euros.",
        "how much must stay in the account for the roof?",
    ),
)
# Other things said of the same subjects: the answers are in the midst of them.
NOISE = (
    "{subject}: talked about it on the phone with {who}, nothing decided about the {thing}.",
    "{who} asked about {subject} again and wants to see the {thing} in {month}.",
    "The {thing} for {subject} costs about {number} euros, {who} says.",
    "{who} prefers the {thing} in {colour} when it comes to {subject}.",
    "In {month} the {thing} was moved, {who} helped with {subject}.",
    "{subject} takes {number} hours a week since {month}.",
)
WHO = ("Ana", "Mila", "Jonas", "Professor Lindqvist", "the neighbour", "Doctor Okafor", "the bank", "Pedro")
THINGS = (
    "fence",
    "engine",
    "contract",
    "tea",
    "train",
    "school",
    "database",
    "soup",
    "string",
    "account",
    "shelf",
    "script",
)
MONTHS = ("January", "April", "June", "September", "November")
COLOURS = ("blue", "oak", "copper", "grey")


def spelt(name: str, chance: random.Random) -> str:
    """Return a subject's name as somebody may write it the next time; often not at all."""
    ways = (name, name.lower(), name.upper(), f"[[{name}]]", f"Memory/{name}", f" {name}. ", f"{name}!")
    return chance.choice(ways)


def test_a_year(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seed = int(os.environ.get("MEMORY_SEED", "1"))
    chance = random.Random(seed)
    root = tmp_path / "Notes"
    write_vault(root, "=== Home.md\nMy notes.\n")
    before = snapshot(root)
    day = [date(2026, 1, 1)]
    vault = open_vault(root, today=lambda: day[0]).used_by(Caller("claude-code"), "remember")
    sessions: list[list[int]] = []
    written: dict[str, str] = {}
    for number, (subject, fact, _) in enumerate(chance.sample(TASKS, len(TASKS))):
        day[0] = date(2026, 1, 1) + timedelta(days=9 * number + chance.randrange(8))
        used = [rough_tokens("\n".join(call(vault, "recall", query=subject).texts))]
        for text in [fact, *(noise(subject, chance) for _ in range(chance.randrange(6, 12)))]:
            named = spelt(subject, chance)
            answer = call(vault, "remember", text=text, subject=named)
            if not answer.data["written"]:  # nearly what another line of noise says
                answer = call(vault, "remember", text=text, subject=named, how="extend")
            if text == fact:
                written[fact] = answer.data["entry"]
            used.append(rough_tokens("\n".join(answer.texts)))
        sessions.append(used)
    day[0] = date(2026, 12, 31)
    right, missed = 0, []
    for _, fact, question in TASKS:
        recalled = [each["text"] for each in call(vault, "recall", query=question, limit=5).data["entries"]]
        right += fact in recalled
        missed += [question] if fact not in recalled else []
    memory = Memory(vault, "Memory", NO_PROGRESS)
    names = [subject.name for subject in memory.subjects]
    listed = sum(
        rough_tokens(f"{each}{lean_text(DESCRIPTIONS[each]['description'])}{lean_schema(DESCRIPTIONS[each])}")
        for each in ("remember", "recall", "forget")
    )
    with capsys.disabled():
        print(  # noqa: T201 - the figures are for a person
            f"\nmemory, seed {seed}: recall@5 {right}/{len(TASKS)} among {len(memory.entries)} entries of {len(names)} "
            f"subjects; tokens: {listed} listed, {sum(map(sum, sessions)) // len(sessions)} a session of "
            f"{sum(map(len, sessions)) / len(sessions):.0f} calls; missed: {missed}"
        )
    assert sorted(map(letters_of, names)) == sorted({letters_of(subject) for subject, _, _ in TASKS})
    assert all(
        subject_named(name, [each for each in memory.subjects if each.name != name])[0] is None for name in names
    )
    assert len(written) == len(TASKS)
    assert right >= 0.9 * len(TASKS), missed
    for name in chance.sample([*written.values()], 5):
        call(vault, "forget", name=name)
    changes = [each["change"] for each in call(vault, "list_changes", limit=1000).data["changes"]]
    for start in range(0, len(changes), 50):
        call(vault, "undo_changes", changes=changes[start : start + 50])
    assert snapshot(root) == before


def noise(subject: str, chance: random.Random) -> str:
    return chance.choice(NOISE).format(
        subject=subject,
        who=chance.choice(WHO),
        thing=chance.choice(THINGS),
        month=chance.choice(MONTHS),
        colour=chance.choice(COLOURS),
        number=chance.randrange(2, 90),
    )
