"""What learns: every mechanism of the notes, each in its own room, and whole models made of them."""
