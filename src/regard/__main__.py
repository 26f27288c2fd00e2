"""python -m regard"""

from regard.commands import main

main()
