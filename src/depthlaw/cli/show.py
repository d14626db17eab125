"""``depthlaw show``: what depthlaw sees."""

from cyclopts import App

show_app = App(name="show")
show_app.command(
    "depthlaw.cli.show_env:show_env_command",
    name="env",
    help="Versions, machine, threads, and where data is looked for.",
)
