"""Questions and sentences in plain words: what they ask for, and how well a note answers. Pure. It knows no vault.

"What did I write about tomatoes?" asks for tomatoes. Little words and punctuation count for nothing, and no note need have
all other words. A short word is found as it is; one of five letters and more also in its other forms and inside longer words,
where it counts for less. A word counts by its rarity in the vault; more in a name or alias, a heading or a tag; and words count
more if they stand in one line. Queries with words that are no question, and all operators, mean what they mean in Obsidian.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from vaultwire.vault.search.note_parts import NoteParts
from vaultwire.vault.search.query import CONNECTIVES, And, Expression, Or, Query, Word, occurrences
from vaultwire.vault.search.terms import UNACCENTED, Text, TextForms, fold_case, is_word_character, strip_diacritics
from vaultwire.vault.value_types import ScorePart

# The little words of ten languages, and the language that a question is in. Pure data, and who looks it up.
#
# A question is full of words that every note has. They tell in which language it is asked, and nothing of what it is about.


class Language(NamedTuple):
    """A language: its little words, those that ask, what people ask notes for, and little words that no other one has."""

    name: str
    little: str
    asking: str
    requests: str
    typical: tuple[str, ...]


LANGUAGES = (
    Language(
        "English",
        "a about after again all also am an and another any anything are aren as at be because been before being "
        "between both but by can cannot could couldn did didn do does doesn doing don done down during each ever "
        "every everything few for from further get gets getting go going got had hadn has hasn have haven having he "
        "her here hers him his i if in into is isn it its just let like ll me more most mustn my myself need no nor "
        "not now of off on once only or other our ours out over own please re s same shall she should shouldn so some "
        "something such t than that the their theirs them then there these they this those through to too under until "
        "up upon us use used using ve very want was wasn we were weren will with won would wouldn yes yet you your "
        "yours",
        "what when where which who whom whose why how",
        "find give know look mention mentioned note notes read say said says search show tell told write written wrote",
        ("the", "and", "with", "that"),
    ),
    Language(
        "German",
        "ab aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bin bis bist da "
        "dabei dafür damit dann daran das dass dazu dein deine dem den denn der des dich die dies diese diesem diesen dieser "
        "dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer für gab gegen geht gibt hab "
        "habe haben hat hatte hatten hier hin ich ihm ihn ihr ihre ihrem ihren im in ins ist ja jede jedem jeden jeder jedes "
        "kann kannst kein keine keinen können könnte lassen machen mal man mein meine meinem meinen meiner mich mir mit muss "
        "musst müssen nach nicht noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner seit sich sie sind so "
        "soll sollen sollte sondern über um und uns unser unsere unter viel viele vom von vor war waren warst wenn werde "
        "werden wie wieder will wir wird wirst wo wollen wurde würde wurden zu zum zur zwischen darf dürfen brauche brauchen",
        "was wann wo wohin woher welche welchem welchen welcher welches wer wem wen wessen warum wieso weshalb wie wieviel "
        "wogegen womit wofür worüber woran",
        "finde finden geschrieben lange notiert notiz notizen sag sage schreiben schrieb steht stehen suche such weiß wissen "
        "zeig zeige heißt heißen",
        ("und", "nicht", "ist", "auch"),
    ),
    Language(
        "French",
        "à ai as au aucun aux avais avait avant avec avez avoir avons c ce ceci cela ces cet cette ceux chez comme d dans de "
        "depuis des dois doit donc du elle elles en encore entre es est et étaient était été être eu eux faire fait faut "
        "ici il ils j je l la le les leur leurs lui m ma mais me même mes moi mon n ne nos notre nous on ont ou où par pas "
        "pendant peut plus pour puis qu sa sans se ses si son sont sous suis sur t ta te tes toi ton tous tout toute très tu "
        "un une vos votre vous y",
        "que quel quelle quelles quels qui quoi quand où comment combien pourquoi lequel laquelle est-ce",
        "cherche dis dit écrit écrire lire montre note noté notes sais trouve trouver",
        ("dans", "les", "une", "avec"),
    ),
    Language(
        "Spanish",
        "a al algo algunos ante antes así aún cada con contra de del desde donde dos durante e el él ella ellas ellos en "
        "entre era eran eres es esa ese eso esta está están este esto estoy fue fueron ha había han has hasta hay he la las "
        "le les lo los más me mi mis mucho muy nada ni no nos nosotros o os otra otro para pero poco por porque puede puedo "
        "pues se sea ser si sí sin sobre son soy su sus también tan te tengo ti tiene tu tus un una uno unos y ya yo debo "
        "hacer hago",
        "qué quién quiénes cuál cuáles cuándo cuánto cuánta cuántos cuántas dónde cómo que quien cual cuando cuanto donde",
        "busca buscar di dice encontrar escribí escribir escrito leer muestra nota notas sé sabes",
        ("los", "las", "pero", "más"),
    ),
    Language(
        "Italian",
        "a abbiamo ad agli ai al alla alle allo anche avere aveva c che ci col come con contro così da dagli dai dal dalla "
        "dalle dei del della delle dello deve devo di dopo e è ed era erano essere fa fare fra fu gli ha hai hanno ho i il "
        "in io l la le lei li lo loro lui ma mi mia mie miei mio ne nei nel nella nelle no noi non nostra nostro o ogni per "
        "però più poi posso prima può quella quelle quelli quello questa queste questi questo se sei senza si sia siamo sono "
        "sopra sotto sta su sua sue sugli sui sul sulla suo suoi te ti tra tu tua tuo tutti tutto un una uno vi voi",
        "che chi cosa cos quale quali qual quando quanto quanta quanti quante dove come perché",
        "cerca dice dimmi leggere mostra nota note scritto scrivere so trovare",
        ("che", "della", "gli", "sono"),
    ),
    Language(
        "Portuguese",
        "a ao aos as até com como da das de dela dele depois do dos e é ela elas ele eles em entre era essa esse esta está "
        "este eu faço fazer foi foram há isso isto já lhe mais mas me mesmo meu meus minha minhas muito na nas não nem no "
        "nos nós nossa nosso num numa o os ou para pela pelas pelo pelos pode por posso que se sem ser seu seus só sobre sou "
        "sua suas são também te tem tenho ter teu tu tua um uma você vocês devo",
        "que quê quem qual quais quando quanto quanta quantos quantas onde como porque por-quê",
        "diz encontrar escrevi escrever escrito ler mostra nota notas procurar sei",
        ("não", "uma", "são", "mais"),
    ),
    Language(
        "Dutch",
        "aan al alle als altijd ben bij daar dan dat de den der deze die dit doe doen door dus een en er ge geen had hadden "
        "heb hebben heeft hem het hier hij hoe hun ik in is ja je jij jou jouw kan kon kunnen maar me meer men met mij mijn "
        "moet moeten na naar niet niets nog nu of om omdat onder ons onze ook op over te tegen toch toen tot u uit uw van "
        "veel voor want waren was we wel werd wij word worden zal ze zelf zich zij zijn zo zonder zou",
        "wat wie waar wanneer welk welke waarom hoe hoeveel waarmee",
        "geschreven lees noteren notitie notities schreef schrijven staat toon vind vinden weet zoek",
        ("het", "een", "niet", "voor"),
    ),
    Language(
        "Swedish",
        "alla allt att av blev bli blir de dem den denna deras dess det detta dig din dina ditt du där då efter ej eller en "
        "er era ett från för få får göra gör ha hade han hans har henne hennes hon honom här i icke in inom inte jag kan "
        "kunde man med mellan men mig min mina mitt mot mycket måste ni nu när någon något några och om oss på samma sedan "
        "sig sin sina sitt ska skulle som så till under upp ut utan var vi vid vår våra är över",
        "vad vem vems var vart när vilken vilket vilka varför hur",
        "anteckning anteckningar hitta läsa skrev skriva skrivit sök visa vet",
        ("och", "att", "inte", "är"),
    ),
    Language(
        "Polish",
        "a aby ale bez bo by była było być ci co czy dla do go i ich ile im in ja jak jako je jego jej jest jestem jeszcze "
        "już lub ma mam mi mnie mój moja moje może mogę można my na nad nas nie nim niż no o od on ona one oni oraz po pod "
        "przed przez przy są się swój ta tak także tam te tego tej ten to tu tych ty tym u w wy z za ze że żeby muszę",
        "co kto kogo kiedy gdzie który która które jaki jaka jakie dlaczego jak ile czyj",
        "napisać napisałem napisałam notatka notatki pokaż szukaj wiem znajdź znaleźć",
        ("się", "nie", "jest", "dla"),
    ),
    Language(
        "Russian",
        "а без бы был была были было быть в вам вас весь во вот все всё вы да для до его ее её если есть еще ещё же за из "  # noqa: RUF001
        "или им их к как ко когда ли либо мне могу может мой моя мои мы на над надо наш не него нет ни но ну о об однако он "  # noqa: RUF001
        "она они оно от по под при с со так также такой там то того тоже только ты у уже чем что чтобы эта эти это я нужно",  # noqa: RUF001
        "что кто кого кому когда где куда откуда какой какая какие какое почему зачем как сколько чей",
        "записал записала заметка заметки искать найди найти написал написала покажи писал знаю",
        ("не", "что", "это", "для"),
    ),
)


class Words(NamedTuple):
    """The words of a language as they are compared: little ones and those that ask, those that ask, those of requests."""

    little: frozenset[str]
    asking: frozenset[str]
    requests: frozenset[str]


def bare(text: str) -> str:
    """Return a text without case and diacritics: ``quien`` stands for ``Quién``."""
    return strip_diacritics(fold_case(text))


@cache
def words_of(language: Language) -> Words:
    """Return the words of a language."""
    asking = frozenset(bare(language.asking).split())
    return Words(asking | frozenset(bare(language.little).split()), asking, frozenset(bare(language.requests).split()))


def language_of(words: Sequence[str]) -> tuple[Language | None, int]:
    """Return the language with most of the words as its little ones, the first of equals, and how many these are.

    The words are bare.
    """
    most, language = max(
        ((sum(word in words_of(each).little for word in words), each) for each in LANGUAGES), key=lambda found: found[0]
    )
    return (language, most) if most else (None, 0)


# The plain words of a query, and the query for notes that have only some of them. Pure. It knows no vault.
#
# A query of words is often a question: "how do I resolve conflicts between devices?". No note need have all of its words.
# Operators, negations, alternatives and regular expressions stay conditions: every note that is found meets them.

# What ends a sentence or a part of it. Hardly anybody looks for it.
_SENTENCE_MARKS = "?!.,;"
# Of longer texts the longest words count: they tell more.
_MAX_WORDS = 20
# So many words are a sentence.
_PLAIN_SENTENCE = 2


class PlainWords(NamedTuple):
    """The words and phrases that a query asks for, each once, and its other conditions."""

    words: tuple[Text, ...]
    conditions: tuple[Expression, ...]

    def any_of(self, query: Query, sought: tuple[Text, ...], words: tuple[Text, ...]) -> Query:
        """Return the query for notes that meet the conditions and have one of the words ``sought``.

        What is found says which of ``words`` it lacks.
        """
        return Query(query.text, And((*self.conditions, Or(sought))), words)


def plain_words(query: Query) -> PlainWords:
    """Return the plain words of a query. Words lose the punctuation around them: ``devices?`` stands for ``devices``.

    The ``AND`` and ``NOT`` of other searches are no words: hints say how to write them.
    """
    words: dict[str, Text] = {}
    conditions: list[Expression] = []
    for part in all_parts(query.expression):
        if not isinstance(part, Text) or part.match_case:
            conditions.append(part)
            continue
        if not part.full_words and part.text in CONNECTIVES:
            continue
        word = part if part.full_words else part._replace(text=_without_punctuation(part.text))
        if word.text:
            words.setdefault(fold_case(word.text), word)
    longest = sorted(words.values(), key=lambda word: -len(word.text))[:_MAX_WORDS]
    return PlainWords(tuple(word for word in words.values() if word in longest), tuple(conditions))


def without_sentence_marks(query: Query) -> Query:
    """Return the query of a sentence without the marks after its words: ``which devices?`` finds ``devices`` as well.

    One word alone stays as it is, and so do phrases and all other parts.
    """
    parts = all_parts(query.expression)
    if sum(_is_word(part) for part in parts) < _PLAIN_SENTENCE:
        return query
    bare = [
        part._replace(text=part.text.rstrip(_SENTENCE_MARKS) or part.text)
        if isinstance(part, Text) and _is_word(part)
        else part
        for part in parts
    ]
    return query if bare == parts else query._replace(expression=And(tuple(bare)))


def _is_word(part: Expression) -> bool:
    return isinstance(part, Text) and not part.full_words and not part.match_case


def all_parts(expression: Expression) -> list[Expression]:
    """Return the parts that must all be true."""
    if not isinstance(expression, And):
        return [expression]
    return [inner for part in expression.parts for inner in all_parts(part)]


def _without_punctuation(word: str) -> str:
    start, end = 0, len(word)
    while start < end and not _is_in_words(word[start]):
        start += 1
    while end > start and not _is_in_words(word[end - 1]):
        end -= 1
    return word[start:end]


def _is_in_words(character: str) -> bool:
    """Tell whether the character is a part of words: a letter, digit or mark, also of scripts without spaces."""
    return is_word_character(character) or character.isalnum()


_APOSTROPHE = re.compile("['\u2019]")
_MARKS = ("?", "\uff1f")
# So many words are a question if they end with a mark, or begin with a word that asks; and so many are a sentence, if enough
# of them are little.
_MARKED, _ASKED, _SENTENCE, _LITTLE = 2, 3, 5, 0.35
# What people ask notes for tells little: "write", "show".
_REQUEST = 0.2
# What a word counts in a name or alias, a heading and a tag, of what it counts at most in the text.
_NAME, _HEADING, _TAG = 1.5, 0.6, 0.6
# A word counts for more if it is there more often, up to a bound; in a long note less.
_FREQUENCY, _USUAL_LENGTH, _LONGEST = 1.2, 2_000, 10.0
_NEARNESS = 1.0
_LEAST_COVERAGE = 0.3


class Question(NamedTuple):
    """What a question asks for, the conditions beside it, and its language."""

    words: tuple[Word, ...]
    conditions: tuple[Expression, ...]
    language: Language | None

    @property
    def text(self) -> str:
        """The words."""
        return " ".join(word.text for word in self.words)

    @property
    def needed(self) -> tuple[Word, ...]:
        """The words that a note must have to have all of them."""
        return needed_of(self.words)


class Answer(NamedTuple):
    """How well a note answers a question, its lines with a word (from 1) with what they count, and the words it lacks.

    ``parts`` are those of the score.
    """

    score: float
    lines: dict[int, float]
    columns: dict[int, int]
    missing: tuple[str, ...]
    parts: tuple[ScorePart, ...]


def needed_of(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return the words that a note must have to have all: those of requests, such as "show", only if there are no others."""
    return tuple(word for word in words if not word.is_request) or words


