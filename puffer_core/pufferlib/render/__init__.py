"""Players of draw commands: RGB frames, videos, and a window to watch or play in. Each module is imported when it is used."""
