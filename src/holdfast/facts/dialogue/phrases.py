"""Our own words of the summary, in nine languages.

The headings speak of the past: what stands below them happened, or was asked, before. None of
them may read as an instruction to whoever goes on.
"""

from __future__ import annotations

from msgspec import Struct

from holdfast.facts.dialogue.cues import Language


class Counted(Struct, frozen=True, gc=False):
    """A phrase with a number in it: for 1, for 2 to 4 as Slavic languages count, for many."""

    one: str
    few: str
    many: str


class Phrases(Struct, frozen=True, kw_only=True):
    """The words that a summary uses beside those of the messages."""

    language: Language
    headings: dict[str, str]
    """By section, in the order of the sections."""
    none: str
    user_wrote: str
    first_request: str
    agent_wrote: str
    created: str
    changed: str
    deleted: str
    renamed_to: str
    read: str
    failed: str
    still_failing: str
    passed: str
    resolved: str
    superseded: str
    """Before the older value."""
    working_directory: str
    branch: str
    running: str
    answered: str
    open: str
    not_verified: str
    made_without_model: str
    times: Counted
    lines: Counted
    more: Counted


def phrases_for(language: Language) -> Phrases:
    """Return our words in a language."""
    return _PHRASES[language]


def counted(phrases: Phrases, forms: Counted, number: int) -> str:
    """Return e.g. "3 times", with the form that the number asks for in this language."""
    if phrases.language == "ru":
        form = _slavic(forms, number)
    elif number == 1 or (number == 0 and phrases.language in ("fr", "pt")):
        form = forms.one
    else:
        form = forms.many
    return form.replace("{n}", str(number))


def _slavic(forms: Counted, number: int) -> str:
    if number % 100 in (11, 12, 13, 14):
        return forms.many
    if number % 10 == 1:
        return forms.one
    return forms.few if number % 10 in (2, 3, 4) else forms.many


def _same(form: str) -> Counted:
    return Counted(form, form, form)


_SECTIONS = (
    "task", "goal", "constraints", "completed", "state", "in_progress", "blocked", "decisions",
    "resolved", "pending", "files", "remaining", "critical",
)  # fmt: skip


def _headings(words: str) -> dict[str, str]:
    return dict(zip(_SECTIONS, words.split("|"), strict=True))


_ENGLISH = Phrases(
    language="en",
    headings=_headings(
        "Historical task snapshot|Goal|Constraints and preferences|Completed actions|Active state|"
        "Historical in-progress state|Blockers|Key decisions|Resolved questions|"
        "Historical pending asks|Relevant files|Historical remaining work|Critical context"
    ),
    none="None.", user_wrote="The user wrote", first_request="First request",
    agent_wrote="The agent wrote", created="created", changed="changed", deleted="deleted",
    renamed_to="renamed to", read="read", failed="failed", still_failing="still failing",
    passed="passed", resolved="resolved", superseded="superseded value:",
    working_directory="working directory", branch="branch", running="running",
    answered="answered", open="open", not_verified="not verified",
    made_without_model=(
        "This record was made without a model, from the messages themselves; it may be incomplete."
    ),
    times=Counted("{n} time", "{n} times", "{n} times"),
    lines=Counted("{n} line", "{n} lines", "{n} lines"),
    more=_same("and {n} more"),
)  # fmt: skip

_CHINESE = Phrases(
    language="zh",
    headings=_headings(
        "历史任务快照|目标|约束与偏好|已完成的操作|当时状态|历史进行中状态|阻碍|关键决定|已解决的问题|"
        "历史待答请求|相关文件|历史剩余工作|关键背景"
    ),
    none="无。", user_wrote="用户写道", first_request="最初请求", agent_wrote="助手写道",
    created="已创建", changed="已修改", deleted="已删除", renamed_to="已重命名为", read="已读取",
    failed="失败", still_failing="仍然失败", passed="通过", resolved="已解决",
    superseded="已被取代，原为", working_directory="工作目录", branch="分支", running="运行中",
    answered="已回答", open="未回答", not_verified="未经验证",
    made_without_model="本记录未使用模型，直接取自消息本身，可能不完整。",
    times=_same("{n} 次"), lines=_same("{n} 行"), more=_same("另有 {n} 项"),
)  # fmt: skip

