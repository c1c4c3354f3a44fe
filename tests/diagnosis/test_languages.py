"""Bug reports in other languages lead where the English ones lead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.diagnosis.languages import apart, in_english, languages
from inspector.diagnosis.text import diagnose_text
from tools.score_diagnose import answer_code

SAID = {
    "用 vLLM 部署 gpt-oss-120b，返回的 content 为空，只有思考内容": "ended-without-final",
    "gpt-oss-20b 部署在 vllm 上，模型不调用工具，直接回答": "tool-parser-flags-missing",
    "vLLM 部署的 gpt-oss 思考过程在 Open WebUI 里不显示": "reasoning-field-renamed",
    "gpt-oss 的回答被截断，max_tokens 设置为 500，finish_reason 是 length": "truncated-by-max-tokens",
    "vllm 启动 gpt-oss-20b 的时候报错，显存不足": "routed:startup",
    "vLLMでgpt-oss-120bを使うと、応答が空になります。思考だけ返ってきます。": "ended-without-final",
    "vLLMでgpt-oss-20bが起動しない。GPUはRTX 4090です。": "routed:startup",
    "gpt-oss vLLM 응답이 비어 있고 추론만 나옵니다": "ended-without-final",
    "vLLM не запускается с gpt-oss-20b на двух видеокартах": "routed:startup",
    "gpt-oss на vLLM возвращает пустой ответ, только рассуждения": "ended-without-final",
    "Mit vLLM und gpt-oss-20b ist die Antwort leer, nur der Gedankengang nicht.": "ended-without-final",
    "El modelo gpt-oss en vLLM nunca llama a las herramientas, solo contesta con texto.": (
        "tool-parser-flags-missing"
    ),
    "Com vLLM e gpt-oss, a resposta está vazia, mas o raciocínio aparece.": "ended-without-final",
    "Le serveur vLLM ne démarre pas avec gpt-oss-20b sur une A100, mais avec un autre modèle.": (
        "routed:startup"
    ),
}


def test_a_symptom_is_known_in_other_languages() -> None:
    found = {text: answer_code(diagnose_text(text)) for text in SAID}
    assert found == SAID


@pytest.mark.parametrize(
    "text",
    [
        "gpt-oss-120b 用 vllm 怎么部署？需要几张显卡？",
        "Wie viele Karten braucht gpt-oss-120b mit vLLM, und ist die Antwort mit einer nicht langsamer?",
        "qwen3-32b 用 vllm 部署，从来不调用工具，只用文字回答",
        "数据库连接失败，返回内容为空，mysql 服务启动不了",
        "Die Anwendung startet nicht, und die Antwort der Datenbank ist leer.",
    ],
)
def test_a_question_another_model_and_another_program_lead_nowhere(text: str) -> None:
    found = diagnose_text(text)
    assert (found.answers, found.sides, found.route) == ((), (), None)


def test_a_reader_sees_the_own_words() -> None:
    said = "用 vLLM 部署 gpt-oss-120b，返回的 content 为空"
    reasons = [reason.words for reason in diagnose_text(said).answers[0].reasons]
    assert f"the text says “{said}”" in reasons
    assert (
        diagnose_text("vllm 部署 gpt-oss 之后请求失败").failures[0].message
        == "vllm 部署 gpt-oss 之后请求失败"
    )


def test_english_stays_as_it_is() -> None:
    for sentence in (
        "The answer is empty; die Hard is a film, and the content of el camino is no error.",
        "naïve café — “quoted”, 50 % done…",
        "",
    ):
        assert in_english(sentence) == sentence


def test_a_name_beside_an_ideograph_is_a_word() -> None:
    found = diagnose_text("LM Studio部署的gpt oss 20b无法正常调用工具")
    assert answer_code(found) == "routed:lmstudio"
    assert apart("用vLLM部署") == "用 vLLM 部署"


def test_the_table_has_a_word_for_each_expression() -> None:
    assert len({language.name for language in languages()}) == len(languages()) >= 8
    assert all(english.strip() for language in languages() for _, english in language.words)


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    in_english(text)
