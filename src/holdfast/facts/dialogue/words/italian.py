"""Italian."""

from __future__ import annotations

from holdfast.facts.dialogue.vocabulary import Vocabulary

ITALIAN = Vocabulary(
    language="it",
    forbids=(
        "mai|sempre|non deve|non devi|non devono|non dovrebbe|deve|devi|devono|non usare|"
        "non usate|non utilizzare|non fare|non cambiare|non modificare|non toccare|"
        "non cancellare|non eliminare|non aggiungere|non rimuovere|non voglio|non si deve|"
        "non può|non puoi|in nessun caso|per nessun motivo|assolutamente|vietato|vietata|"
        "obbligatorio|obbligatoria|rigorosamente|bisogna|occorre"
    ),
    limits=(
        "solo|soltanto|solamente|unicamente|esclusivamente|invece di|invece|al posto di|"
        "piuttosto che|al massimo|massimo|al minimo|minimo|almeno|non più di|non meno di|più di|"
        "meno di|fino a|preferisco|preferirei|preferibilmente|preferenza|preferire|evita|evitare|"
        "evitate|assicurati|assicuratevi|assicurarsi|accertati|attenzione|senza|tranne|eccetto|"
        "a meno che|finché|mantieni|mantenere|conserva|lascia|lasciare|importante|esattamente|"
        "nessun|nessuna|nessuno|non più|necessario|limite|e non|ma non"
    ),
    hints=(
        "non|dovrebbe|dovrebbero|voglio|vogliamo|vorrei|ho bisogno|serve|usa|usare|utilizza|"
        "utilizzare|ignora|salta|niente|ogni"
    ),
    idle="non so|non lo so|non sono sicuro|non ricordo|non credo|perché no|o no|non solo",
    shared="serve|usa|come|solo|dove|uso|il bug|non|limite",
    asks=(
        "cosa è|cos'è|che cosa|cosa|qual è|quali sono|quale|quali|come|perché|dove|quando|chi|"
        "quanto|quanti|quante|puoi|può|potresti|potrebbe|possiamo|devo|dobbiamo|c'è|ci sono|"
        "è possibile|hai|vuoi"
    ),
    decides=(
        "userò|uso|ho usato|utilizzo|ho deciso|deciso|decisione|ho scelto|scelto|invece di|"
        "al posto di|piuttosto che|consiglio|suggerisco|propongo|preferisco|migliore soluzione|"
        "migliore opzione|ho sostituito|di proposito"
    ),
    finds=(
        "la causa|causa principale|il motivo|la ragione|il problema è|il problema era|l'errore è|"
        "l'errore era|il bug|si scopre|risulta che|la soluzione è|causato da|per questo|"
        "ho trovato|ho scoperto|confermato|non esiste|non è supportato|non è possibile|manca"
    ),
    leans="dobbiamo|bisogna|restituisce|ritorna|funziona|fallisce|non|solo",
    reasons="perché|poiché|dato che|affinché|per evitare|a causa|quindi|altrimenti|siccome",
    stops="il|gli|che|è|di|non|per|una|sono|con|del|della|come|questo|ho|mi|grazie|anche|più|nel",
)