_JAPANESE = Phrases(
    language="ja",
    headings=_headings(
        "過去のタスクの記録|目標|制約と好み|完了した操作|当時の状態|過去の作業中の状態|障害|主な決定|"
        "解決済みの質問|過去の未対応の依頼|関連ファイル|過去の残作業|重要な背景"
    ),
    none="なし。", user_wrote="ユーザーの発言", first_request="最初の依頼",
    agent_wrote="エージェントの発言", created="作成", changed="変更", deleted="削除",
    renamed_to="名前を変更、変更後", read="読み取り", failed="失敗", still_failing="失敗が継続",
    passed="成功", resolved="解決済み", superseded="更新済み、以前の値",
    working_directory="作業ディレクトリ", branch="ブランチ", running="実行中", answered="回答済み",
    open="未回答", not_verified="未検証",
    made_without_model="この記録はモデルを使わず、メッセージそのものから作成されたもので、不完全な場合があります。",
    times=_same("{n} 回"), lines=_same("{n} 行"), more=_same("ほか {n} 件"),
)  # fmt: skip

_SPANISH = Phrases(
    language="es",
    headings=_headings(
        "Instantánea histórica de la tarea|Objetivo|Restricciones y preferencias|"
        "Acciones completadas|Estado activo|Estado histórico en curso|Bloqueos|Decisiones clave|"
        "Preguntas resueltas|Peticiones pendientes históricas|Archivos relevantes|"
        "Trabajo restante histórico|Contexto crítico"
    ),
    none="Nada.", user_wrote="El usuario escribió", first_request="Primera petición",
    agent_wrote="El agente escribió", created="creado", changed="modificado", deleted="eliminado",
    renamed_to="renombrado a", read="leído", failed="falló", still_failing="sigue fallando",
    passed="correcto", resolved="resuelto", superseded="reemplazado, antes era",
    working_directory="directorio de trabajo", branch="rama", running="en ejecución",
    answered="respondida", open="abierta", not_verified="no verificado",
    made_without_model=(
        "Este registro se hizo sin modelo, a partir de los propios mensajes; puede estar "
        "incompleto."
    ),
    times=Counted("{n} vez", "{n} veces", "{n} veces"),
    lines=Counted("{n} línea", "{n} líneas", "{n} líneas"),
    more=_same("y {n} más"),
)  # fmt: skip

_GERMAN = Phrases(
    language="de",
    headings=_headings(
        "Damaliger Stand der Aufgabe|Ziel|Vorgaben und Vorlieben|Abgeschlossene Schritte|"
        "Letzter bekannter Zustand|Damals in Arbeit|Hindernisse|Wichtige Entscheidungen|"
        "Geklärte Fragen|Damals offene Bitten|Betroffene Dateien|Damals verbleibende Arbeit|"
        "Wichtiger Kontext"
    ),
    none="Nichts.", user_wrote="Der Nutzer schrieb", first_request="Erste Bitte",
    agent_wrote="Der Agent schrieb", created="angelegt", changed="geändert", deleted="gelöscht",
    renamed_to="umbenannt in", read="gelesen", failed="fehlgeschlagen",
    still_failing="schlägt weiterhin fehl", passed="bestanden", resolved="behoben",
    superseded="überholt, war", working_directory="Arbeitsverzeichnis", branch="Branch",
    running="läuft", answered="beantwortet", open="offen", not_verified="nicht überprüft",
    made_without_model=(
        "Diese Aufzeichnung entstand ohne Modell, aus den Nachrichten selbst; sie kann "
        "unvollständig sein."
    ),
    times=_same("{n}-mal"),
    lines=Counted("{n} Zeile", "{n} Zeilen", "{n} Zeilen"),
    more=Counted("und {n} weiteres", "und {n} weitere", "und {n} weitere"),
)  # fmt: skip

_FRENCH = Phrases(
    language="fr",
    headings=_headings(
        "Instantané historique de la tâche|Objectif|Contraintes et préférences|Actions effectuées|"
        "État actif|État historique en cours|Blocages|Décisions clés|Questions résolues|"
        "Demandes alors en attente|Fichiers concernés|Travail alors restant|Contexte essentiel"
    ),
    none="Néant.", user_wrote="L'utilisateur a écrit", first_request="Première demande",
    agent_wrote="L'agent a écrit", created="créé", changed="modifié", deleted="supprimé",
    renamed_to="renommé en", read="lu", failed="a échoué", still_failing="échoue toujours",
    passed="réussi", resolved="résolu", superseded="remplacé, valait",
    working_directory="répertoire de travail", branch="branche", running="en cours d'exécution",
    answered="répondu", open="en attente", not_verified="non vérifié",
    made_without_model=(
        "Ce relevé a été établi sans modèle, à partir des messages eux-mêmes ; il peut être "
        "incomplet."
    ),
    times=_same("{n} fois"),
    lines=Counted("{n} ligne", "{n} lignes", "{n} lignes"),
    more=Counted("et {n} autre", "et {n} autres", "et {n} autres"),
)  # fmt: skip

