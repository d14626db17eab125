import pytest

from depthlaw.data.columns import ALIASES, CLUSTER_ALIASES
from depthlaw.data.runs import read_runs
from depthlaw.errors import UsageError


def table_of(**columns):
    """A table of three rows with these headers, and a loss unless it has one."""
    columns = {name: values or [3.0, 2.5, 2.25] for name, values in columns.items()}
    return columns


def unused(table):
    return [notice.message for notice in table.notices if notice.code == "unused-columns"]


def mapping(source, **options):
    return {use.name: use.source for use in read_runs(source, **options).mapping}


@pytest.mark.parametrize(("name", "alias"), [(name, alias) for name in ALIASES for alias in ALIASES[name]])
@pytest.mark.parametrize("prefix", ["", "config.", "summary.", "config/", "config_"])
def test_every_alias_behind_every_prefix(name, alias, prefix):
    header = prefix + alias
    (use,) = read_runs({header: [3.0, 2.5]}).mapping
    assert (use.name, use.source, use.how) == (name, header, "recognised")


@pytest.mark.parametrize(("name", "alias"), [(name, ALIASES[name][0]) for name in ALIASES])
@pytest.mark.parametrize(
    "header", ["config.{}.value", "config/{}/value", "Config.{}.Value", "summary_{}_value"]
)
def test_the_value_that_wandb_puts_behind(name, alias, header):
    assert mapping({header.format(alias): [3.0, 2.5]}) == {name: header.format(alias)}


def test_value_is_seen_through_only_behind_a_prefix():
    assert mapping({"config.N.value": [3.0, 2.5]}) == {"params": "config.N.value"}
    assert mapping({"loss.value": [3.0, 2.5], "width": [1, 2]}) == {"width": "width"}
    assert read_runs({"config.run_id.value": ["a", "a"], "loss": [3.0, 2.5]}).clusters.tolist() == ["a", "a"]


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("d_model_x", "width"),
        ("dmodel", "width"),
        ("config.model.d_model", "width"),
        ("layers", "depth"),
        ("num_layers", "depth"),
        ("model_depth", "depth"),
        ("tokens_seen", "tokens"),
        ("n_tokens", "tokens"),
    ],
)
def test_columns_that_look_like_a_quantity_but_are_not_used_are_said(header, name):
    columns = {"width": None, "depth": None, "tokens": None, "loss": None}
    del columns[name]
    source = table_of(**columns, **{header: [1, 2, 3]})
    said = f'columns that are not used: "{header}" looks like {name}: --{name} "{header}"'
    assert unused(read_runs(source)) == [said]
    assert unused(read_runs(source, **{name: header})) == []


@pytest.mark.parametrize(
    "header", ["tokens_per_second", "d", "n", "d_ff", "name", "_step", "weight_decay", "lr"]
)
def test_columns_that_look_like_nothing_are_not_said(header):
    assert unused(read_runs({header: [1, 2], "loss": [3.0, 2.5]})) == []


def test_columns_are_not_said_when_the_quantity_is_there_or_not_wanted():
    source = {"d_model": [1, 2], "d_model_x": [1, 2], "depth": [1, 2], "tokens": [1, 2], "loss": [3.0, 2.5]}
    assert unused(read_runs(source)) == []
    assert unused(read_runs({"tokens_seen": [1, 2], "loss": [3.0, 2.5]}, use=["loss"])) == []


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("D_MODEL", "width"),
        ("D Model", "width"),
        ("hidden-size", "width"),
        ("N_Layers", "depth"),
        ("Num Hidden Layers", "depth"),
        ("Tokens", "tokens"),
        ("tokens-trained", "tokens"),
        ("FLOPs", "flops"),
        ("FLOP", "flops"),
        ("eval/loss", "loss"),
        ("summary.eval/loss", "loss"),
        ("Val Loss", "loss"),
    ],
)
def test_case_spaces_dashes_and_slashes_are_folded(header, name):
    assert mapping({header: [3.0, 2.5]}) == {name: header}


@pytest.mark.parametrize("header", ["d", "n", "config.d", "train_loss", "losses", "id", "step", "name"])
def test_what_is_not_recognised(header):
    assert mapping({header: [3.0, 2.5], "width": [1, 2]}) == {"width": "width"}


def test_given_columns_win():
    source = table_of(width=[1, 2, 4], my_width=[2, 4, 8], loss=None, other=None)
    table = read_runs(source, width="my_width", loss="other")
    assert {use.name: (use.source, use.how) for use in table.mapping} == {
        "width": ("my_width", "given"),
        "loss": ("other", "given"),
    }
    assert table["width"].tolist() == [2, 4, 8]
    assert table.notices == ()


