"""Words by which an answer is told to be no note, and a sentence an order, or a claim."""

from __future__ import annotations

REFUSALS = (
    "i can't", "i cannot", "i can not", "i'm unable", "i am unable", "i'm not able", "i won't",
    "i will not be able", "i'm sorry", "i am sorry", "as an ai", "as a language model",
    "unable to assist", "unable to comply", "can't help with", "cannot help with",
    "es tut mir leid", "ich kann nicht", "ich kann dabei nicht", "lo siento", "no puedo ayudar",
    "je suis désolé", "je ne peux pas", "desculpe", "não posso ajudar", "к сожалению, я не могу",
    "я не могу", "извините", "申し訳ありません", "お手伝いできません", "抱歉", "对不起", "我无法",
    "죄송합니다", "도와드릴 수 없",
)  # fmt: skip
"""How a model says that it will not; only at the start of an answer without any section."""

ORDERS = (
    "you must", "you should", "you need to", "you have to", "you are required", "you will now",
    "you are now", "your task is", "your job is", "your next step", "your instructions",
    "make sure you", "be sure to", "please run", "please execute", "please delete",
    "immediately run", "immediately execute", "now run", "now execute",
    "do not tell the user", "disregard ",
    "ignore all", "ignore the", "ignore any", "ignore previous", "new instructions",
    "system prompt:", "assistant must", "agent must now", "the agent should now",
    "as the assistant",
    "du musst", "du sollst", "sie müssen", "deine aufgabe", "ihre aufgabe ist", "führe jetzt",
    "debes ", "tienes que", "tu tarea es", "ejecuta ahora", "ignora las", "tu dois", "vous devez",
    "ta tâche est", "votre tâche est", "exécute maintenant", "exécutez maintenant", "você deve",
    "sua tarefa é", "execute agora", "ты должен", "вы должны", "твоя задача", "ваша задача",
    "немедленно выполни", "你必须", "你应该", "您必须", "你的任务是", "请立即", "请执行",
    "あなたは必ず", "しなければなりません", "直ちに実行", "あなたの任務",
    "당신은 반드시", "해야 합니다", "즉시 실행",
)  # fmt: skip
"""How a sentence speaks to whoever reads the note. A note reports; an order in it is kept only
where the user wrote it."""

CLAIMS = (
    "user ask", "user also ask", "user want", "user request", "user need", "user said",
    "user wrote", "user told", "user instruct", "user order", "user demand", "user insist",
    "user prefer", "user requires", "user stated", "user states", "user mention", "user specif",
    "user report", "user chose", "user chooses", "user expect", "user clarif", "user explain",
    "user suggest", "user propos", "user declin", "user reject", "user allow", "user permit",
    "user authori", "user emphasi", "user remind", "user answer",
    "user would like", "user wishes", "user agreed",
    "user confirmed", "user approved", "user decided", "requested by the user",
    "asked by the user", "at the user's request", "as the user",
    "benutzer bat", "benutzer will", "benutzer möchte", "benutzer verlangt", "nutzer bat",
    "nutzer will", "nutzer möchte", "nutzer verlangt", "vom benutzer gewünscht",
    "usuario pidió", "usuario quiere", "usuario solicitó", "usuario pide",
    "utilisateur a demandé", "utilisateur veut", "utilisateur demande", "utilisateur souhaite",
    "usuário pediu", "usuário quer", "usuário solicitou",
    "пользователь попросил", "пользователь хочет", "пользователь просит", "пользователь требует",
    "用户要求", "用户希望", "用户想", "用户让", "ユーザーは", "ユーザーが", "ユーザーから",
    "사용자가", "사용자는",
)  # fmt: skip
"""How a sentence says what the user wanted: kept only where the user's own words bear it out."""

NOTHING = (
    "no ", "none", "nothing", "there are no", "there is no", "there were no", "there was no",
    "keine ", "es gibt keine", "ninguna ", "ningún ", "no hay", "aucun", "il n'y a", "nenhum",
    "não há", "нет ", "没有", "無し", "なし", "ありません", "없음",
)  # fmt: skip
"""How an entry begins that only says that its section is empty."""
