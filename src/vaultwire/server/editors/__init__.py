"""What clients ask an editor for: Claude Code, Gemini CLI and Qwen Code."""
