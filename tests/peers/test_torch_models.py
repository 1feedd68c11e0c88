"""The peers themselves, held against the models that PyTorch and transformers ship, in float64."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from tests.peers import golden, their_models, torch_models  # noqa: E402
from tests.peers.cases import CASES, IGNORED, Case, Config  # noqa: E402

# The libraries want a d_model that the number of heads divides; GPT-2 and BERT want n_heads * d_k.
HOLES = {"counted": "xx.xx ..xx. x.xxx xx.x.", "valid": "xxxxx .xxxx xx.xx xxxx."}
SHIPPED = [
    Case("gpt2", Config("gpt2", 3, 4, 12, 14, vocab_size=13, context=7, tied=True), **HOLES),
    Case(
        "llama",
        Config("llama", 6, 4, 18, 8, 11, context=10, tied=True, n_kv_heads=2, rope_base=500.0),
        **HOLES,
    ),
    Case("bert", Config("bert", 3, 4, 12, 9, 11, context=7, tied=True, eps=1e-12), **HOLES),
]
TRANSFORMER = Case(
    "transformer",
    Config("transformer", 2, 6, 12, d_ff=10, vocab_size=11, context=9, tied=False),
    counted="xxx.xx. xxxx..x xxxx.x.",
    valid="xxxxxx. ..xxxxx xxxxxxx",
    source_valid="xxxxx xx.x. .....",
)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("case", SHIPPED, ids=str)
def test_transformers_computes_the_same(case, tied):
    pytest.importorskip("transformers")
    case = replace(case, config=replace(case.config, tied=tied))
    model = randomized(their_models.from_transformers(case.config))
    inputs = as_tensors(case.inputs())
    valid = case.inputs()["valid"]
    # Where a query sees no key, theirs takes an even mean of hidden values: not counted.
    targets = np.where(valid, case.targets(), IGNORED)

    with their_models.StayDouble():
        extra = {"position_ids": inputs["positions"]}
        if case.config.family == "bert":
            extra["token_type_ids"] = inputs["types"]
        attention_mask = inputs["valid"].long()
        logits = model(inputs["tokens"], attention_mask=attention_mask, **extra).logits
    assert_same_as_ours(model, logits, case, targets, where=valid)


def test_torch_transformer_computes_the_same():
    model = randomized(their_models.TorchTransformer(TRANSFORMER.config))
    logits = model.logits(**as_tensors(TRANSFORMER.inputs()))
    assert_same_as_ours(model, logits, TRANSFORMER, TRANSFORMER.targets())


def test_attention_equals_that_of_torch_also_where_a_query_sees_no_key():
    values = torch_models.compute(
        next(case for case in CASES if case.name == "llama_untied")
    ).values
    values = {path.removeprefix("blocks.1.attention."): value for path, value in values.items()}
    q, k, v = (torch.tensor(values[n], requires_grad=True) for n in ("q_rotated", "k_rotated", "v"))
    allowed = torch.tensor(values["attn"] != 0)
    assert not allowed.any(dim=-1).all()
    context = functional.scaled_dot_product_attention(q, k, v, attn_mask=allowed, enable_gqa=True)
    context.backward(torch.tensor(values["d_context"]))
    found = [values[name] for name in ("context", "d_q_rotated", "d_k_rotated", "d_v")]
    for ours, theirs in zip(found, [context.detach(), q.grad, k.grad, v.grad], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-14)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_golden_file_holds_what_the_peers_compute_today(case):
    kept, now = golden.load(case.name), torch_models.compute(case)
    assert kept.config == now.config
    for group in ("params", "inputs", "grads", "values"):
        then, today = getattr(kept, group), getattr(now, group)
        assert then.keys() == today.keys()
        for path, array in then.items():
            np.testing.assert_allclose(array, today[path], rtol=0, atol=1e-12, err_msg=path)
    np.testing.assert_array_equal(kept.targets, now.targets)
    np.testing.assert_allclose(kept.logits, now.logits, rtol=0, atol=1e-12)
    assert kept.loss == pytest.approx(now.loss, rel=0, abs=1e-12)


def randomized(model):
    """The model with no parameter left neutral."""
    rng = np.random.default_rng(7)
    for name, tensor in model.named_parameters():
        numbers = rng.standard_normal(tuple(tensor.shape)) * (0.5 if tensor.ndim > 1 else 0.3)
        is_gamma = tensor.ndim == 1 and name.endswith("weight")
        tensor.data.copy_(torch.tensor(numbers + is_gamma))
    return model


def as_tensors(arrays):
    return {name: torch.tensor(array) for name, array in arrays.items()}


def assert_same_as_ours(model, logits, case, targets, where=()):
    """Logits (at the places ``where``), loss and every gradient."""
    loss = functional.cross_entropy(logits.flatten(0, 1), torch.tensor(targets).flatten())
    loss.backward()
    used = {name: tensor for name, tensor in model.named_parameters() if tensor.grad is not None}
    params, grads = (
        their_models.to_our_paths(case.config.family, arrays)
        for arrays in (
            {name: tensor.detach().numpy() for name, tensor in used.items()},
            {name: tensor.grad.numpy() for name, tensor in used.items()},
        )
    )
    ours = torch_models.loss_and_gradients(
        torch_models.MODELS[case.config.family], params, case.inputs(), targets, case.config
    )
    np.testing.assert_allclose(ours[0][where], logits.detach()[where], rtol=0, atol=1e-10)
    assert ours[1] == pytest.approx(loss.item(), rel=0, abs=1e-10)
    assert ours[2].keys() == grads.keys()
    for path, grad in grads.items():
        np.testing.assert_allclose(ours[2][path], grad, rtol=0, atol=1e-10, err_msg=path)
