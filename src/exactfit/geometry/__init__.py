"""The theorem's quantities for your data, which say why a network is as large as it is.

``separation`` and ``mean_width`` measure the data, ``covering`` covers each class by balls
that fit between the classes, ``bounds`` turns these into the theorem's numbers and
``calibration`` into predictions, ``limit`` is the second layer that infinitely many
hyperplanes would give, and ``describe`` gathers it all.
"""
