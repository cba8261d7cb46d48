"""Figure F9: numbers at powers of two of the samples."""

import numpy as np

from pppca_bench.reporting.figure_data import at_powers


def test_the_last_measurement_before_a_power_counts_within_the_curve():
    shares = at_powers(np.array([2, 5, 9]), np.array([0.5, 0.8, 1.0]))
    # 1 is before the first; 2, 4; 8 after 5; 16 after the end.
    np.testing.assert_array_equal(shares[:5], [np.nan, 0.5, 0.5, 0.8, np.nan])
