"""Write made_runs.csv: runs that obey a known law up to noise (see depthlaw.reproduce.made)."""

from pathlib import Path

from depthlaw.reproduce.made import made_runs_csv

Path(__file__).with_name("made_runs.csv").write_text(made_runs_csv(), encoding="utf-8")
