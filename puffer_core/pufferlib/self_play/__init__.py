"""Self-play for games of two sides: past snapshots as opponents, ratings, and matches between policies.

pool.py holds the snapshots, vec.py lets them play rows of a VecEnv, callback.py drives both from a trainer; match.py plays two
policies against each other; elo.py is the arithmetic of ratings.
"""

from pufferlib.self_play.callback import SelfPlay as SelfPlay
from pufferlib.self_play.match import MatchResult as MatchResult
from pufferlib.self_play.match import play_match as play_match
from pufferlib.self_play.vec import SelfPlayVec as SelfPlayVec
