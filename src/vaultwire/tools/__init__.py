"""What a model can do: plain typed functions over the vault."""
