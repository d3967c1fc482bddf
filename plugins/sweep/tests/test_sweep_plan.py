"""What a sweep searches, and what it refuses before any trial begins."""

import pytest

from pufferlib.cli.flags import scan
from pufferlib.config.resolve import resolve
from pufferlib.errors import ConfigError
from pufferlib_sweep.plan import Plan, make_plan
from pufferlib_sweep.space import SearchSpace

ENV = "ocean-bandit"
GAMMA = {"distribution": "logit_normal", "min": 0.8, "max": 0.9999}


def plan_of(*words, **options):
    return make_plan(ENV, scan(words).flags, **options)


def toml(tmp_path, text):
    path = tmp_path / "my.toml"
    path.write_text(text)
    return path


def test_the_usual_settings_are_searched_around_the_preset():
    plan = plan_of()
    assert plan.space["train.learning_rate"]["mean"] == 5e-3
    assert (plan.space["train.horizon"]["min"], plan.space["train.horizon"]["max"]) == (4, 32)
    assert (plan.space["train.total_timesteps"]["min"], plan.space["train.total_timesteps"]["max"]) == (12_500, 100_000)


def test_what_a_flag_gives_is_not_searched():
    plan = plan_of("--train.total-timesteps", "5000", "--train.gamma", "0.9")
    assert not {"train.total_timesteps", "train.gamma"} & set(plan.space)
    assert plan.trial_tables({})["train"]["gamma"] == 0.9
    assert plan.given == {"train.total_timesteps": 5000, "train.gamma": 0.9}


def test_what_a_file_gives_is_not_searched_unless_it_says_so(tmp_path):
    file = toml(
        tmp_path, "[train]\ngamma = 0.9\ngae_lambda = 0.8\n[sweep.train.gamma]\ndistribution='uniform'\nmin=0.5\nmax=0.95\n"
    )
    plan = plan_of(file=file)
    assert "train.gae_lambda" not in plan.space
    assert plan.space["train.gamma"] == {"distribution": "uniform", "min": 0.5, "max": 0.95, "mean": 0.9}


def test_a_file_leaves_settings_out_of_the_search(tmp_path):
    plan = plan_of(file=toml(tmp_path, "[sweep]\ntrials = 7\n[sweep.train]\ngamma = false\n"))
    assert "train.gamma" not in plan.space and "train.gae_lambda" in plan.space
    assert plan.sweep.trials == 7


def test_only_the_tables_are_searched_without_the_defaults(tmp_path):
    text = "[sweep]\ndefaults = false\n[sweep.train.gamma]\ndistribution='uniform'\nmin=0.5\nmax=0.999\n"
    assert list(plan_of(file=toml(tmp_path, text)).space) == ["train.gamma"]


def test_flags_of_the_sweep_stand_over_the_file(tmp_path):
    assert plan_of("--sweep.trials", "3", file=toml(tmp_path, "[sweep]\ntrials = 7\n")).sweep.trials == 3


def test_a_single_run_takes_no_notice_of_the_table_sweep(tmp_path):
    file = toml(tmp_path, "[train]\ngamma = 0.9\n[sweep.train.gamma]\ndistribution='uniform'\nmin=0.5\nmax=0.95\n")
    assert resolve(ENV, file=file).train.gamma == 0.9


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"train.learning_rat": {**GAMMA}}, ["train.learning_rat", "did you mean train.learning_rate?"]),
        ({"train.gamma": {**GAMMA, "max": 1.5}}, ["train.gamma", "1.5"]),
        ({"train.gamma": {"distribution": "uniform", "min": 0.5, "max": 1.5}}, ["sweep.train.gamma", "1.5", "[0, 1]"]),
        ({"train.minibatch_size": {"distribution": "uniform", "min": 0.5, "max": 8}}, ["minibatch_size", "0.5", "integer"]),
        ({"train.gamma": {"distribution": "lognormal", "min": 0.5, "max": 0.6}}, ["lognormal", "log_normal"]),
        ({"train.gamma": {}}, ["train.gamma", "distribution"]),
        ({"train.seed": {"distribution": "int_uniform", "min": 0, "max": 9}}, ["train.seed", "cannot be searched"]),
        ({"train.optimizer": {"distribution": "categorical", "choices": ["adam", "sgd"]}}, ["train.optimizer", "sgd"]),
        ({"gamma": GAMMA}, ["gamma", "no such setting"]),
    ],
)
def test_a_space_that_training_would_refuse_is_refused_at_once(tables, words):
    with pytest.raises(ConfigError) as error:
        plan_of(search_space=tables)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--sweep.trails", "5"], "did you mean --sweep.trials?"),
        (["--sweep.trials", "0"], "must be at least 1"),
        (["--sweep.method", "grid"], "one of protein, random, tpe, cmaes"),
        (["--train.gama", "5"], "did you mean --train.gamma?"),
    ],
)
def test_a_wrong_flag_is_refused(words, said):
    with pytest.raises(ConfigError, match=said.replace("?", r"\?")):
        plan_of(*words)


def test_a_setting_that_follows_a_schedule_is_not_searched():
    words = ["--schedule.ent-coef", "linear 0.02 0"]
    assert "train.ent_coef" not in plan_of(*words).space
    space = {"train.ent_coef": {"distribution": "log_normal", "min": 1e-4, "max": 0.1}}
    with pytest.raises(ConfigError, match=r"follows \[schedule\]"):
        make_plan(ENV, scan(words).flags, search_space=space)


def test_nothing_left_to_search_is_an_error():
    with pytest.raises(ConfigError, match="nothing is left to search"):
        plan_of("--train.gamma", "0.9", search_space={"train.gamma": GAMMA})


def test_whole_numbers_stay_whole_and_the_seed_moves_on():
    plan = plan_of(search_space={"train.minibatch_size": {"distribution": "log_normal", "min": 16, "max": 512}})
    tables = plan.trial_tables({"train.minibatch_size": 100.7}, seed=2)
    assert tables["train"]["minibatch_size"] == 101 and tables["train"]["seed"] == 3


def test_a_plan_survives_its_record():
    plan = plan_of("--env.num-arms", "5") if "num_arms" in resolve(ENV).env else plan_of()
    assert Plan.from_record(plan.as_record()) == plan


def test_plans_differ_in_what_makes_trials_incomparable():
    plan_of("--sweep.trials", "3").check_same(plan_of("--sweep.trials", "9", "--sweep.parallel", "2"), "there")
    with pytest.raises(ConfigError, match=r"train\.gamma"):
        plan_of("--train.gamma", "0.9").check_same(plan_of(), "there")
    with pytest.raises(ConfigError, match="goal"):
        plan_of("--sweep.goal", "minimize").check_same(plan_of(), "there")


def test_every_preset_of_ocean_can_be_swept():
    from pufferlib import list_envs

    for name in list_envs():
        if name.startswith("ocean-"):
            assert len(SearchSpace.from_tables(make_plan(name).space)) >= 5, name