def test_a_column_given_for_one_quantity_is_not_taken_for_another():
    assert mapping({"N": [1, 2], "loss": [3.0, 2.5]}, width="N") == {"width": "N", "loss": "loss"}
    with pytest.raises(UsageError, match=r'"N" is given as (width|depth) and as (width|depth)'):
        read_runs({"N": [1, 2], "loss": [3.0, 2.5]}, width="N", depth="N")
    # the shape may be the cluster
    table = read_runs({"width": [1, 1, 2], "loss": [3.0, 2.5, 2.0]}, cluster="width")
    assert table.clusters.tolist() == ["1", "1", "2"]


def test_unknown_column_names_the_nearest(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("d_model,n_layers,loss\n512,8,3.5\n")
    with pytest.raises(UsageError) as error:
        read_runs(path, depth="n_layer")
    assert error.value.message == f'{path}: column "n_layer" not found (have: d_model, n_layers, loss).'
    assert error.value.hint == "Did you mean --depth n_layers?"


def test_choice_between_several_is_said():
    table = read_runs(table_of(val_loss=None, loss=[3.0, 2.0, 1.0], eval_loss=None, width=[1, 2, 3]))
    assert table["loss"].tolist() == [3.0, 2.0, 1.0]
    (notice,) = table.notices
    assert notice.code == "column-choice"
    assert notice.message == (
        'loss is read from "loss", not from "val_loss", "eval_loss"; to change that: --loss "val_loss"'
    )


def test_a_bare_header_comes_before_a_prefixed_one():
    source = {"config.d_model": [1, 2], "d_model": [3, 4], "loss": [3.0, 2.5]}
    assert mapping(source)["width"] == "d_model"
    source = {"config.loss": [1, 2], "summary.loss": [3, 4]}
    assert mapping(source)["loss"] == "summary.loss"


def test_equal_right_is_an_error_when_it_is_needed():
    source = {"d_model": [1, 2], "D-Model": [1, 2], "loss": [3.0, 2.5]}
    with pytest.raises(UsageError) as error:
        read_runs(source)
    assert "several columns could be the width: d_model, D-Model" in error.value.message
    assert error.value.hint == "Say which: --width d_model"
    assert mapping(source, width="D-Model")["width"] == "D-Model"
    assert "width" not in mapping(source, use=["loss"])


def test_params_of_equal_right_only_matter_when_used():
    source = {"params_a": [1, 2], "params_b": [3, 4], "width": [1, 2], "depth": [1, 2], "loss": [3.0, 2.5]}
    table = read_runs(source)
    assert "params" not in table.columns
    with pytest.raises(UsageError, match="several columns could be the params: params_a, params_b"):
        table.require("params")
    with pytest.raises(UsageError, match="several columns could be the params"):
        read_runs(source, use=["params", "loss"])


def test_nanochat_table(tmp_path):
    header = (
        "flops_budget,depth,model_dim,params_wte,params_value_embeds,params_lm_head,params_transformer,"
        "params_scalars,params_total,num_iterations,tokens_trained,val_bpb,core_score,train_time_sec"
    )
    rows = [
        "1e18,8,512,16777216,4194304,16777216,25165824,16,62914576,1000,524288000,1.03,0.1,100",
        "1e18,10,640,20971520,5242880,20971520,49152000,20,96337940,800,419430400,1.01,0.11,100",
    ]
    path = tmp_path / "results.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    table = read_runs(path)
    uses = {use.name: (use.source, use.unit) for use in table.mapping}
    assert uses == {
        "width": ("model_dim", "units"),
        "depth": ("depth", "blocks"),
        "tokens": ("tokens_trained", "tokens"),
        "params": ("params_total", "parameters"),
        "flops": ("flops_budget", "FLOP"),
        "loss": ("val_bpb", "bits per byte"),
    }
    said = {notice.code: notice.message for notice in table.notices}
    assert "bits per byte" in said["loss-looks-like-bits"]
    assert '"params_wte"' in said["column-choice"]


@pytest.mark.parametrize(
    ("header", "unit"),
    [
        ("val_bpb", "bits per byte"),
        ("eval/bits_per_byte", "bits per byte"),
        ("bpc", "bits per character"),
        ("loss (bits)", "bits per token"),
        ("val loss (nats)", "nats per token"),
        ("loss_bits", "bits per token"),
        ("val_ppl", "perplexity"),
        ("loss", "nats per token"),
        ("habits", "nats per token"),
    ],
)
def test_unit_of_the_loss_by_its_header(header, unit):
    (use,) = read_runs({header: [3.0, 2.5]}, loss=header).mapping
    assert use.unit == unit


@pytest.mark.parametrize(
    ("header", "name", "values"),
    [
        ("tokens_B", "tokens", [3e9, 30.5e9]),
        ("tokens (B)", "tokens", [3e9, 30.5e9]),
        ("Tokens [billions]", "tokens", [3e9, 30.5e9]),
        ("params_M", "params", [3e6, 30.5e6]),
        ("params (in millions of parameters)", "params", [3e6, 30.5e6]),
        ("config.params_million", "params", [3e6, 30.5e6]),
        ("flops (1e18)", "flops", [3e18, 30.5e18]),
        ("tokens (tokens)", "tokens", [3, 30.5]),
    ],
)
def test_a_unit_in_a_header_scales_its_numbers_and_is_said(header, name, values):
    table = read_runs({header: [3, 30.5], "loss": [3.0, 2.5]})
    assert table[name].tolist() == values
    use = next(use for use in table.mapping if use.name == name)
    assert ("by its header" in use.unit_words) == (values[0] > 3)
    assert len(read_runs({header: [3, 30.5], "loss": [3.0, 2.5]}, where=f"{name} > {values[0]}")) == 1
    written_out = read_runs({header: values, "loss": [3.0, 2.5]})
    assert written_out[name].tolist() == values
    assert all(use.factor == 1 for use in written_out.mapping)
    given = read_runs({f"my {header}": ["3", "30.5B"], "loss": [3.0, 2.5]}, **{name: f"my {header}"})
    assert given[name].tolist() == [values[0], 30.5e9]


@pytest.mark.parametrize("header", ["tokens (per second)", "tokens per B", "log10_tokens", "log(tokens)"])
def test_a_bracket_that_is_no_unit_makes_another_quantity(header):
    assert mapping({header: [3.0, 2.5], "width": [1, 2]}) == {"width": "width"}


def test_a_logarithm_is_not_advised_as_the_thing():
    (said,) = unused(read_runs(table_of(width=None, depth=None, loss=None, log10_tokens=[9.5, 10.0, 11.0])))
    assert '"log10_tokens" looks like the logarithm of tokens: give tokens themselves' in said


@pytest.mark.parametrize(
    "header", ["bpb", "test_loss", "final_val_loss", "val loss (nats)", "validation/loss"]
)
def test_more_names_of_a_loss(header):
    assert mapping({header: [3.0, 2.5], "width": [1, 2]}) == {"width": "width", "loss": header}


def test_a_loss_that_is_none_is_explained():
    for header, said in (("val_ppl", "is a perplexity: put its logarithm"), ("train_loss", '--loss "train_')):
        with pytest.raises(UsageError, match=said):
            read_runs({header: [9.0, 3.0], "width": [1, 2]})["loss"]


# -- clusters ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", [*CLUSTER_ALIASES, "Run Name", "config.run_name", "run-id"])
def test_repeated_run_labels_are_recognised(header):
    table = read_runs({header: ["a", "a", "b"], "width": [1, 1, 2], "loss": [3.0, 2.5, 2.0]})
    assert table.clusters.tolist() == ["a", "a", "b"]
    assert table.cluster_source == f"{header} (recognised)"
    assert table.mapping[-1].name == "cluster"
    (notice,) = table.notices
    assert notice.code == "clusters-recognised"
    assert "3 rows are checkpoints of 2 runs" in notice.message


def test_labels_that_do_not_repeat_are_no_clusters():
    table = read_runs({"run": ["a", "b", "c"], "width": [1, 1, 2], "loss": [3.0, 2.5, 2.0]})
    assert table.clusters is None
    assert table.cluster_source is None
    assert table.notices == ()


def test_clusters_are_looked_for_in_the_rows_that_are_left():
    source = {"run": ["a", "a", "b", "b"], "step": [1, 2, 1, 2], "loss": [3.0, 2.5, 2.0, 1.5]}
    assert read_runs(source).clusters is not None
    assert read_runs(source, where="step == 2").clusters is None


@pytest.mark.parametrize(
    ("labels", "why"),
    [(["1", "2", "1"], "models of different shape"), (["a", "a", None], "some rows have none")],
)
def test_labels_that_are_no_runs_are_said_and_not_used(labels, why):
    table = read_runs({"run": labels, "width": [1, 1, 2], "loss": [3.0, 2.5, 2.0]})
    assert table.clusters is None
    (notice,) = table.notices
    assert notice.code == "clusters-not-used"
    assert why in notice.message


def test_given_cluster():
    source = {"model": [1, 1.0, 2], "width": [1, 1, 2], "loss": [3.0, 2.5, 2.0]}
    table = read_runs(source, cluster="model")
    assert table.clusters.tolist() == ["1", "1", "2"]
    assert table.cluster_source == "model (given)"
    with pytest.raises(UsageError, match=r'column "modl" not found') as error:
        read_runs(source, cluster="modl")
    assert error.value.hint == "Did you mean --cluster model?"