_RUSSIAN = Phrases(
    language="ru",
    headings=_headings(
        "Снимок задачи на тот момент|Цель|Ограничения и предпочтения|Выполненные действия|"
        "Состояние на тот момент|Что тогда было в работе|Препятствия|Ключевые решения|"
        "Решённые вопросы|Запросы без ответа на тот момент|Связанные файлы|"
        "Что тогда оставалось сделать|Важный контекст"
    ),
    none="Нет.", user_wrote="Пользователь написал", first_request="Первый запрос",
    agent_wrote="Агент написал", created="создан", changed="изменён", deleted="удалён",
    renamed_to="переименован в", read="прочитан", failed="с ошибкой",
    still_failing="по-прежнему с ошибкой", passed="успешно", resolved="решено",
    superseded="устарело, было", working_directory="рабочий каталог", branch="ветка",
    running="выполняется", answered="есть ответ", open="без ответа", not_verified="не проверено",
    made_without_model=(
        "Эта запись составлена без модели, по самим сообщениям; она может быть неполной."
    ),
    times=Counted("{n} раз", "{n} раза", "{n} раз"),
    lines=Counted("{n} строка", "{n} строки", "{n} строк"),
    more=_same("и ещё {n}"),
)  # fmt: skip

_PORTUGUESE = Phrases(
    language="pt",
    headings=_headings(
        "Retrato histórico da tarefa|Objetivo|Restrições e preferências|Ações concluídas|"
        "Estado ativo|Estado histórico em andamento|Bloqueios|Decisões principais|"
        "Perguntas resolvidas|Pedidos pendentes históricos|Arquivos relevantes|"
        "Trabalho restante histórico|Contexto crítico"
    ),
    none="Nada.", user_wrote="O usuário escreveu", first_request="Primeiro pedido",
    agent_wrote="O agente escreveu", created="criado", changed="alterado", deleted="excluído",
    renamed_to="renomeado para", read="lido", failed="falhou", still_failing="continua falhando",
    passed="passou", resolved="resolvido", superseded="substituído, antes era",
    working_directory="diretório de trabalho", branch="branch", running="em execução",
    answered="respondida", open="em aberto", not_verified="não verificado",
    made_without_model=(
        "Este registro foi feito sem modelo, a partir das próprias mensagens; pode estar "
        "incompleto."
    ),
    times=Counted("{n} vez", "{n} vezes", "{n} vezes"),
    lines=Counted("{n} linha", "{n} linhas", "{n} linhas"),
    more=_same("e mais {n}"),
)  # fmt: skip

_KOREAN = Phrases(
    language="ko",
    headings=_headings(
        "과거 작업 기록|목표|제약과 선호|완료된 작업|당시 상태|과거 진행 중이던 상태|장애 요인|"
        "주요 결정|해결된 질문|과거 미처리 요청|관련 파일|과거 남은 작업|중요한 맥락"
    ),
    none="없음.", user_wrote="사용자 작성", first_request="첫 요청", agent_wrote="에이전트 작성",
    created="생성됨", changed="변경됨", deleted="삭제됨", renamed_to="이름 변경, 새 이름",
    read="읽음", failed="실패", still_failing="여전히 실패", passed="통과", resolved="해결됨",
    superseded="대체됨, 이전 값", working_directory="작업 디렉터리", branch="브랜치",
    running="실행 중", answered="답변됨", open="미답변", not_verified="확인되지 않음",
    made_without_model="이 기록은 모델 없이 메시지 자체에서 만들어졌으며 불완전할 수 있습니다.",
    times=_same("{n}회"), lines=_same("{n}줄"), more=_same("외 {n}건"),
)  # fmt: skip

_PHRASES: dict[Language, Phrases] = {
    phrases.language: phrases
    for phrases in (
        _ENGLISH, _CHINESE, _JAPANESE, _SPANISH, _GERMAN, _FRENCH, _RUSSIAN, _PORTUGUESE, _KOREAN,
    )
}  # fmt: skip
