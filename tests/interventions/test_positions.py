"""Subject, prediction and target among tokens: byte-level, SentencePiece and slow tokenizers."""

import json

import pytest

from depthlaw.errors import InputError, UsageError
from depthlaw.interventions.offsets import tokens_with_offsets
from depthlaw.interventions.positions import place
from depthlaw.interventions.prompts import Prompt, read_prompts


@pytest.fixture(scope="module")
def byte_level():
    """A fast byte-level tokenizer, as GPT-2's: spaces belong to the word behind them."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    made = ByteLevelBPETokenizer()
    text = ["The Space Needle is in downtown Seattle and Ann met Bob there with Anna"] * 3
    made.train_from_iterator(text, vocab_size=400, min_frequency=1)
    return PreTrainedTokenizerFast(tokenizer_object=made._tokenizer)


@pytest.fixture(scope="module")
def slow():
    """A slow tokenizer whose tokens are bytes, so that characters are split."""
    from transformers import ByT5Tokenizer

    return ByT5Tokenizer()


@pytest.fixture(scope="module")
def sentencepiece(models_dir):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(models_dir / "stories260K")


@pytest.fixture(params=["byte_level", "slow", pytest.param("sentencepiece", marks=pytest.mark.data)])
def tokenizer(request):
    return request.getfixturevalue(request.param)


def covered(tokenizer, ids, begin, end):
    return tokenizer.decode(list(ids[begin:end])).strip()


@pytest.mark.parametrize(
    ("prompt", "subject", "target"),
    [
        ("The Space Needle is in downtown Seattle", "Space Needle", "Seattle"),
        ("The Space Needle is in downtown", "The Space Needle", "Seattle"),
        ("Ann met", "Ann", "Bob"),
        ("Anna and Ann met", "Ann", "Bob"),
    ],
)
def test_subject_and_target_are_found(tokenizer, prompt, subject, target):
    found = place(Prompt(prompt, subject, target), tokenizer)
    assert covered(tokenizer, found.ids, *found.subject) == subject
    assert covered(tokenizer, found.ids, found.predict + 1, len(found.ids)) == target
    assert found.target == found.ids[found.predict + 1 :]
    whole = tokenizer.decode(list(found.ids), skip_special_tokens=True)
    assert whole.strip() == f"{prompt.removesuffix(target).strip()} {target}"


def test_whole_words_win_over_parts_of_words(byte_level):
    found = place(Prompt("Anna and Ann met", "Ann", "Bob"), byte_level)
    assert found.words[slice(*found.subject)] == (" Ann",)


def test_a_subject_inside_a_character(tokenizer):
    """Every token that holds a byte of the subject is its token."""
    found = place(Prompt("Café 😀x is there", "é 😀", "now"), tokenizer)
    begin, end = found.subject
    ids, spans = tokens_with_offsets(tokenizer, "Café 😀x is there now")
    assert [span for span in spans[begin:end] if span[0] < 3 or span[1] > 6] == []
    outside = [span for place, span in enumerate(spans) if not begin <= place < end]
    assert not [span for span in outside if span[0] < 6 and span[1] > 3 and span != (4, 5)]
    assert tokenizer.decode(ids[begin:end]).strip() == "é 😀"
    assert end - begin >= 4


def test_a_slow_tokenizer_is_laid_beside_its_text(slow):
    ids, spans = tokens_with_offsets(slow, "aé b")
    assert len(ids) == 6
    assert spans[:3] == [(0, 1), (1, 2), (1, 2)]
    assert spans[4:] == [(3, 4), (0, 0)]


def test_several_occurrences_need_to_be_told_apart(tokenizer):
    with pytest.raises(InputError) as caught:
        place(Prompt("Bob met Bob there", "Bob", "and"), tokenizer)
    assert "occurs 2 times" in str(caught.value)
    assert "tokens: [" in str(caught.value)
    first, second = (
        place(Prompt("Bob met Bob there", "Bob", "and", occurrence=n), tokenizer) for n in (1, 2)
    )
    assert covered(tokenizer, first.ids, *first.subject) == "Bob"
    assert second.subject[0] > first.subject[1]
    with pytest.raises(InputError, match="occurs 2 times, not 3"):
        place(Prompt("Bob met Bob there", "Bob", "and", occurrence=3), tokenizer)


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        (Prompt("bob is there", "Bob", "now"), 'Did you mean "bob"'),
        (Prompt("Ann is there", "Bob", "now"), "is not in the prompt"),
        (Prompt("Ann met Bob", "Ann met Bob", "Bob"), '"Ann met Bob" is not before the target'),
        (Prompt("Ann met Bob", "Bob", "Bob"), 'the subject "Bob" is not before the target, with which'),
    ],
)
def test_what_cannot_be_placed_is_refused(byte_level, prompt, words):
    with pytest.raises(InputError) as caught:
        place(prompt, byte_level)
    assert words in str(caught.value)


def test_a_target_before_the_subject_is_read_behind_the_prompt(byte_level):
    found = place(Prompt("Seattle and the Space Needle is in", "Space Needle", "Seattle"), byte_level)
    assert found.predict + 1 == len(found.ids) - len(found.target)
    assert found.predict > found.subject[1]


def test_a_target_within_the_prompt_is_read_behind_it_and_said(byte_level):
    found = place(Prompt("The Space Needle is in Seattle there", "Space Needle", "Seattle"), byte_level)
    assert found.predict + 1 == len(found.ids) - len(found.target)
    assert [notice.code for notice in found.notices] == ["target-in-prompt"]
    # A part of a word is not the target.
    assert not place(Prompt("Bob is there", "Bob", "the"), byte_level).notices


def test_a_full_stop_may_follow_the_target(byte_level):
    found = place(Prompt("The Space Needle is in Seattle.", "Space Needle", "Seattle"), byte_level)
    assert byte_level.decode(list(found.target)).strip() == "Seattle"
    assert not found.notices


def test_a_token_that_reaches_beyond_the_subject_is_said(byte_level):
    found = place(Prompt("The Space Needle is there", "Need", "now"), byte_level)
    assert [notice.code for notice in found.notices] == ["subject-token"]


def test_files_of_prompts(tmp_path):
    entries = [
        {"prompt": "A b c", "subject": "b", "target": "d", "id": "one"},
        {"known_id": 7, "prompt": "E f g", "subject": "f", "attribute": "h", "template": "{} g"},
    ]
    lines = tmp_path / "a.jsonl"
    lines.write_text("\n".join(map(json.dumps, entries)) + "\n\n")
    listed = tmp_path / "b.json"
    listed.write_text(json.dumps(entries))
    expected = (Prompt("A b c", "b", "d", "one"), Prompt("E f g", "f", "h", "7"))
    assert read_prompts(lines) == read_prompts(listed) == expected
    assert read_prompts(lines, limit=1) == expected[:1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"prompt": "A"}', "a.jsonl:1: no subject"),
        ('{"prompt": "A b", "subject": "b", "target": 3}', "the target is 3, not text"),
        ('{"prompt": "A b", "subject": "b", "object": null}', "no target (have: prompt, subject, object)"),
        ("[1]", "entry 1: is int"),
        ('{"prompt": "A\t"}', "is no JSON (invalid control character at character 14)"),
        ("", "no prompts"),
        ('{"prompt": "A b", "subject": "b", "target": "c", "occurrence": 0}', "occurrence 0: "),
        ('{"prompt": "A b", "subject": "b", "target": "c", "occurrence": 1.5}', "not 1.5"),
    ],
)
def test_bad_files_name_the_line(tmp_path, text, words):
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_prompts(path)
    assert words in str(caught.value)


def test_an_empty_subject_is_refused():
    with pytest.raises(UsageError, match="subject is empty"):
        Prompt("A", " ", "b")


@pytest.mark.parametrize("occurrence", [0, -1])
def test_occurrences_are_counted_from_1(occurrence):
    with pytest.raises(UsageError, match=rf"occurrence {occurrence}: occurrences are counted from 1"):
        Prompt("Bob met Bob there", "Bob", "and", occurrence=occurrence)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_files_of_prompts_as_windows_writes_them(tmp_path, encoding):
    path = tmp_path / "a.jsonl"
    path.write_text('{"prompt": "É b", "subject": "b", "target": "c"}\r\n', encoding=encoding)
    assert read_prompts(path)[0].prompt == "É b"


@pytest.mark.data
def test_the_public_list_of_known_facts_is_read_and_placed(data_dir, sentencepiece):
    prompts = read_prompts(data_dir / "text" / "known_facts_200.json")
    assert len(prompts) == 200
    assert prompts[0] == Prompt(
        "Vinson Massif is located in the continent of", "Vinson Massif", "Antarctica", "0"
    )
    for prompt in prompts:
        found = place(prompt, sentencepiece)
        assert covered(sentencepiece, found.ids, found.predict + 1, len(found.ids)) == prompt.target.strip()
