"""Contracts: what holds for every entry of the menu, whatever it is combined with."""
