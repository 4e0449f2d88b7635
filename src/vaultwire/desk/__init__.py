"""Web pages for the person: what they hold and what is put into them. Who may open them is a door's matter."""
