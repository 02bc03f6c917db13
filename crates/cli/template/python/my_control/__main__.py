"""The whole farspan command, with my-control: `python -m my_control`."""

from farspan._main import main

if __name__ == "__main__":
    main()
