"""Operations on each element: arithmetic, comparisons, choices, elementary functions."""
