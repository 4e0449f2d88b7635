"""Sign-in from outside (``serve --public-url``): an OAuth 2.1 authorization server for the people of one vaultwire.

``store`` keeps who may do what; ``clients`` knows what a client is; ``people`` checks passwords, ``passkeys`` passkeys;
``pages`` shows a person what is asked; ``endpoint`` speaks HTTP. ``checks`` asks the public address as a client does.
Nothing of it is loaded without the option.
"""
