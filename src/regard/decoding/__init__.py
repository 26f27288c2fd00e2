"""How to write: greedy, by chance, or with several hypotheses at once. Over any decoder, token by token.

engine      what others use: requests in, tokens and hypotheses out
workers     the sorted requests shared out among threads
runner      one batch, whose free slots are filled again
group       rows that take a step together: model, memory and search
prefixes    what prompts begin with alike, read once
reading     how tokens are taken in
speculative one text, several tokens a step: a draft guesses, the model judges
compiled/   the step as machine code
search      the contract of Beam, Greedy and Sample
"""
