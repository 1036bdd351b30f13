"""Spanish."""

from __future__ import annotations

from holdfast.facts.dialogue.vocabulary import Vocabulary

SPANISH = Vocabulary(
    language="es",
    forbids=(
        "nunca|jamás|siempre|no debe|no debes|no deben|no deberías|no debería|no deberían|debe|"
        "debes|deben|no uses|no use|no usar|no utilices|no utilizar|no hagas|no hacer|no cambies|"
        "no cambiar|no modifiques|no modificar|no toques|no tocar|no borres|no borrar|"
        "no elimines|no eliminar|no añadas|no agregues|no incluyas|no pongas|no quiero|"
        "no se debe|no se puede|bajo ninguna circunstancia|en ningún caso|de ninguna manera|"
        "prohibido|prohibida|obligatorio|obligatoria|estrictamente|imprescindible|tiene que|"
        "tienes que|tienen que|hay que|no puede|no puedes|no pueden"
    ),
    limits=(
        "solo|sólo|solamente|únicamente|exclusivamente|en lugar de|en vez de|en su lugar|"
        "como máximo|máximo|a lo sumo|como mínimo|al menos|mínimo|por lo menos|no más de|"
        "no menos de|más de|menos de|hasta|prefiero|preferiría|preferible|preferiblemente|"
        "preferencia|de preferencia|evita|evitar|evite|eviten|asegúrate|asegúrese|asegurarse|"
        "asegurate|asegurar|cuida|cuidado|procura|sin|excepto|salvo|a menos|mientras|mantén|"
        "mantener|mantenga|conserva|conservar|deja|dejar|importante|exactamente|ningún|ninguna|"
        "ya no|necesario|requerido|límite|limita|por defecto|y no|pero no"
    ),
    hints=(
        "debería|deberían|deberías|quiero|queremos|quisiera|me gustaría|necesito|necesitamos|usa|"
        "use|usar|utiliza|utilice|utilizar|ignora|omite|quita|nada|cada"
    ),
    idle=(
        "no sé|no lo sé|no estoy seguro|no recuerdo|no creo|no hay problema|por qué no|no solo|o no"
    ),
    shared="use|usa|no use|no uses|sin|solo|salvo|y no|no es compatible",
    asks=(
        "qué es|qué son|qué hace|qué|cuál es|cuáles son|cuál|cuáles|cómo|por qué|dónde|cuándo|"
        "quién|cuánto|cuántos|cuántas|puedes|puede usted|podrías|podría|podemos|debería|"
        "deberíamos|hay alguna|hay algún|es posible|tienes|tiene usted|quieres|quiere que|existe"
    ),
    decides=(
        "voy a usar|usaré|utilizaré|usamos|decidí|he decidido|decidido|decisión|elegí|elegido|"
        "opté|optado|en lugar de|en vez de|a propósito|recomiendo|recomendado|sugiero|propongo|"
        "prefiero|mejor opción|mejor enfoque|mejor solución|reemplacé|cambié a|mantuve|mantengo"
    ),
    finds=(
        "la causa|causa raíz|la razón|el problema es|el problema era|el problema está|"
        "el error es|el error era|el error está|el fallo|resulta que|resultó|la solución es|"
        "el arreglo|causado por|provocado por|por eso|encontré|he encontrado|descubrí|confirmado|"
        "no existe|no es compatible|no es posible|falla porque|falta"
    ),
    leans="voy a|vamos a|debemos|hay que|devuelve|retorna|funciona|falla|solo",
    reasons=(
        "porque|ya que|para que|para evitar|debido a|puesto que|por lo tanto|así que|"
        "de lo contrario"
    ),
    stops=(
        "el|la|los|las|de|que|y|en|un|una|es|no|por|con|para|del|se|lo|al|como|pero|mi|me|su|"
        "está|esto|este|esta|hola|gracias|puedes|qué|cómo|son|hay|muy|más|yo|tengo|favor|quiero"
    ),
)
