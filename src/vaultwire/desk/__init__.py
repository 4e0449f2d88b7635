"""Web pages for the person, and the endpoints of the plugin and of commands, on the editors' port. It opens no port."""
