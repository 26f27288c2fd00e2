"""The verbs as Python calls: the command line's, with results instead of lines. `import regard` offers them."""
