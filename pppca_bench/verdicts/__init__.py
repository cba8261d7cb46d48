"""The frame of printed numbers: ours beside the published numbers, with verdicts."""
