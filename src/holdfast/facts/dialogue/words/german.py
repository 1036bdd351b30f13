"""German."""

from __future__ import annotations

from holdfast.facts.dialogue.vocabulary import Vocabulary

GERMAN = Vocabulary(
    language="de",
    forbids=(
        "nie|niemals|nie mehr|immer|auf keinen fall|keinesfalls|keineswegs|"
        "unter keinen umständen|in jedem fall|auf jeden fall|unbedingt|zwingend|darf nicht|"
        "dürfen nicht|darfst du nicht|darf kein|darf keine|muss|müssen|musst|soll nicht|"
        "sollen nicht|sollte nicht|sollst nicht|sollten nicht|bitte nicht|bitte keine|bitte kein|"
        "verboten|nicht erlaubt|untersagt|pflicht|verpflichtend|ausnahmslos|stets|"
        "nicht verwenden|nicht benutzen|nicht ändern|nicht löschen"
    ),
    limits=(
        "nur|ausschließlich|lediglich|höchstens|maximal|mindestens|minimal|nicht mehr als|"
        "nicht weniger als|bis zu|statt|anstatt|anstelle|stattdessen|sondern|lieber|bevorzuge|"
        "bevorzugt|bevorzugen|vorzugsweise|am liebsten|vermeide|vermeiden|achte darauf|"
        "achten sie darauf|achte|darauf achten|stelle sicher|stell sicher|sicherstellen|"
        "sicher stellen|stellen sie sicher|ohne|außer|solange|sofern|bevor du|behalte|"
        "beibehalten|beibehalte|behalten|lass|lasse|wichtig|genau|exakt|kein|keine|keinen|keinem|"
        "keiner|keinerlei|nicht mehr|darf|dürfen|erst wenn|halte dich|verzichte|verzichten|"
        "grundsätzlich|standardmäßig|notwendig|erforderlich|benötigt|muss nicht|limit|grenze"
    ),
    hints=(
        "soll|sollen|sollte|sollten|sollst|möchte|möchten|ich will|wir wollen|brauche|brauchen|"
        "benutze|verwende|verwenden|nutze|nutzen|nimm|nicht|nichts|niemand|ignoriere|überspringe|"
        "entferne|bitte verwende"
    ),
    idle="ich weiß nicht|weiß ich nicht|nicht nur|keine ahnung|kein problem|nicht sicher|ob nicht",
    shared="minimal|maximal|limit|da|was war",
    asks=(
        "was ist|was sind|was war|was soll|was macht|was passiert|welche|welcher|welches|welchen|"
        "wie kann|wie können|wie soll|wie viele|wie viel|wie lange|wie geht|wie funktioniert|"
        "wie ist|warum|wieso|weshalb|wo ist|wo sind|wo liegt|wann|wer ist|wer hat|kannst du|"
        "könntest du|können sie|könnten sie|können wir|soll ich|sollen wir|gibt es|ist das|"
        "ist es|sind das|hast du|haben wir|möchten sie|möchtest du|willst du|darf ich"
    ),
    decides=(
        "ich verwende|ich nutze|ich benutze|ich nehme|wir verwenden|entschieden|entscheidung|"
        "entscheide mich|statt|anstatt|anstelle|stattdessen|bewusst|absichtlich|empfehle|"
        "empfehlung|schlage vor|bevorzuge|beste lösung|beste option|umgestellt auf|wechsle"
    ),
    finds=(
        "die ursache|ursache ist|ursache war|grund dafür|der grund|das problem ist|"
        "das problem war|das problem liegt|der fehler ist|der fehler war|der fehler liegt|"
        "fehlerursache|stellt sich heraus|stellte sich heraus|herausgestellt|die lösung ist|"
        "liegt daran|lag daran|verursacht|festgestellt|gefunden|deshalb|deswegen|schlägt fehl|"
        "fehlt|existiert nicht|wird nicht unterstützt|nicht möglich"
    ),
    leans=(
        "ich werde|wir sollten|wir müssen|ich habe|funktioniert|liefert|gibt|muss|sollte|nicht|nur"
    ),
    reasons="weil|da|denn|damit|um zu|aufgrund|wegen|daher|somit|sonst|andernfalls",
    stops=(
        "der|die|das|und|ist|nicht|ich|du|sie|wir|ein|eine|einen|mit|für|auf|von|zu|den|dem|des|"
        "es|bitte|wie|aber|auch|noch|wenn|oder|kann|wird|sind|im|dass|werden|haben|mir|mich|"
        "warum|soll|danke"
    ),
)
