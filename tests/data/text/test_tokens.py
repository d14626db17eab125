import pytest

from depthlaw.data.text.records import Document
from depthlaw.data.text.tokens import TokenReader
from depthlaw.errors import InputError


class Words:
    """A word is a token; ``<s>`` is 1, ``</s>`` 2, in the text as well; padding and unknown are 0."""

    unk_token_id, pad_token_id, bos_token_id, eos_token_id = 0, 0, 1, 2
    all_special_ids = (0, 1, 2)

    def __init__(self, begin=True, end=False):
        self.begin, self.end, self.calls = begin, end, []

    def __call__(self, texts, *, add_special_tokens, return_attention_mask, verbose):
        assert not verbose
        assert not return_attention_mask
        self.calls.append(len(texts))
        known = {"<s>": 1, "</s>": 2}
        return {
            "input_ids": [
                [1] * (self.begin and add_special_tokens)
                + [known.get(word, 2 + len(word)) for word in text.split()]
                + [2] * (self.end and add_special_tokens)
                for text in texts
            ]
        }


class OneMark(Words):
    """As GPT-2 and Pythia: one id for everything, which is 0, and no mark at the beginning."""

    unk_token_id, pad_token_id, bos_token_id, eos_token_id = 0, None, 0, 0
    all_special_ids = (0,)


def ids(reader, *texts):
    documents = [Document(i, f"#{i}", text) for i, text in enumerate(texts)]
    return [item.input_ids.tolist() for item in reader.read(documents)]


@pytest.mark.parametrize(
    ("begin", "bos", "text", "expected"),
    [
        (True, "auto", "a bb", [1, 3, 4]),
        (True, "auto", "<s> a bb", [1, 3, 4]),
        (True, "auto", "a <s> bb", [1, 3, 1, 4]),
        (False, "auto", "a bb", [3, 4]),
        (False, "auto", "<s> a bb", [1, 3, 4]),
        (False, "always", "a bb", [1, 3, 4]),
        (True, "always", "a bb", [1, 3, 4]),
        (True, "never", "a bb", [3, 4]),
        (True, "never", "<s> a bb", [3, 4]),
        (True, "auto", " \n ", []),
        (True, "auto", "", []),
    ],
)
def test_one_mark_at_the_beginning_at_most(begin, bos, text, expected):
    assert ids(TokenReader(Words(begin), bos=bos), text) == [expected]


def test_cut_after_tokenising_and_counted():
    (item,) = TokenReader(Words(), max_length=3).read([Document(0, "#0", "a bb ccc dddd")])
    assert (item.input_ids.tolist(), item.n_full) == ([1, 3, 4], 5)


def test_special_ids_are_control_tokens_and_not_unknown_words():
    assert TokenReader(Words()).special_ids.tolist() == [0, 1, 2]  # 0 is padding as well
    words = Words()
    words.pad_token_id = 2
    assert TokenReader(words).special_ids.tolist() == [1, 2]
    assert TokenReader(OneMark()).special_ids.tolist() == [0]


def test_padding_with_id_zero_is_not_taken_for_none():
    assert TokenReader(OneMark()).pad_id == 0
    words = Words()
    words.pad_token_id = None
    assert TokenReader(words).pad_id == 2


def test_packed_documents_are_parted_by_one_mark():
    assert ids(TokenReader(Words(True), separator=True), "a") == [[1, 3]]
    assert ids(TokenReader(Words(False), separator=True), "a", "a </s>", "") == [[3, 2], [3, 2], []]
    assert ids(TokenReader(Words(False, True), separator=True), "a") == [[3, 2]]
    assert ids(TokenReader(OneMark(False), separator=True), "a bb") == [[3, 4, 0]]


def test_a_missing_mark_cannot_be_asked_for():
    words = Words()
    words.bos_token_id = None
    with pytest.raises(InputError, match="has no BOS"):
        ids(TokenReader(words, bos="always"), "a")


@pytest.mark.data
def test_a_real_tokenizer(models_dir):
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(models_dir / "stories260K")
    once, twice = ids(TokenReader(tokenizer, max_length=5), "Once upon a time", "<s>Once upon a time")
    assert once[0] == 1
    assert twice[:2] == [1, once[1]]
    assert TokenReader(tokenizer).special_ids.tolist() == [1, 2]
