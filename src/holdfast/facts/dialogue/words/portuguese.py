"""Portuguese."""

from __future__ import annotations

from holdfast.facts.dialogue.vocabulary import Vocabulary

PORTUGUESE = Vocabulary(
    language="pt",
    forbids=(
        "nunca|jamais|sempre|não deve|não devem|não deveria|deve|devem|não use|não usar|"
        "não utilize|não faça|não fazer|não mude|não mudar|não altere|não alterar|não modifique|"
        "não mexa|não apague|não remova|não remover|não adicione|não inclua|não coloque|"
        "não quero|não pode|não podem|de jeito nenhum|em hipótese alguma|"
        "sob nenhuma circunstância|em nenhum caso|proibido|proibida|obrigatório|obrigatória|"
        "obrigatoriamente|estritamente|tem que|têm que|tem de|é preciso|é necessário"
    ),
    limits=(
        "só|somente|apenas|unicamente|exclusivamente|em vez de|ao invés de|em lugar de|"
        "no lugar de|no máximo|máximo|no mínimo|mínimo|pelo menos|ao menos|não mais que|"
        "não mais de|mais de|menos de|até|prefiro|preferiria|preferência|de preferência|"
        "preferencialmente|evite|evitar|certifique-se|certifica-te|assegure-se|garanta|garantir|"
        "cuidado|sem|exceto|salvo|a menos|a não ser|enquanto|mantenha|manter|mantém|conserve|"
        "deixe|deixa|importante|exatamente|nenhum|nenhuma|não mais|necessário|limite|por padrão|"
        "e não|mas não"
    ),
    hints=(
        "não|deveria|deveriam|quero|queremos|queria|gostaria|preciso|precisamos|precisa|use|usa|"
        "usar|utilize|utilizar|ignore|ignora|nada|cada"
    ),
    idle=(
        "não sei|eu não sei|não tenho certeza|não lembro|não acho|não tem problema|por que não|"
        "ou não"
    ),
    shared="use|usa|utilize|ignore|conserve|salvo|o que|o bug",
    asks=(
        "o que é|o que são|o que|qual é|quais são|qual|quais|como|por que|por quê|porque é que|"
        "onde|quando|quem|quanto|quantos|quantas|você pode|pode me|poderia|podemos|devo|devemos|"
        "é possível|existe|há algum|há alguma|tem como|você quer|você tem|consegue"
    ),
    decides=(
        "vou usar|usarei|utilizarei|usamos|decidi|decidido|decisão|escolhi|escolhido|optei|"
        "em vez de|ao invés de|de propósito|recomendo|recomendado|sugiro|proponho|prefiro|"
        "melhor opção|melhor abordagem|melhor solução|substituí|mudei para|mantive"
    ),
    finds=(
        "a causa|causa raiz|a razão|o motivo|o problema é|o problema era|o problema está|"
        "o erro é|o erro era|o erro está|o bug|acontece que|descobri|a solução é|a correção|"
        "causado por|por isso|encontrei|confirmado|não existe|não é suportado|não é possível|"
        "falha porque|falta"
    ),
    leans="vou|vamos|devemos|precisamos|retorna|devolve|funciona|falha|não|só|apenas",
    reasons=(
        "porque|já que|para que|para evitar|devido a|pois|uma vez que|portanto|então|caso contrário"
    ),
    stops=(
        "o|os|as|de|que|e|em|um|uma|é|não|por|com|para|do|da|no|dos|das|se|como|mas|eu|você|"
        "meu|minha|está|isso|este|esta|olá|obrigado|obrigada|são|ao|mais|muito|tem|fazer|quero|"
        "preciso|pode|nos|favor"
    ),
)
