"""Where data and model meet: loss, score and answer."""
