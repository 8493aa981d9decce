"""A page to play with: the construction, step by step, in the browser.

``page/`` holds the page: plain JavaScript modules, which need no build step and ask nothing of other machines.
``page/engine/`` is its mathematics, without a DOM, tested against Python; ``server`` serves it on this machine.
"""

from .server import PAGE, Playground, serve

__all__ = ["PAGE", "Playground", "serve"]
