"""Write messy_runs.csv: the made runs as an export of a tracker might give them, with three bad rows."""

import csv
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEADERS = {
    "d_model": "config.d_model",
    "n_layers": "config.n_layers",
    "tokens": " config.tokens",  # with a space, as hand-edited files have
    "loss": "summary.val_loss",
}
BAD = {7: "", 23: "NaN", 41: "0"}
"""Row → what stands there instead of a loss: never logged, diverged, crashed."""

with (HERE / "made_runs.csv").open(encoding="utf-8", newline="") as source:
    rows = list(csv.DictReader(source))
# utf-8-sig: the byte order mark that spreadsheets put in front; CRLF line ends as they write them.
with (HERE / "messy_runs.csv").open("w", encoding="utf-8-sig", newline="") as target:
    writer = csv.writer(target, lineterminator="\r\n")
    writer.writerow([HEADERS[name] for name in rows[0]])
    for number, row in enumerate(rows):
        loss = BAD.get(number, row["loss"])
        writer.writerow([row["d_model"], row["n_layers"], f"{float(row['tokens']):,.0f}", loss])
