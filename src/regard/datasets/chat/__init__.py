"""Chats as the text that a model was trained on: its own template writes it, in a process that can do little else."""

from regard.datasets.chat.template import encode_chat, render

__all__ = ["encode_chat", "render"]
