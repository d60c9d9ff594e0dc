"""What is known of each channel, and which channels a network needs: what `passes.shrink` works with.

A channel is an index of the last axis of a tensor.
"""
