"""Lists of what a law leaves out: a pattern and its reason on each line; # begins a comment."""
import sys


def read_list(path):
    """Patterns, each with 0 uses."""
    patterns = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            words = line.split("#")[0].split(None, 1)
            if not words:
                continue
            if len(words) < 2:
                sys.exit(f"{path}: a reason is missing: {line.strip()}")
            patterns[words[0]] = 0
    return patterns
