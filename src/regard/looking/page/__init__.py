"""One page that shows all of it in a browser: written as a file of its own, or live on this machine."""
