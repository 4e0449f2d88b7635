"""Puts vaultwire into the files of clients, and takes it out: no other byte of them changes."""
