"""What the person sees in an editor: active note, selection, tabs, and proposals that wait for them. Knows no wire."""
