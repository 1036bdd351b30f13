"""Ways to make a history small: Holdfast, plain cuts to beat, adversaries, and peers."""
