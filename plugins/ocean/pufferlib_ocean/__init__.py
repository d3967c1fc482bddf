"""Ocean: games and sanity environments in plain C, one folder each."""
