"""Keeps our server running: files and commands of systemd, launchd and the Windows Task Scheduler."""
