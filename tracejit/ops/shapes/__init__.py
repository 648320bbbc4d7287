"""Operations that rearrange, join, pad or build arrays and compute nothing."""
