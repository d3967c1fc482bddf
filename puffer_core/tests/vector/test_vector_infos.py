import numpy as np

from pufferlib.vector.infos import vector_infos


def test_each_key_becomes_an_array_with_a_mask():
    infos = vector_infos([{"env_index": 1, "score": 3}, {"env_index": 3, "score": 5, "speed": 0.5, "won": True}], 4)
    assert infos["score"].tolist() == [0, 3, 0, 5] and infos["_score"].tolist() == [False, True, False, True]
    assert infos["speed"].dtype == np.float64 and infos["speed"][3] == 0.5 and infos["_speed"].sum() == 1
    assert infos["won"].dtype == np.bool_ and "env_index" not in infos


def test_values_that_do_not_fit_a_column_keep_what_they_are():
    said = [3, None, "text", 2.5, [1, 2], np.arange(3), {"deep": 1}]
    infos = vector_infos([{"env_index": i, "x": value} for i, value in enumerate(said)], len(said))
    assert infos["x"].dtype == object
    assert infos["x"][0] == 3 and infos["x"][1] is None and infos["x"][2] == "text" and infos["x"][3] == 2.5
    assert infos["x"][4] == [1, 2] and infos["x"][5].tolist() == [0, 1, 2] and infos["x"][6] == {"deep": 1}


def test_a_dict_before_other_values_comes_back_as_a_dict():
    infos = vector_infos([{"env_index": 0, "x": {"deep": {"er": 1}, "y": 2.0}}, {"env_index": 1, "x": None}], 2)
    assert infos["x"][0] == {"deep": {"er": 1}, "y": 2.0} and infos["x"][1] is None


def test_whole_numbers_beyond_64_bits_survive():
    assert vector_infos([{"env_index": 0, "big": 2**70}], 1)["big"][0] == 2**70
    assert vector_infos([{"env_index": 0, "big": 1}, {"env_index": 1, "big": 2**70}], 2)["big"].tolist() == [1, 2**70]


def test_arrays_and_nested_dicts():
    infos = vector_infos([{"env_index": 1, "at": np.array([1, 2], np.int16), "final_info": {"l": 7}}], 2)
    assert infos["at"].dtype == np.int16 and infos["at"].tolist() == [[0, 0], [1, 2]]
    assert infos["final_info"]["l"].tolist() == [0, 7] and infos["final_info"]["_l"].tolist() == [False, True]


def test_nothing_said_makes_an_empty_dict():
    assert vector_infos([], 4) == {}
