"""Compile each game that has a folder with a header of its name."""

from setuptools import setup

from pufferlib.native.build import game_extensions

setup(ext_modules=game_extensions("pufferlib_acme"))
