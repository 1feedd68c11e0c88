"""A session: what it runs and writes is what the model does elsewhere; few things are kept."""

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from handformer.errors import InputError
from handformer.generate.sampling import Sampling
from handformer.generate.text import TextModel
from handformer.inspector import session as sessions
from handformer.inspector.session import GoneError, Session
from handformer.models import Decoder
from handformer.tracing.api import trace
from handformer.tracing.trace import Trace
from tests.inspector.models import TEXTS, made


@pytest.fixture(scope="module")
def models() -> dict[str, TextModel]:
    return {kind: made(kind) for kind in TEXTS}


@pytest.fixture
def session(models: dict[str, TextModel]) -> Iterator[Session]:
    with Session("model", "first", model=models["gpt2"]) as opened:
        yield opened


@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_that_is_run_is_traced(kind: str, models: dict[str, TextModel]) -> None:
    with Session("model", "first", model=models[kind]) as session:
        shown = session.trace(session.run(TEXTS[kind]))
        expected = trace(models[kind], TEXTS[kind])
        assert [*shown.trace] == [*expected]
        for path in expected:
            np.testing.assert_array_equal(shown.trace[path], expected[path])
        assert (shown.title, shown.trace.manifest.name) == (TEXTS[kind], "first")
        assert session.about["family"] == kind
        assert session.about["can"] == {"run": True, "generate": kind != "bert", "log": False}


def test_targets_may_be_given(models: dict[str, TextModel]) -> None:
    with Session("model", "first", model=models["transformer"]) as session:
        shown = session.trace(session.run("abc", "cb"))
        assert shown.trace.manifest.text is not None
        assert shown.trace.manifest.text.targets == [["c", "b", "[EOS]"]]


def test_few_traces_are_kept_and_their_files_go_with_the_oldest(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "TRACES", 2)
    numbers = [session.run(text) for text in ("The", "cat", "dog")]
    assert [shown.number for shown in session.traces()] == numbers[1:]
    folder = session.trace(numbers[1]).path.parent
    assert len([*folder.iterdir()]) == 2
    with pytest.raises(GoneError, match="no trace '1'"):
        session.trace(numbers[0])


def test_little_disk_is_taken_but_the_last_trace_always_stays(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "BYTES", 1)
    numbers = [session.run(text) for text in ("The", "cat")]
    assert [shown.number for shown in session.traces()] == numbers[1:]