def sought(word: Word) -> Expression:
    """Return what finds the notes with a word like this one."""
    # As written: the text index puts first what has the same diacritics.
    written = fold_case(word.text)
    written = written if len(written) == len(word.bare) else word.bare
    root = written[: len(word.root)]
    if word.is_whole:
        return Text(written, word.is_phrase, match_case=False)
    forms = (written, root) if word.has_parts else (root, root + "s")
    return Or(tuple(Text(form, not word.has_parts, match_case=False) for form in dict.fromkeys(forms)))


def question_in(query: Query) -> Question | None:
    """Return the question or sentence that a query is; None if it is none, or asks for nothing but little words."""
    plain = plain_words(query)
    words = [word for word in plain.words if not word.full_words]
    if any(isinstance(part, Or) for part in plain.conditions) or not words:
        return None
    pieces = [max(_APOSTROPHE.split(word.text), key=len) for word in words]
    compared = [bare(piece) for piece in pieces]
    language, little = language_of(compared)
    if language is None or not _is_question(query.text, compared, little, language):
        return None
    known = words_of(language)
    asked = [
        Word(piece, word, *((_REQUEST, False, True) if word in known.requests else ()))
        for piece, word in zip(pieces, compared, strict=True)
        if word not in known.little
    ]
    phrases = [Word(word.text, bare(word.text), is_phrase=True) for word in plain.words if word.full_words]
    if not (asked or phrases):
        return None
    return Question((*asked, *phrases), plain.conditions, language)


