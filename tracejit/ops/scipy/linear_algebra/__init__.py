"""Operations on functions of scipy.linalg, one file a family."""
