"""Pokemon Red's env on a cartridge that we make: it keeps the joypad at 0xD400 and leaves the rest of the memory to the test.

No ROM of the game is needed, nor told anything of: what the addresses mean is the disassembly's word.
"""

import importlib.util

import pytest

import pufferlib
from pufferlib.errors import ConfigError
from pufferlib.testing import check_env
from pufferlib_gym_extra import pokemon_red
from pufferlib_gym_extra.pokemon_red import BUTTONS, PokemonRed

pytestmark = [
    pytest.mark.skipif(not importlib.util.find_spec("pyboy"), reason="pyboy is not installed"),
    pytest.mark.filterwarnings("ignore"),
]
JOYPAD = 0xD400
LOOP = bytes.fromhex(
    "3E 20 E0 00  F0 00 F0 00  EA 00 D4"  # ld a,$20; ldh ($00),a; ldh a,($00) twice; ld ($D400),a: the arrows, low where pressed
    "3E 10 E0 00  F0 00 F0 00  EA 01 D4"  # the same of the buttons, to 0xD401
    "18 E8"  # jr to the start
)


@pytest.fixture
def rom(tmp_path):
    """A ROM of 32 KiB with a header, whose program is LOOP."""
    data = bytearray(2**15)
    data[0x100:0x104] = bytes.fromhex("00 C3 50 01")  # nop; jp $0150
    data[0x134:0x13B] = b"POKELIK"
    data[0x14D] = -sum(value + 1 for value in data[0x134:0x14D]) & 0xFF  # the header's checksum
    data[0x150 : 0x150 + len(LOOP)] = LOOP
    path = tmp_path / "game.gb"
    path.write_bytes(data)
    return str(path)


@pytest.fixture
def env(rom):
    env = PokemonRed(rom, max_steps=5)
    yield env
    env.close()


def test_buttons_reach_the_game_and_are_let_go(env):
    """Bit by bit, low where pressed: right left up down of the arrows, A B Select Start of the buttons."""
    pressed = {"right": (0, 0), "left": (0, 1), "up": (0, 2), "down": (0, 3), "a": (1, 0), "b": (1, 1), "start": (1, 3)}
    env.reset()
    env._game.tick(100, False)  # until the program runs
    for name, (where, bit) in pressed.items():
        env._game.button_press(name)
        env._game.tick(2, False)
        state = [env._game.memory[JOYPAD + k] & 15 for k in (0, 1)]
        assert state == [15 & ~(1 << bit) if k == where else 15 for k in (0, 1)], name
        env._game.button_release(name)
        env.step(BUTTONS.index(name))
        assert [env._game.memory[JOYPAD + k] & 15 for k in (0, 1)] == [15, 15]


def test_rewards_are_the_growth_of_four_counts(env):
    """By hand: 2 badges at 5, 3 event flags at 1, levels 7 and 5 at 0.5, a new place at 0.01; none of them falls."""
    env.reset()
    memory = env._game.memory
    assert env.step(0)[1] == 0
    memory[pokemon_red.BADGES] = 0b101
    assert env.step(0)[1] == pytest.approx(10)
    memory[pokemon_red.EVENT_FLAGS[0]], memory[pokemon_red.EVENT_FLAGS[1] - 1] = 0b11, 0b1
    memory[pokemon_red.EVENT_FLAGS[1]] = 255  # no flag of theirs any more
    memory[pokemon_red.PARTY_COUNT] = 2
    for slot, level in enumerate((7, 5, 99)):
        memory[pokemon_red.FIRST_LEVEL + 44 * slot] = level
    memory[pokemon_red.X] = 4
    observation, reward, *_ = env.step(0)
    assert reward == pytest.approx(3 + 6 + 0.01)
    assert observation["levels"].tolist() == [7, 5, 0, 0, 0, 0] and observation["position"].tolist() == [0, 4, 0]
    assert observation["badges"].tolist() == [1, 0, 1, 0, 0, 0, 0, 0]
    memory[pokemon_red.BADGES] = memory[pokemon_red.X] = 0
    assert env.step(0)[1] == 0
    memory[pokemon_red.BADGES] = 0b111
    _, reward, terminal, cut, info = env.step(0)
    assert reward == pytest.approx(5) and (terminal, cut) == (False, True)
    assert info == {"badges": 3, "events": 3, "levels": 12, "places": 2}


def test_health_is_a_fraction_of_the_party_that_is_there(env):
    env.reset()
    memory = env._game.memory
    memory[pokemon_red.PARTY_COUNT] = 1
    for place, value in ((pokemon_red.FIRST_HP, 1), (pokemon_red.FIRST_HP + 1, 44), (pokemon_red.FIRST_MAX_HP, 2)):
        memory[place] = value
    memory[pokemon_red.FIRST_MAX_HP + 1] = 88  # 300 of 600
    memory[pokemon_red.FIRST_HP + 44] = 9
    assert env.step(0)[0]["health"].tolist() == [0.5, 0, 0, 0, 0, 0]


def test_an_episode_begins_at_its_state(env, rom, tmp_path):
    env.reset()
    env._game.memory[pokemon_red.BADGES] = 1
    (tmp_path / "one.state").write_bytes(env._saved())
    assert env.reset()[0]["badges"].sum() == 0
    later = PokemonRed(rom, str(tmp_path / "one.state"))
    observation, _ = later.reset()
    assert observation["badges"].sum() == 1 and later.step(0)[1] == 0, "what the state brings along earns nothing"
    later.close()


def test_by_name_in_workers(rom):
    vec = pufferlib.make("pokemon-red", num_envs=2, num_workers=2, rom=rom, max_steps=3, render_mode="rgb_array")
    vec.reset(seed=0)
    for _ in range(3):
        *_, truncations, _ = vec.step([0, 1])
    assert truncations.all() and vec.drain_log()["badges"] == 0
    assert vec.render().shape == (144, 160, 3)
    vec.close()


def test_the_testing_kit(rom):
    check_env(PokemonRed, steps=12, rom=rom, max_steps=4)


def test_what_is_missing_is_named(rom):
    for wrong, match in (
        ({"rom": "nowhere.gb"}, "rom='nowhere.gb': no such file.*--env.rom"),
        ({"rom": rom, "state": "nowhere"}, "state='nowhere'"),
        ({"rom": rom, "frames": 7}, "frames must be at least 8, got 7"),
        ({"rom": rom, "max_steps": 0}, "max_steps must be at least 1"),
    ):
        with pytest.raises(ConfigError, match=match):
            PokemonRed(**wrong)