def _is_question(text: str, words: list[str], little: int, language: Language) -> bool:
    if len(words) >= _MARKED and any(part.endswith(_MARKS) for part in text.split()):
        return True
    if len(words) >= _ASKED and words[0] in words_of(language).asking:
        return True
    return len(words) >= _SENTENCE and little >= len(words) * _LITTLE


def answer(words: tuple[Word, ...], note: NoteParts) -> Answer:
    """Return how well a note answers a question for these words. Their weights say how rare they are."""
    aliases, tags = (_property(note, name) for name in ("aliases", "tags"))
    names = [note.name.get(UNACCENTED), *aliases]
    parts: list[ScorePart] = []
    found = 0.0
    lines: dict[int, float] = {}
    columns: dict[int, int] = {}
    missing: list[str] = []
    needed = needed_of(words)
    for word in words:
        likeness, named = max(_in_name(word, each) for each in names)
        best, often, place = _in_text(word, note, lines, columns)
        if not (likeness or best) and word in needed:
            missing.append(word.text)
        tagged = max((_TAG * _in_name(word, tag)[0] for tag in tags), default=0.0)
        places = (("name", named), ("text", often), ("tag" if tagged > place else "heading", max(place, tagged)))
        parts += [ScorePart(word.text, where, word.weight * counts, word.weight) for where, counts in places if counts]
        found += word.weight * max(likeness, best)
    total = sum(word.weight for word in words)
    top = note.frontmatter_lines
    nearest = max((value for number, value in lines.items() if number > top), default=0.0)
    coverage = min(found / total, 1.0) if total else 0.0
    together = max(0.0, nearest - max((word.weight for word in words), default=0.0))
    if together:
        parts.append(ScorePart("", "words in one line", _NEARNESS * together))
    whole = sum(part.score for part in parts)
    score = whole * (_LEAST_COVERAGE + (1 - _LEAST_COVERAGE) * coverage)
    if score != whole:
        parts.append(ScorePart("", "words that it lacks", score - whole))
    return Answer(score, lines, columns, tuple(missing), tuple(parts))


