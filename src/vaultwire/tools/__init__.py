"""What a model can do: plain typed functions over the vault, and the registry that lists and runs them."""
