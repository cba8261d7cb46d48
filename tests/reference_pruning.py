"""Plain-loop transcriptions of the pruning: the error of a changed weight, and which weights go."""

from reference_classifier import squared_error


def half_squared_error(matrices, X, targets, shortcuts, output_activation):
    return 0.5 * squared_error(matrices, X, targets, shortcuts, output_activation)


def with_weight(matrices, layer, unit, source, value):
    """Return a copy in which one weight is another."""
    copies = [[list(row) for row in matrix] for matrix in matrices]
    copies[layer][unit][source] = value
    return copies


def paths_to_outputs(masks, n_inputs, shortcuts):
    """Tell of each input whether some chain of weights leads from it to an output."""

    def reaches(layer, unit):
        """Return the inputs from which a unit can be reached."""
        found = set()
        for source, exists in enumerate(masks[layer][unit][1:]):
            if not exists:
                continue
            if layer == 0 or (shortcuts and source < n_inputs):
                found.add(source)
                continue
            below, position = (0, source - n_inputs) if shortcuts else (layer - 1, source)
            while shortcuts and position >= len(masks[below]):
                position -= len(masks[below])
                below += 1
            found |= reaches(below, position)
        return found

    connected = set().union(*(reaches(len(masks) - 1, unit) for unit in range(len(masks[-1]))))
    return [i in connected for i in range(n_inputs)]
