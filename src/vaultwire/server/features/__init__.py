"""Server features besides tools: resources, prompts and completions."""
