"""What the command line offers."""

from cyclopts import App

app = App(name="skyctl")
