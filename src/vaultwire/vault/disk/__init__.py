"""Bytes and folders: paths, files, safe writes, locks and the watch of a vault. It knows nothing of what notes say."""
