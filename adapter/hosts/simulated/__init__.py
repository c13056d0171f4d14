"""A small, stateful Muse host: it speaks MSP as `muse serve` does, takes its turns from scripts and calls no model.

It is a plain blocking program. One thread reads stdin, the main thread does everything else in the order it arrives,
and a write that blocks stalls the host, as it does in the original (`msp.md §2`).
"""
