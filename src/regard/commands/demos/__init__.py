"""The tours of `regard demo`: each trains something small in a minute or two, uses it, and leaves a picture."""
