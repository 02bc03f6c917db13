"""``python -m farspan``: the command."""

from farspan._main import main

if __name__ == "__main__":
    main()
