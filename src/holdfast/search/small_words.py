"""Small words of the languages that have them: they say nothing about what is looked for.

Folded, as in the index: without accents.
"""

from __future__ import annotations

_ENGLISH = (
    "a about after all also am an and any are aren as at be because been before being but by "
    "can cannot could couldn d did didn do does doesn doing don done during each either else "
    "for from get gets getting give given go goes got had hadn has hasn have haven having he "
    "her hers him his how i if in into is isn it its itself just let ll m made make makes many "
    "may me might more most much my myself no not of off on once one or other our ours out over "
    "own please re s said same say says shall she should shouldn since so some such t tell than "
    "that the their theirs them themselves then there these they this those through to too "
    "under until up upon us ve very was wasn we were weren what when where whether which while "
    "who whom whose why will with within without won would wouldn yes yet you your yours "
    "yourself"
)
_GERMAN = (
    "aber alle als also am an auch auf aus bei bin bis bitte da damit dann das dass dein dem "
    "den denn der des die diese diesem diesen dieser dieses doch dort du durch ein eine einem "
    "einen einer eines er es etwas fur hab habe haben hast hat hatte hatten hier ich ihm ihn "
    "ihr ihre im in ist ja jede jeder jetzt kann kein keine konnen man mein meine mich mir mit "
    "muss nach nicht noch nur ob oder sehr sein seine sich sie sind so soll um und uns unser "
    "unter vom von vor wann war waren warum was weil welche welcher welches wenn wer werden wie "
    "wieso wir wird wo wurde zu zum zur"
)
_SPANISH = (
    "a al algo como con cual cuales cuando cuanto de del desde donde dos el ella ellos en entre "
    "era es esa ese eso esta estan estas este esto estos fue ha han hasta hay he la las le les "
    "lo los mas me mi mis muy no nos o para pero por porque que quien quienes se ser si sin "
    "sobre son su sus tambien te tengo tiene tu tus un una unas uno unos y ya yo"
)
_FRENCH = (
    "a ai au aux avec avait avez avons c ce ces cet cette comme comment d dans de des donc dont "
    "du elle elles en est et etait etaient ete etre eu eux fait il ils j je l la le les leur "
    "leurs lui m ma mais me mes moi mon n ne nos notre nous on ont ou par pas plus pour "
    "pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se ses si son sont sous "
    "sur t ta te tes toi ton tu un une vos votre vous y"
)
_PORTUGUESE = (
    "a ao aos as com como da das de dela dele do dos e ela elas ele eles em entre era essa esse "
    "esta este eu foi foram ha isso isto ja la lhe mais mas me meu meus minha muito na nao nas "
    "nem no nos nossa nosso num numa o onde os ou para pela pelo por porque qual quais quando "
    "quanto que quem se sem ser seu seus sobre sua suas tambem te tem tenho ter um uma umas uns "
    "voce voces"
)
_ITALIAN = (
    "a ad agli ai al alla alle anche c che chi ci come con cosa cui da dal dalla dalle dei del "
    "della delle di dove e ed era gli ha hai hanno ho i il in io l la le lei lo loro lui ma mi "
    "mia mio ne negli nei nel nella noi non o per perche piu quale quali quando quanto quella "
    "quello questa questo qui se sei si sia siamo sono su sua sul sulla suo ti tra tu tuo tutti "
    "un una uno vi voi"
)
_RUSSIAN = (
    "а без бы был была были было быть в вам вас вот все всё вы где да для до его ее её если "
    "есть еще ещё же за здесь и из или им их к как какая какие какой кем когда кого кто ли "
    "между меня мне мой моя мы на над нам нас не него нее нет ни но ну о об он она они оно от "
    "по под почему при с сейчас со так там тебя то тоже только ты у уже что чем чего чтобы эта "
    "эти это этот я"
)
_TURKISH = (
    "acaba ama ben beni bir biri bu bunu cok daha de da diye en gibi hangi hem her icin ile ise "
    "kim ki mi ne neden nerede nasil o olan olarak oldu sen siz su ve veya ya zaman"
)
_DUTCH = (
    "aan al als bij dan dat de der die dit door een en er had heb heeft het hij hoe ik in is je "
    "kan maar me met mijn naar niet nog of om ook op over te toen tot uit van voor waar waarom "
    "wanneer was wat we welke werd wie wij wordt ze zich zijn"
)

ENGLISH = frozenset(_ENGLISH.split())
OTHERS = tuple(
    frozenset(words.split())
    for words in (_GERMAN, _SPANISH, _FRENCH, _PORTUGUESE, _ITALIAN, _RUSSIAN, _TURKISH, _DUTCH)
)


def small_words(words: list[str]) -> frozenset[str]:
    """Return those of the words that are small in the language that has most of them.

    English where two are level. One word alone proves no other language in Latin letters: `die`.
    """
    seen = frozenset(words)
    best = seen & ENGLISH
    for other in OTHERS:
        found = seen & other
        if len(found) > len(best) and (len(found) > 1 or not "".join(found).isascii()):
            best = found
    return best