def test_what_was_given_stays_whatever_is_made(
    session: Session, models: dict[str, TextModel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "TRACES", 1)
    path = tmp_path / "given.safetensors"
    trace(models["gpt2"], "The").save(path)
    given = session.show(path, "given")
    numbers = [session.run("cat") for _ in range(3)]
    assert [shown.number for shown in session.traces()] == [given, numbers[-1]]
    session.close()
    assert path.exists()


def test_nothing_is_left_when_it_is_closed(session: Session) -> None:
    folder = session.trace(session.run("The")).path.parent
    assert folder.stat().st_mode & 0o077 == 0
    session.close()
    assert not folder.exists()
    with pytest.raises(GoneError, match="has ended"):
        session.run("The")
    assert not folder.exists()


def test_a_file_that_changes_is_not_read_as_if_it_were_the_old_one(
    session: Session, models: dict[str, TextModel], tmp_path: Path
) -> None:
    path = tmp_path / "given.safetensors"
    trace(models["gpt2"], "The").save(path)
    shown = session.trace(session.show(path, "given"))
    shown.check()
    trace(models["gpt2"], "cat").save(path)
    with pytest.raises(GoneError, match=r"given\.safetensors has changed"):
        shown.check()
    path.unlink()
    with pytest.raises(GoneError, match="no longer there"):
        shown.check()


@pytest.mark.parametrize(
    "how", [{"temperature": 0.0}, {"temperature": 1.5, "top_k": 4, "top_p": 0.9}]
)
@pytest.mark.parametrize("kind", ["gpt2", "llama", "transformer"])
def test_it_writes_what_generate_writes(
    kind: str, how: dict[str, float], models: dict[str, TextModel]
) -> None:
    model, text = models[kind], TEXTS[kind]
    write = model.generate if isinstance(model.model, Decoder) else model.translate
    with Session("model", "first", model=model) as session:
        for seed in (0, 1):
            expected = write(text, max_tokens=12, seed=seed, **how)  # type: ignore[arg-type]
            begun = session.write(text, Sampling(**how), seed)  # type: ignore[arg-type]
            assert "".join(token["text"] for token in begun["prompt"]) == text.replace(" ", "␣")
            steps = [session.write_on(begun["session"]) for _ in range(12)]
            assert steps[-1]["text"] == expected


def test_a_step_tells_what_was_said_what_was_left_and_what_was_drawn(
    models: dict[str, TextModel],
) -> None:
    model, sampling = models["gpt2"], Sampling(temperature=0.7, top_k=6, top_p=0.5)
    with Session("model", "first", model=model) as session:
        begun = session.write("The", sampling, 3)
        step = session.write_on(begun["session"])
    logits, _ = model.model.forward(model.tokenizer.encode("The")[None])  # type: ignore[call-arg]
    last = logits[0, -1].astype(np.float64)
    said = np.exp(last - last.max())
    said /= said.sum()
    entries = step["entries"]
    assert [entry["id"] for entry in entries] == np.argsort(-last, kind="stable").tolist()[:20]
    for entry in entries:
        np.testing.assert_allclose(entry["before"], said[entry["id"]], rtol=1e-5)
        assert entry["text"] == model.tokenizer.token(entry["id"])
        assert (entry["after"] > 0) == (entry["cut"] is None)
    assert [entry["cut"] for entry in entries[6:]] == ["top_k"] * (len(entries) - 6)
    kept = [entry for entry in entries if entry["cut"] is None]
    assert {entry["cut"] for entry in entries[len(kept) : 6]} == {"top_p"}
    assert step["kept"] == {"temperature": len(last), "top_k": 6, "top_p": len(kept)}
    np.testing.assert_allclose(sum(entry["after"] for entry in kept), 1, rtol=1e-6)
    sharper = np.array([entry["before"] for entry in kept]) ** (1 / 0.7)
    after = [entry["after"] for entry in kept]
    np.testing.assert_allclose(after, sharper / sharper.sum(), rtol=1e-5)
    assert step["token"]["id"] in {entry["id"] for entry in kept}
    assert entries[step["token"]["rank"]]["id"] == step["token"]["id"]


def test_what_is_not_shown_is_summed_up_and_the_drawn_token_is_always_shown(
    models: dict[str, TextModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handformer.inspector.writing.SHOWN", 2)
    with Session("model", "first", model=models["gpt2"]) as session:
        begun = session.write("The", Sampling(temperature=2), 0)
        steps = [session.write_on(begun["session"]) for _ in range(20)]
    assert {len(step["entries"]) for step in steps} == {2, 3}
    for step in steps:
        shown, rest = step["entries"], step["rest"]
        assert len(shown) + rest["count"] == step["vocabulary"]
        assert step["token"]["id"] in {entry["id"] for entry in shown}
        for when in ("before", "after"):
            total = sum(entry[when] for entry in shown) + rest[when]
            np.testing.assert_allclose(total, 1, rtol=1e-5)


@pytest.mark.parametrize("kind", ["gpt2", "llama", "transformer"])
def test_the_kept_keys_are_the_models(kind: str, models: dict[str, TextModel]) -> None:
    model, text = models[kind], TEXTS[kind][:4]
    config = model.model.config
    with Session("model", "first", model=model) as session:
        begun = session.write(text, Sampling(temperature=5), 1)
        heads = range(config.kv_heads)
        lengths: list[list[list[float]]] = [[[] for _ in heads] for _ in range(config.n_layers)]
        ids = [token["id"] for token in begun["begin"]]
        for _ in range(4):
            step = session.write_on(begun["session"])
            cache = step["cache"]
            assert (cache["tokens"], cache["layers"]) == (len(ids), config.n_layers)
            assert cache["heads"] == config.kv_heads
            assert cache["width"] == config.head_width
            numbers = 2 * config.n_layers * config.kv_heads * len(ids) * config.head_width
            assert cache["bytes"] == 4 * numbers
            for layer, told in enumerate(cache["lengths"]):
                for head, fresh in enumerate(told):
                    assert len(lengths[layer][head]) == cache["first"]
                    lengths[layer][head] += fresh
            ids.append(step["token"]["id"])
            if step["ended"]:
                break
    if kind == "transformer":
        return
    whole = trace(model.model, tokens=ids[: len(lengths[0][0])])
    for layer, found in enumerate(lengths):
        keys = whole[f"blocks.{layer}.attention.k"]  # Llama's are kept turned: as long as before
        expected = np.linalg.norm(keys.astype(np.float64), axis=-1)
        np.testing.assert_allclose(found, expected.reshape(np.shape(found)), rtol=1e-5)


def test_a_window_that_turns_tells_all_keys_anew(session: Session) -> None:
    begun = session.write("The cat", Sampling(), 0)  # 7 of a context of 8
    told = [session.write_on(begun["session"])["cache"] for _ in range(8)]
    assert [cache["tokens"] for cache in told] == [7, 8, 5, 6, 7, 8, 5, 6]
    assert [cache["first"] for cache in told] == [0, 7, 0, 5, 6, 7, 0, 5]
    for cache in told:
        assert {len(head) for layer in cache["lengths"] for head in layer} == {
            cache["tokens"] - cache["first"]
        }


def test_few_writings_are_kept_the_oldest_goes(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "WRITINGS", 2)
    numbers = [session.write("The", Sampling(), 0)["session"] for _ in range(3)]
    for number in numbers[1:]:
        assert session.write_on(number)["step"] == 1
    for number in (numbers[0], "99", "../1", "<script>"):
        with pytest.raises(GoneError, match="begin again"):
            session.write_on(number)


def test_a_text_that_has_ended_stays_so(models: dict[str, TextModel]) -> None:
    with Session("model", "first", model=models["transformer"]) as session:
        begun = session.write("abc", Sampling(temperature=1), 0)
        steps = [session.write_on(begun["session"]) for _ in range(12)]
    assert [step["ended"] for step in steps][-2:] == [True, True]
    assert steps[-1] == {key: steps[-2][key] for key in ("step", "ended", "text")}


def test_what_cannot_be_asked_is_said_in_a_line(models: dict[str, TextModel]) -> None:
    with (
        Session("model", "first", model=models["bert"]) as session,
        pytest.raises(InputError, match="an encoder doesn't write"),
    ):
        session.write("The", Sampling(), 0)
    with Session("trace", "first") as session:
        for ask in (session.run, lambda text: session.write(text, Sampling(), 0)):
            with pytest.raises(InputError, match="inspect a model"):
                ask("The")
    with Session("model", "first", model=models["gpt2"]) as session:
        with pytest.raises(InputError, match="at least one character"):
            session.write("", Sampling(), 0)
        with pytest.raises(InputError, match="not among the"):
            session.write("日本", Sampling(), 0)
        with pytest.raises(InputError, match="context"):
            session.run("The cat sees a dog")
    with (
        Session("model", "first", model=models["transformer"]) as session,
        pytest.raises(InputError, match="at most 8"),
    ):
        session.write("abcabcabc", Sampling(), 0)


def test_several_writers_and_readers_at_once_each_get_their_own(session: Session) -> None:
    alone = session.write("The", Sampling(), 7)["session"]
    expected = [session.write_on(alone)["token"]["id"] for _ in range(12)]
    shared = session.write("The", Sampling(), 7)["session"]
    found: list[tuple[int, int]] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            number = session.run("The cat")  # fewer in all than are kept
            for _ in range(3):
                step = session.write_on(shared)
                found.append((step["step"], step["token"]["id"]))
                assert len([*Trace.load(session.trace(number).path)]) > 10
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert sorted(found) == [*enumerate(expected, 1)]
