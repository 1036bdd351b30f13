"""French."""

from __future__ import annotations

from holdfast.facts.dialogue.vocabulary import Vocabulary

FRENCH = Vocabulary(
    language="fr",
    forbids=(
        "jamais|toujours|ne pas|il ne faut pas|il faut|ne doit pas|ne doivent pas|doit|doivent|"
        "dois|devez|ne dois pas|ne devez pas|en aucun cas|sous aucun prétexte|aucun cas|interdit|"
        "interdite|interdiction|obligatoire|obligatoirement|impératif|impérativement|strictement|"
        "absolument|à tout prix|il est interdit|ne jamais|surtout pas"
    ),
    limits=(
        "seulement|uniquement|exclusivement|juste|rien que|au lieu de|au lieu du|au lieu des|"
        "plutôt que|plutôt|à la place|au plus|au maximum|maximum|au moins|au minimum|minimum|"
        "pas plus de|pas moins de|pas plus que|jusqu'à|préfère|préférer|préférez|de préférence|"
        "préférence|évite|éviter|évitez|assure-toi|assurez-vous|s'assurer|veille à|veillez à|"
        "fais attention|faites attention|attention|sans|sauf|excepté|à moins|tant que|garde|"
        "gardez|garder|conserve|conserver|conservez|laisse|laissez|important|exactement|aucun|"
        "aucune|ne plus|n'utilise|n'utilisez|n'utiliser|ne change|ne changez|ne modifie|"
        "ne modifiez|ne supprime|ne supprimez|ne touche|ne touchez|nécessaire|requis|limite|"
        "limiter|par défaut|pas de|pas d'"
    ),
    hints=(
        "pas|devrait|devrais|devraient|devrions|veux|voudrais|voulons|souhaite|j'aimerais|besoin|"
        "utilise|utilisez|utiliser|emploie|employez|ne|n'est|rien|ignore|ignorez|supprime|faut"
    ),
    idle=(
        "je ne sais pas|je sais pas|je ne pense pas|je pense pas|pas sûr|pas de problème|"
        "pas de souci|pas seulement|pourquoi pas|je ne me souviens pas|n'est-ce pas|ou pas"
    ),
    shared="maximum|minimum|attention|conserve|important|ignore|comment|car|pas|pas de|sans|ne",
    asks=(
        "qu'est-ce|que fait|quel est|quelle est|quels sont|quelles sont|quel|quelle|quels|"
        "quelles|comment|pourquoi|où est|où sont|quand|qui est|combien|est-ce|peux-tu|"
        "pouvez-vous|pourrais-tu|pourriez-vous|peut-on|dois-je|faut-il|y a-t-il|as-tu|avez-vous|"
        "voulez-vous|veux-tu|souhaitez-vous|puis-je"
    ),
    decides=(
        "j'utilise|j'utiliserai|je vais utiliser|nous utilisons|j'ai choisi|j'ai décidé|décidé|"
        "décision|choisi|au lieu de|plutôt que|à la place|volontairement|délibérément|"
        "je recommande|recommandé|je suggère|je propose|je préfère|meilleure option|"
        "meilleure solution|meilleure approche|remplacé|je garde|j'ai gardé"
    ),
    finds=(
        "la cause|cause racine|cause principale|la raison|le problème est|le problème vient|"
        "le problème était|le bug est|l'erreur est|l'erreur vient|l'erreur était|il s'avère|"
        "s'avère|il se trouve|le correctif|la solution est|causé par|provoqué par|c'est pourquoi|"
        "j'ai trouvé|j'ai constaté|n'existe pas|n'est pas supporté|pas possible|manquant|échoue"
    ),
    leans="je vais|nous devons|on doit|il faut|retourne|renvoie|fonctionne|pas|seulement|j'ai",
    reasons=(
        "parce que|parce|car|puisque|afin de|afin|pour éviter|à cause|en raison|donc|sinon|ainsi"
    ),
    stops=(
        "le|la|les|des|et|est|un|une|pas|je|vous|nous|que|qui|dans|pour|sur|avec|ce|du|au|il|"
        "elle|ne|mon|ma|mes|comment|merci|peux|sont|être|plus|cette|ça|c'est|j'ai|aux|ou|mais"
    ),
)
