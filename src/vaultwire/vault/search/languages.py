"""The little words of ten languages, and the language that a question is in. Pure data, and who looks it up.

A question is full of words that every note has. They tell in which language it is asked, and nothing of what it is about.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from vaultwire.vault.search.text_forms import fold_case, strip_diacritics


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