def _property(note: NoteParts, name: str) -> list[str]:
    texts = note.frontmatter.texts(name) if note.frontmatter_lines else []
    return [TextForms(text).get(UNACCENTED) for text in texts]


def _in_name(word: Word, name: str) -> tuple[float, float]:
    """Return the best likeness of the word in a name, and what it counts: more, the less else the name has."""
    best = max((likeness for _, likeness, _ in occurrences(word, name)), default=0.0)
    return best, best * _NAME * (0.5 + 0.5 * min(1.0, len(word.bare) / max(len(name), 1)))


def _in_text(
    word: Word, note: NoteParts, lines: dict[int, float], columns: dict[int, int]
) -> tuple[float, float, float]:
    """Return the best likeness, what the frequency counts, and the place, of a word in a text; add its lines."""
    text = note.body.get(UNACCENTED)
    best = often = place = 0.0
    likeness_of: dict[int, float] = {}
    number, counted, start_of_line = 1, 0, 0
    for position, likeness, is_tag in occurrences(word, text):
        number += text.count("\n", counted, position)
        counted = position
        best, often = max(best, likeness), often + likeness
        if likeness > likeness_of.get(number, 0.0):
            likeness_of[number] = likeness
            start_of_line = text.rfind("\n", 0, position) + 1
            columns.setdefault(number, position - start_of_line)
            end = text.find("\n", position)
            line = text[start_of_line : end if end >= 0 else None]
            if place < _HEADING * likeness and note.is_heading(number - 1, line):
                place = _HEADING * likeness
        if is_tag:
            place = max(place, _TAG * likeness)
    for number, likeness in likeness_of.items():
        lines[number] = lines.get(number, 0.0) + word.weight * likeness
    length = min(len(text) / _USUAL_LENGTH, _LONGEST)
    return best, often / (often + _FREQUENCY * (0.5 + 0.5 * length)) if often else 0.0, place
