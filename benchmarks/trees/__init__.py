"""Trees of Regard measured beside each other, each in processes that know no other tree."""
